#include "model/rules.h"

#include <fmt/format.h>

#include <limits>

#include "base/time.h"

namespace retsu::rules {

bool Checking::fail(std::string message, ErrorCode code) {
  message_ = std::move(message);
  code_ = code;
  return false;
}

bool Checking::fail_at(std::string_view field, std::string message) {
  fail(std::move(message));
  return under(field);
}

bool Checking::under(std::string_view field) {
  if (field.empty()) return false;
  const bool joint = !path_.empty() && path_.front() != '[';
  path_.insert(0, std::string(field) + (joint ? "." : ""));
  return false;
}

bool Checking::under(std::size_t index) {
  const bool joint = !path_.empty() && path_.front() != '[';
  path_.insert(0, fmt::format("[{}]{}", index, joint ? "." : ""));
  return false;
}

Error Checking::error() const {
  return {code_, path_.empty() ? message_ : path_ + ": " + message_};
}

bool Between::operator()(Checking& run, std::int64_t value) const {
  if (value >= low && value <= high) return true;
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  return run.fail(high == kMost ? fmt::format("must be at least {}, but is {}", low, value)
                                : fmt::format("must be {} to {}, but is {}", low, high, value));
}

bool Duration::operator()(Checking& run, std::int64_t value) const {
  if (value >= low && value <= high) return true;
  return run.fail(fmt::format("must be {} to {} ms ({}), but is {}", low, high,
                              format_duration(Millis(high)), value));
}

bool DurationOrZero::operator()(Checking& run, std::int64_t value) const {
  if (value == 0 || (value >= low && value <= high)) return true;
  return run.fail(fmt::format("must be 0, or {} to {} ms ({}), but is {}", low, high,
                              format_duration(Millis(high)), value));
}

bool Share::operator()(Checking& run, double value) const {
  if (value >= low && value <= high) return true;
  return run.fail(fmt::format("must be a number from {} to {}, but is {}", low, high, value));
}

}  // namespace retsu::rules
