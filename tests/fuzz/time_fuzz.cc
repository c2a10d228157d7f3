// Moments and durations read back as they were written, as text and as numbers.
#include <cstring>

#include "base/check.h"
#include "base/time.h"
#include "input.h"

namespace {

using retsu::Millis;
using retsu::TimePoint;

void check_time(TimePoint time) {
  const std::string text = retsu::format_time(time);
  RETSU_CHECK(text.size() == 24);
  RETSU_CHECK(retsu::parse_time(text) ==
              std::clamp(time, retsu::kEarliestTime, retsu::kLatestTime));
  if (time < retsu::kLatestTime) RETSU_CHECK(text <= retsu::format_time(time + Millis(1)));
}

void check_duration(Millis duration) {
  const auto again = retsu::parse_duration(retsu::format_duration(duration));
  RETSU_CHECK(duration < Millis(0) ? !again : again == duration);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retsu;  // NOLINT
  const std::string_view text = fuzz::Input(data, size).rest();
  if (const auto time = parse_time(text)) check_time(*time);
  if (const auto duration = parse_duration(text)) {
    RETSU_CHECK(*duration >= Millis(0));
    check_duration(*duration);
  }
  std::int64_t number = 0;
  std::memcpy(&number, data, std::min(size, sizeof number));
  check_time(TimePoint(Millis(number)));
  check_duration(Millis(number));
  return 0;
}
