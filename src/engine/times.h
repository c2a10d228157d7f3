// Times as rows and answers have them.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace retsu::engine {

inline std::int64_t ms(TimePoint time) { return time.time_since_epoch().count(); }

inline std::optional<TimePoint> known(TimePoint time) {
  return time == kNever ? std::nullopt : std::optional(time);
}

}  // namespace retsu::engine
