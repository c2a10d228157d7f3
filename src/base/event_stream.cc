#include "base/event_stream.h"

namespace retsu {

void EventStreamReader::take(std::string_view bytes) {
  for (const char c : bytes) {
    if (c == '\n') {
      take_line();
    } else if (c != '\r') {
      line_ += c;
    }
  }
}

void EventStreamReader::take_line() {
  const std::string line = std::exchange(line_, {});
  if (line.empty()) {
    if (!event_.data.empty()) on_event_(event_);
    event_ = {};
    return;
  }
  const auto colon = line.find(':');
  const std::string_view name = std::string_view(line).substr(0, colon);
  std::string_view value;
  if (colon != std::string::npos) value = std::string_view(line).substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "id") {
    event_.id = value;
  } else if (name == "event") {
    event_.name = value;
  } else if (name == "data") {
    if (!event_.data.empty()) event_.data += '\n';
    event_.data += value;
  }
}

}  // namespace retsu
