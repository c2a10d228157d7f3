#include "ingest/rules.h"

#include <fmt/format.h>

#include "base/json.h"

namespace retsu::rules {
namespace {

constexpr bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

constexpr bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool is_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), is_control) && is_utf8(text);
}

constexpr TimePoint kFirstMoment =
    std::chrono::sys_days{std::chrono::year{2000} / std::chrono::January / 1};

bool check_bytes(Checking& run, std::size_t bytes, std::int64_t most) {
  if (static_cast<std::int64_t>(bytes) <= most) return true;
  return run.fail(fmt::format("{} bytes, but at most {} are allowed", bytes, most),
                  ErrorCode::kTooLarge);
}

}  // namespace

bool Name::operator()(Checking& run, std::string_view name) const {
  const bool good =
      !name.empty() && name.size() <= most && std::all_of(name.begin(), name.end(), [this](char c) {
        return is_word(c) || marks.find(c) != std::string_view::npos;
      });
  if (good) return true;
  std::string message = fmt::format("must be 1 to {} of A-Z a-z 0-9", most);
  for (const char mark : marks) message += fmt::format(" {}", mark);
  return run.fail(std::move(message));
}

bool Line::operator()(Checking& run, std::string_view text) const {
  if (text.size() > most)
    return run.fail(fmt::format("{} bytes, but at most {} are allowed", text.size(), most));
  return is_line(text) || run.fail("must be valid UTF-8 without control characters");
}

bool NumberCursor::operator()(Checking& run, std::string_view cursor) const {
  constexpr std::size_t kMostDigits = 18;  // fits 64 bits, whatever the digits
  const bool is_number = cursor.size() <= kMostDigits && !cursor.starts_with('0') &&
                         cursor.find_first_not_of("0123456789") == cursor.npos;
  return is_number || run.fail("is not one: use next_cursor of the page before");
}

bool Tag::operator()(Checking& run, std::string_view tag) const {
  if (tag.empty()) return run.fail("must not be empty");
  if (!check_bytes(run, tag.size(), run.limits().tag_bytes)) return false;
  return is_line(tag) || run.fail("must be valid UTF-8 without control characters");
}

bool Prose::operator()(Checking& run, std::string_view text) const {
  if (!check_bytes(run, text.size(), run.limits().*most)) return false;
  return is_utf8(text) || run.fail("must be valid UTF-8");
}

bool JsonValue::operator()(Checking& run, const Json& value) const {
  if (!check_bytes(run, value.size(), run.limits().*most)) return false;
  if (value.empty()) return run.fail("must be a JSON value, such as null");
  if (run.trust_json()) return true;
  const auto compact = compact_json(value.view());
  return compact || run.fail(compact.error());
}

bool UpTo::operator()(Checking& run, std::int64_t value) const {
  return Between{1, run.limits().*most}(run, value);
}

bool Moment::operator()(Checking& run, TimePoint time) const {
  if (time >= kFirstMoment && time <= kLatestTime) return true;
  return run.fail(fmt::format("must lie in the years 2000 to 9999, but is {}", format_time(time)));
}

bool PriorityStep::operator()(Checking& run, const Priority& priority) const {
  return Between{1, kCritical}(run, priority.value);
}

bool check_count(Checking& run, std::size_t count, std::int64_t most) {
  if (static_cast<std::int64_t>(count) <= most) return true;
  return run.fail(fmt::format("{} of them, but at most {} are allowed at once", count, most),
                  ErrorCode::kTooLarge);
}

bool check_distinct(Checking& run, const std::vector<std::string>& names) {
  if (names.size() < 2) return true;
  std::vector<std::string_view> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  return twice == sorted.end() || run.fail(fmt::format("{} is given twice", *twice));
}

}  // namespace retsu::rules
