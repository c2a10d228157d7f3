// Moments and durations on the command line: read as people write them, shown as they like them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "cli/screen.h"
#include "model/error.h"

namespace retsu::cli {

// These name the option in their errors.
Result<Millis> read_duration(std::string_view option, std::string_view text);  // 5m, or 0
Result<TimePoint> read_time(std::string_view option, std::string_view text);
// A time, or a duration from `base` on (forwards), or before it.
enum class Direction : std::uint8_t { kAfter, kBefore };
Result<TimePoint> read_moment(std::string_view option, std::string_view text, TimePoint base,
                              Direction direction);

// `3m ago`, `in 5m`, `now`.
std::string age(TimePoint time, TimePoint since);
// A duration in its largest unit: `3m`.
std::string rough(Millis duration);

// In a table: an age on a terminal, the whole moment elsewhere; nothing for none.
std::string shown(const Screen& screen, const std::optional<TimePoint>& time);
// By itself: the whole moment, and how long ago.
std::string shown_fully(const std::optional<TimePoint>& time);

}  // namespace retsu::cli
