#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/background.h"

namespace retsu {

// A condition variable for threads that hand work to each other all the time: who waits looks a
// moment for the next piece before it sleeps, as to be woken takes as long as that. Not while there
// is work in the background, which can use the processor better. What is waited for changes under
// the lock; ring() may be called with it or without.
class Doorbell {
 public:
  void ring() {
    rung_.store(true, std::memory_order_release);
    changed_.notify_all();
  }

  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, const Ready& ready) {
    look(lock, std::chrono::steady_clock::time_point::max(), ready);
    changed_.wait(lock, ready);
  }
  template <class Ready>
  void wait_until(std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point until,
                  const Ready& ready) {
    look(lock, until, ready);
    changed_.wait_until(lock, until, ready);
  }

 private:
  static constexpr auto kMoment = std::chrono::microseconds(50);

  template <class Ready>
  void look(std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point until,
            const Ready& ready) {
    using Clock = std::chrono::steady_clock;
    rung_.store(false, std::memory_order_relaxed);
    if (ready() || Background::any_is_busy()) return;
    lock.unlock();
    until = std::min(until, Clock::now() + kMoment);
    while (!rung_.load(std::memory_order_acquire) && Clock::now() < until) {
      std::this_thread::yield();
    }
    lock.lock();
  }

  std::atomic<bool> rung_ = false;
  std::condition_variable changed_;
};

}  // namespace retsu
