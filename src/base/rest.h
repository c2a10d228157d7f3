#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "base/time.h"

namespace retsu {

// Sleeps for so long, unless asked to stop: then false, at once.
inline bool rest(Millis time, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any nothing;
  nothing.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace retsu
