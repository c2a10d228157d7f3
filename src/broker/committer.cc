#include "broker/committer.h"

#include <utility>

namespace retsu {

Committer::Committer(Keeper& keeper, std::function<void()> done)
    : keeper_(keeper), done_(std::move(done)), thread_([this] { run(); }) {}

Committer::~Committer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Committer::start(const engine::Changes& group) {
  {
    const std::lock_guard lock(mutex_);
    group_ = &group;
  }
  changed_.notify_all();
}

std::optional<Keeper::Kept> Committer::result() {
  const std::lock_guard lock(mutex_);
  return std::exchange(result_, std::nullopt);
}

Keeper::Kept Committer::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return result_.has_value(); });
  return *std::exchange(result_, std::nullopt);
}

void Committer::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return group_ != nullptr || stopping_; });
    if (group_ == nullptr) return;
    const engine::Changes& group = *std::exchange(group_, nullptr);
    lock.unlock();
    const Keeper::Kept kept = keeper_.commit(group);
    lock.lock();
    result_ = kept;
    lock.unlock();
    changed_.notify_all();
    done_();
    lock.lock();
  }
}

}  // namespace retsu
