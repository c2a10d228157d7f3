// A task between its claim and its end, as the worker knows it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "worker/pause.h"
#include "worker/worker.h"

namespace retsu::worker {

using Steady = std::chrono::steady_clock;

// Tasks that were claimed together have one lease. Guarded by the worker's lock, but for the id.
struct Lease {
  const std::string claim_id;
  Steady::time_point until;
  Steady::time_point last_beat;
  Steady::time_point next_beat;
  bool is_asking = false;  // for more time
  bool has_news = false;   // progress to tell
  Pause pause = {};        // between heartbeats that fail
};

// Why a run is to end before it has.
enum class Stopped : std::uint8_t { kNot, kCanceled, kLost, kTimeout, kShutdown };

class ActiveRun final : public Run {
 public:
  ActiveRun(ClaimedTask task, std::shared_ptr<Lease> lease, std::function<void()> on_progress)
      : lease_(std::move(lease)), on_progress_(std::move(on_progress)), task_(std::move(task)) {}

  [[nodiscard]] const ClaimedTask& task() const override { return task_; }
  [[nodiscard]] const std::string& claim_id() const override { return lease_->claim_id; }
  [[nodiscard]] std::stop_token stop() const override { return source_.get_token(); }
  void progress(Json value) override {
    {
      const std::lock_guard lock(mutex_);
      progress_ = std::move(value);
    }
    on_progress_();
  }

  [[nodiscard]] const std::shared_ptr<Lease>& lease() const { return lease_; }
  std::optional<Json> take_progress() {
    const std::lock_guard lock(mutex_);
    return std::exchange(progress_, std::nullopt);
  }
  // It could not be told. If there is no news, it is told with the next one.
  void give_back_progress(Json value) {
    const std::lock_guard lock(mutex_);
    if (!progress_) progress_ = std::move(value);
  }

  // The first cause stays, but for a lost lease, after which nothing may be settled.
  void end(Stopped why) {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_ == Stopped::kNot || why == Stopped::kLost) stopped_ = why;
    }
    source_.request_stop();
  }
  [[nodiscard]] Stopped stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }

  std::optional<Steady::time_point> timeout = {};  // guarded by the worker's lock

 private:
  const std::shared_ptr<Lease> lease_;
  const std::function<void()> on_progress_;
  const ClaimedTask task_;
  std::stop_source source_;
  mutable std::mutex mutex_;
  std::optional<Json> progress_;
  Stopped stopped_ = Stopped::kNot;
};

}  // namespace retsu::worker
