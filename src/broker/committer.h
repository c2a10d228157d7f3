#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "broker/keeper.h"

namespace retsu {

// A thread that commits one group at a time for the owner thread, which goes on meanwhile.
class Committer {
 public:
  // `done` is called on the committer's thread when a group has been committed, or not.
  Committer(Keeper& keeper, std::function<void()> done);
  ~Committer();  // the last group is over by then
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  void start(const engine::Changes& group);  // which stays as it is until the result is there
  std::optional<Keeper::Kept> result();      // once; none: still at it
  Keeper::Kept wait();

 private:
  void run();

  Keeper& keeper_;
  const std::function<void()> done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const engine::Changes* group_ = nullptr;  // to be committed
  bool stopping_ = false;
  std::optional<Keeper::Kept> result_;
  std::thread thread_;
};

}  // namespace retsu
