#pragma once

#include "base/time.h"

namespace retsu {

// What people's clocks show. It may jump; to measure, use a steady one.
inline TimePoint wall_clock() {
  return std::chrono::floor<Millis>(std::chrono::system_clock::now());
}

}  // namespace retsu
