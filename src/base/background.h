#pragma once

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

 private:
  void run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;  // none: not busy
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace retsu
