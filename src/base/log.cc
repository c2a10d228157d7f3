#include "base/log.h"

#include "base/json_writer.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "base/write_all.h"

namespace retsu {

LogValue::LogValue(std::string_view text) { JsonWriter(json_).string(as_utf8(text)); }
LogValue::LogValue(double number) { JsonWriter(json_).number(number); }

void Log::write(LogLevel level, std::string_view message, Fields fields) {
  std::string line;
  const std::string at = format_time(wall_clock());
  if (form_ == LogForm::kJson) {
    JsonWriter to(line);
    to.open_object();
    const auto add = [&](std::string_view name, const LogValue& value) {
      to.key(name);
      to.raw(value.json());
    };
    add("at", at);
    add("level", name_of(level));
    add("message", message);
    for (const auto& [name, value] : fields) add(name, value);
    to.close_object();
  } else {
    line.append(at).append(" ").append(name_of(level)).append(": ").append(message);
    for (const auto& [name, value] : fields) {
      line.append("  ").append(name).append("=").append(value.json());
    }
  }
  line += '\n';
  const std::lock_guard lock(mutex_);
  (void)write_all(file_, line);  // there is nobody else to tell
}

}  // namespace retsu
