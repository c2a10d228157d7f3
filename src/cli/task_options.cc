#include "cli/task_options.h"

#include <fmt/format.h>

#include <charconv>

#include "base/json.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/times.h"

namespace retsu::cli {
namespace {

Result<Priority> read_priority(const std::string& text) {
  for (const auto& word : kPriorityWords) {
    if (word.name == text) return Priority{word.value};
  }
  Priority priority;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, priority.value);
  if (failure == std::errc() && rest == end && priority.value >= 1 && priority.value <= kCritical) {
    return priority;
  }
  return refuse(ErrorCode::kInvalid,
                "--priority: must be 1 to 6, or very_low, low, normal, high, very_high, critical");
}

// A number that may be absent: CLI11 leaves it alone unless it is given.
void add_number(Arguments& arguments, const std::string& name, std::optional<std::int64_t>& value,
                const std::string& help) {
  arguments.option(name, value, help).type_name("N");
}

}  // namespace

void TaskOptions::add_to(Arguments& arguments) {
  arguments.option("PAYLOAD", payload, "JSON, or with --text any text; - is standard input [null]");
  arguments.option("--queue", task.queue, "Into this queue").type_name("QUEUE").shows_default();
  arguments.option("--user", task.user, "For this user").type_name("USER").shows_default();
  arguments.option("--type", task.type, "Which handler runs it").type_name("TYPE");
  arguments.option("--priority", priority, "1 to 6, or a word such as high [3]").type_name("P");
  arguments.option("--unique", task.unique_key, "At most one task with this key").type_name("KEY");
  arguments.flag("--front", front, "Ahead of what waits in its user's line");
  arguments.list("--tag", task.tags, "A word to find it by; may be repeated").type_name("TAG");
  arguments.option("--timeout", timeout, "For one attempt, 0: none [the queue's]")
      .type_name("DURATION");
  add_number(arguments, "--max-attempts", task.max_attempts, "How often it is tried [the queue's]");
  arguments.option("--trace", task.trace, "A traceparent, passed on to the worker")
      .type_name("TEXT");
  arguments.flag("--text", text, "PAYLOAD is a text, not JSON");
}

Result<NewTask> TaskOptions::read() const {
  NewTask made = task;
  if (!priority.empty()) {
    const auto read = read_priority(priority);
    if (!read) return tl::unexpected(read.error());
    made.priority = *read;
  }
  if (!timeout.empty()) {
    const auto read = read_duration("--timeout", timeout);
    if (!read) return tl::unexpected(read.error());
    made.timeout_ms = read->count();
  }
  if (front) made.placement = Placement::kFront;
  if (payload) {
    auto read = read_value("PAYLOAD", *payload, text);
    if (!read) return tl::unexpected(std::move(read.error()));
    made.payload = std::move(*read);
  }
  return made;
}

Result<Json> read_value(std::string_view operand, const std::string& typed, bool is_text) {
  std::string value = typed;
  if (typed == "-") {
    auto read = read_whole("-");
    if (!read) return tl::unexpected(std::move(read.error()));
    value = std::move(*read);
  }
  if (is_text) {
    if (!is_utf8(value)) {
      return refuse(ErrorCode::kInvalid, fmt::format("{}: is not UTF-8", operand));
    }
    std::string quoted;
    JsonWriter(quoted).string(value);
    return Json(quoted);
  }
  auto json = compact_json(value);
  if (json) return *std::move(json);
  return refuse(ErrorCode::kInvalid,
                fmt::format("{}: is not JSON ({}); with --text it is taken as it stands", operand,
                            json.error()));
}

}  // namespace retsu::cli
