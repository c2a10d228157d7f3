#pragma once

#include <algorithm>
#include <utility>

#include "model/error.h"

namespace retsu::worker {

// How long to wait after a failure: longer from one to the next, and as long as the queue asks.
class Pause {
 public:
  Millis next(const Error& error) {
    const Millis asked = error.retry_after.value_or(Millis(0));
    return std::max(asked, std::exchange(next_, std::min(2 * next_, kLongest)));
  }

 private:
  static constexpr Millis kFirst{100};
  static constexpr Millis kLongest{5'000};

  Millis next_ = kFirst;
};

}  // namespace retsu::worker
