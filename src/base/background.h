#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace retsu {

// Where processors are few, threads that somebody waits for come before this one from now on.
void give_way_to_others();

// A thread that does one piece of work at a time beside its owner, and gives way to others.
class Background {
 public:
  Background() : thread_([this] { run(); }) {}
  ~Background();  // the last piece is done by then
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void start(std::function<void()> work);  // only when it is not busy
  [[nodiscard]] bool is_busy() const;
  void wait();  // until it is not

  // Whether any of this process is busy, and would be glad of a processor.
  [[nodiscard]] static bool any_is_busy() { return busy_ > 0; }

 private:
  void run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;  // none: not busy
  bool stopping_ = false;
  static inline std::atomic<int> busy_ = 0;  // of all
  std::thread thread_;
};

}  // namespace retsu
