// Moments and durations as retsu writes them: UTC, whole milliseconds.
//
// Everything here is a pure function of its arguments: no clock is read, nothing is shared between
// threads, nothing throws (but for memory running out). Error texts never repeat the input, so they
// are safe to show and to log.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace retsu {

using Millis = std::chrono::milliseconds;
using TimePoint = std::chrono::sys_time<Millis>;

// Later than any moment that can be written down.
inline constexpr TimePoint kNever = TimePoint::max();

// The first and the last moment that can be written down: years 0000 to 9999, UTC.
inline constexpr TimePoint kEarliestTime =
    std::chrono::sys_days{std::chrono::year{0} / std::chrono::January / 1};
inline constexpr TimePoint kLatestTime =
    std::chrono::sys_days{std::chrono::year{10000} / std::chrono::January / 1} - Millis{1};

// `2026-11-15T22:20:19.123Z`: always 24 characters, so texts sort as their moments do. What lies
// outside kEarliestTime to kLatestTime (kNever too) is written as the nearer of the two.
std::string format_time(TimePoint time);

// Reads RFC 3339: date, `T` or a space, time with seconds, optionally a fraction of 1 to 9 digits
// (cut to milliseconds), then `Z`, `+hh:mm` or `+hhmm` (or `-`). The offset is required: a time
// without one means a different moment on every machine. Refused: dates not in the calendar, hour
// 24, second 60, moments outside kEarliestTime to kLatestTime, anything before or after the text.
tl::expected<TimePoint, std::string> parse_time(std::string_view text);

// Reads `250ms`, `5s`, `5m`, `2h`, `7d` and sums such as `1h30m`: each unit at most once, the
// largest first. Refused: a number without a unit, signs, fractions, spaces, and what does not fit
// into Millis. A day is always 24 hours.
tl::expected<Millis, std::string> parse_duration(std::string_view text);

// The inverse of parse_duration, in the largest units that fit: `1h30m`, `1d`, `0ms`. A negative
// duration gets a leading `-`, which parse_duration refuses.
std::string format_duration(Millis duration);

}  // namespace retsu
