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
  changed_.ring();
  thread_.join();
}

void Committer::start(const engine::Changes& group, std::function<void()> tell) {
  {
    const std::lock_guard lock(mutex_);
    group_ = &group;
    tell_ = std::move(tell);
  }
  changed_.ring();
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

void Committer::wait_until_told() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !telling_; });
}

void Committer::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return group_ != nullptr || stopping_; });
    if (group_ == nullptr) return;
    const engine::Changes& group = *std::exchange(group_, nullptr);
    std::function<void()> tell = std::exchange(tell_, nullptr);
    lock.unlock();
    const Keeper::Kept kept = keeper_.commit(group);
    lock.lock();
    result_ = kept;
    telling_ = kept == Keeper::Kept::kYes;
    lock.unlock();
    changed_.ring();
    done_();
    if (kept == Keeper::Kept::kYes) tell();
    tell = nullptr;
    lock.lock();
    telling_ = false;
    changed_.ring();
  }
}

}  // namespace retsu
