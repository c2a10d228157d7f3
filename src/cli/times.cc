#include "cli/times.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "base/wall_clock.h"

namespace retsu::cli {

Result<Millis> read_duration(std::string_view option, std::string_view text) {
  if (text == "0") return Millis(0);
  const auto read = parse_duration(text);
  if (read) return *read;
  return refuse(ErrorCode::kInvalid, fmt::format("{}: {}", option, read.error()));
}

Result<TimePoint> read_time(std::string_view option, std::string_view text) {
  const auto read = parse_time(text);
  if (read) return *read;
  return refuse(ErrorCode::kInvalid, fmt::format("{}: {}", option, read.error()));
}

Result<TimePoint> read_moment(std::string_view option, std::string_view text, TimePoint base,
                              Direction direction) {
  if (const auto duration = parse_duration(text)) {
    constexpr Millis kMost = kLatestTime - TimePoint();
    const Millis step = std::min(*duration, kMost);
    return direction == Direction::kAfter ? base + step : base - step;
  }
  const auto time = parse_time(text);
  if (time) return *time;
  return refuse(ErrorCode::kInvalid, fmt::format("{}: neither a duration such as 5m nor a time "
                                                 "such as 2026-11-15T22:20:00Z: {}",
                                                 option, time.error()));
}

std::string rough(Millis duration) {
  using std::chrono::days;
  using std::chrono::hours;
  using std::chrono::minutes;
  using std::chrono::seconds;
  if (duration >= days(2)) return fmt::format("{}d", duration / days(1));
  if (duration >= hours(2)) return fmt::format("{}h", duration / hours(1));
  if (duration >= minutes(2)) return fmt::format("{}m", duration / minutes(1));
  if (duration >= seconds(1)) return fmt::format("{}s", duration / seconds(1));
  return fmt::format("{}ms", duration.count());
}

std::string age(TimePoint time, TimePoint since) {
  const Millis passed = since - time;
  if (passed < Millis(1'000) && passed > Millis(-1'000)) return "now";
  return passed > Millis(0) ? rough(passed) + " ago" : "in " + rough(-passed);
}

std::string shown(const Screen& screen, const std::optional<TimePoint>& time) {
  if (!time) return {};
  return screen.is_terminal() ? age(*time, wall_clock()) : format_time(*time);
}

std::string shown_fully(const std::optional<TimePoint>& time) {
  if (!time) return {};
  return fmt::format("{} ({})", format_time(*time), age(*time, wall_clock()));
}

}  // namespace retsu::cli
