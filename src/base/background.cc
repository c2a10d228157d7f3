#include "base/background.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/check.h"

namespace retsu {
namespace {

constexpr int kNiceness = 10;

}  // namespace

void give_way_to_others() { ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness); }

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Background::start(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    RETSU_CHECK(!work_);
    work_ = std::move(work);
    ++busy_;
  }
  changed_.notify_all();
}

bool Background::is_busy() const {
  const std::lock_guard lock(mutex_);
  return work_ != nullptr;
}

void Background::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return work_ == nullptr; });
}

void Background::run() {
  give_way_to_others();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return work_ != nullptr || stopping_; });
    if (work_ == nullptr) return;
    lock.unlock();
    work_();
    lock.lock();
    work_ = nullptr;
    --busy_;
    changed_.notify_all();
  }
}

}  // namespace retsu
