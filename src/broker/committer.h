#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/doorbell.h"
#include "broker/keeper.h"

namespace retsu {

// A thread that commits one group at a time for the owner thread, which goes on meanwhile.
class Committer {
 public:
  // `done` is called on the committer's thread when the result of a group is there.
  Committer(Keeper& keeper, std::function<void()> done);
  ~Committer();  // the last group is over by then
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // The group stays as it is until the result is there. If it was kept, `tell` is called then, on
  // the committer's thread and before the next group begins: those who wait for it need not wait
  // for the owner too.
  void start(const engine::Changes& group, std::function<void()> tell);
  std::optional<Keeper::Kept> result();  // once; none: still at it
  Keeper::Kept wait();
  void wait_until_told();  // nothing is being told any more

 private:
  void run();

  Keeper& keeper_;
  const std::function<void()> done_;
  std::mutex mutex_;
  Doorbell changed_;
  const engine::Changes* group_ = nullptr;  // to be committed
  std::function<void()> tell_;              // when it is kept
  bool telling_ = false;
  bool stopping_ = false;
  std::optional<Keeper::Kept> result_;
  std::thread thread_;
};

}  // namespace retsu
