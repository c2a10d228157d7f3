#include "worker/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "base/uuid.h"
#include "base/wall_clock.h"
#include "worker/active_run.h"
#include "worker/outcomes.h"

namespace retsu::worker {
namespace {

constexpr Millis kWait{20'000};      // for work, at a time
constexpr Millis kShortWait{1'000};  // with until_empty, while something may still come
constexpr Millis kFirstPause{100};   // after a failure
constexpr Millis kLongestPause{5'000};
constexpr Millis kBetweenProgress{1'000};
constexpr std::int64_t kMostAtOnce = 1'000;  // what a claim may ask for

// What a server says that is away, stops or comes back.
constexpr ErrorCode kMayPass[] = {ErrorCode::kUnavailable, ErrorCode::kShutdown,
                                  ErrorCode::kDeadline,    ErrorCode::kOutcomeUnknown,
                                  ErrorCode::kOverloaded,  ErrorCode::kStorageFull,
                                  ErrorCode::kDraining};
bool may_pass(const Error& error) {
  return std::ranges::find(kMayPass, error.code) != std::ranges::end(kMayPass);
}

// Longer from failure to failure.
class Pause {
 public:
  Millis next(const Error& error) {
    const Millis asked = error.retry_after.value_or(Millis(0));
    return std::max(asked, std::exchange(next_, std::min(2 * next_, kLongestPause)));
  }

 private:
  Millis next_ = kFirstPause;
};

}  // namespace

class Worker::Body {
 public:
  Body(Broker& broker, Settings settings) : broker_(broker), settings_(std::move(settings)) {}

  void handle(const std::string& type, Handler handler) { handlers_[type] = std::move(handler); }

  Status run(const std::stop_token& finish, const std::stop_token& now) {
    stop_claiming_ = std::stop_source();
    is_over_ = false;
    Status status;
    std::vector<std::jthread> threads;
    {
      const std::stop_callback on_finish(finish, [this] { stop_claiming(); });
      const std::stop_callback on_now(now, [this] {
        stop_claiming();
        end_all();
      });
      threads.emplace_back([this] { keep_leases(); });
      for (int i = 0; i < settings_.concurrency; ++i) threads.emplace_back([this] { live_on(); });
      status = claim_on();
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return active_.empty(); });
      is_over_ = true;
    }
    changed_.notify_all();
    return status;
  }

 private:
  using Runs = std::set<std::shared_ptr<ActiveRun>>;

  void stop_claiming() {
    stop_claiming_.request_stop();
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  [[nodiscard]] bool is_stopped() const { return stop_claiming_.stop_requested(); }

  void end_all() {
    Runs all;
    {
      const std::lock_guard lock(mutex_);
      all = active_;
    }
    for (const auto& active : all) active->end(Stopped::kShutdown);
  }

  // ----------------------------------------------------------------------------------- claiming

  Status claim_on() {
    std::string claim_id;  // of a claim whose answer was lost
    Pause pause;
    while (!is_stopped()) {
      const auto places = wait_for_places();
      if (places == 0) break;
      if (claim_id.empty()) claim_id = ids_.next(wall_clock());
      const auto claimed = claim(claim_id, places);
      if (!claimed) {
        if (is_stopped()) break;
        if (!may_pass(claimed.error())) return tl::unexpected(claimed.error());
        rest(pause.next(claimed.error()));
        continue;
      }
      if (is_stopped()) break;
      pause = {};
      claim_id.clear();
      begin(*claimed);
      if (settings_.until_empty && claimed->tasks.empty() && claimed->remaining == 0 && is_idle()) {
        return {};
      }
    }
    // It may have been granted just when we stopped.
    if (!claim_id.empty()) (void)call(broker_, ReleaseClaim{claim_id});
    return {};
  }

  std::int64_t wait_for_places() {
    std::unique_lock lock(mutex_);
    const auto places = [this] { return settings_.concurrency - static_cast<int>(active_.size()); };
    changed_.wait(lock, [&] { return places() > 0 || is_stopped(); });
    return is_stopped() ? 0 : std::min<std::int64_t>(places(), kMostAtOnce);
  }

  void rest(Millis time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [this] { return is_stopped(); });
  }

  bool is_idle() {
    const std::lock_guard lock(mutex_);
    return active_.empty();
  }

  Result<ClaimReply> claim(const std::string& claim_id, std::int64_t places) {
    const Millis wait = !settings_.until_empty ? kWait : is_idle() ? Millis(0) : kShortWait;
    Claim claim{.queues = settings_.queues,
                .users = settings_.users,
                .steal = settings_.steal,
                .max = places,
                .lease_ms = settings_.lease.count(),
                .wait_ms = wait.count(),
                .worker = settings_.name,
                .claim_id = claim_id};
    Context context;
    context.stop = stop_claiming_.get_token();
    return call(broker_, std::move(claim), std::move(context));
  }

  void begin(const ClaimReply& claimed) {
    const auto now = Steady::now();
    const auto lease = std::make_shared<Lease>(
        Lease{claimed.claim_id, now + settings_.lease, now, now + settings_.lease / 3});
    const std::lock_guard lock(mutex_);
    for (const ClaimedTask& task : claimed.tasks) {
      auto active = std::make_shared<ActiveRun>(task, lease, [this, lease] { hurry(*lease); });
      // The queue's clock may be another than ours: only differences count.
      if (task.timeout_at && claimed.lease_until) {
        active->timeout = now + (*task.timeout_at - (*claimed.lease_until - settings_.lease));
      }
      active_.insert(active);
      pending_.push_back(std::move(active));
    }
    changed_.notify_all();
  }

  // ------------------------------------------------------------------------------------ running

  // One of the places: a run after the other.
  void live_on() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return is_over_ || !pending_.empty(); });
      if (pending_.empty()) return;
      const auto active = pending_.front();
      pending_.pop_front();
      lock.unlock();
      live(*active);
      lock.lock();
      active_.erase(active);
      changed_.notify_all();
    }
  }

  void live(ActiveRun& active) {
    const auto began = Steady::now();
    SettleOne outcome = active.stopped() == Stopped::kNot ? handled(active) : released();
    const bool is_done = outcome.outcome == Outcome::kFinish;
    const Stopped why = active.stopped();
    if (why == Stopped::kCanceled || (why == Stopped::kShutdown && !is_done)) outcome = released();
    const Outcome how = outcome.outcome;
    auto state = settle(active, std::move(outcome));
    if (!settings_.on_end) return;
    const auto took = std::chrono::floor<Millis>(Steady::now() - began);
    settings_.on_end({active.task(), how, took, std::move(state)});
  }

  SettleOne handled(ActiveRun& active) const {
    auto found = handlers_.find(active.task().type);
    if (found == handlers_.end()) found = handlers_.find("");
    if (found != handlers_.end()) return found->second(active);
    return failed(fmt::format("this worker has no handler for type {}", active.task().type));
  }

  // As long as the lease lasts: however often it arrives, it is done once.
  Result<State> settle(ActiveRun& active, SettleOne outcome) {
    outcome.id = active.task().id;
    outcome.fence = active.task().fence;
    Settle settle{.claim_id = active.claim_id(), .results = {std::move(outcome)}};
    Pause pause;
    for (;;) {
      if (active.stopped() == Stopped::kLost) {
        return refuse(ErrorCode::kStaleClaim, "the lease was lost while it ran");
      }
      auto settled = call(broker_, settle);
      if (settled && settled->results.at(0).ok) return *settled->results[0].state;
      Error error = settled ? *settled->results[0].error : settled.error();
      if (!may_pass(error)) return refused(settle, std::move(error));
      const auto later = Steady::now() + pause.next(error);
      std::unique_lock lock(mutex_);
      if (later > active.lease()->until) return tl::unexpected(std::move(error));
      changed_.wait_until(lock, later, [&] { return active.stopped() == Stopped::kLost; });
    }
  }

  // An outcome that the queue cannot take (a result that is too long) must not run for ever.
  Result<State> refused(Settle& settle, Error error) {
    SettleOne& one = settle.results[0];
    const bool is_ours = error.code != ErrorCode::kStaleClaim &&
                         error.code != ErrorCode::kInvalidTransition &&
                         error.code != ErrorCode::kNotFound;
    if (!is_ours) return tl::unexpected(std::move(error));
    SettleOne instead = failed("the queue refused how it ended: " + error.message, Again::kNever);
    instead.id = one.id;
    instead.fence = one.fence;
    one = std::move(instead);
    auto settled = call(broker_, settle);
    if (settled && settled->results.at(0).ok) return *settled->results[0].state;
    return tl::unexpected(std::move(error));
  }

  // --------------------------------------------------------------------------------- heartbeats

  // Extends what is due, which also tells what was canceled; ends what has run for too long.
  void keep_leases() {
    std::unique_lock lock(mutex_);
    while (!is_over_) {
      const auto now = Steady::now();
      auto next = now + settings_.lease / 3;
      Runs too_long;
      std::map<std::shared_ptr<Lease>, Runs> due;
      for (const auto& active : active_) {
        if (active->timeout && *active->timeout <= now) {
          active->timeout.reset();
          too_long.insert(active);
        }
        if (active->timeout) next = std::min(next, *active->timeout);
        if (active->lease()->next_beat <= now) {
          due[active->lease()].insert(active);
        } else {
          next = std::min(next, active->lease()->next_beat);
        }
      }
      if (due.empty() && too_long.empty()) {
        changed_.wait_until(lock, next);
        continue;
      }
      lock.unlock();
      for (const auto& active : too_long) active->end(Stopped::kTimeout);
      for (const auto& [lease, runs] : due) extend(*lease, runs);
      lock.lock();
    }
  }

  void extend(Lease& lease, const Runs& runs) {
    const auto asked_at = Steady::now();
    Extend extend{.claim_id = lease.claim_id, .lease_ms = settings_.lease.count()};
    for (const auto& active : runs) {
      if (auto progress = active->take_progress()) {
        extend.progress[active->task().id] = *std::move(progress);
      }
    }
    Context context;
    context.deadline = asked_at + settings_.lease / 3;
    const auto extended = call(broker_, std::move(extend), std::move(context));
    if (extended) {
      for (const auto& active : runs) {
        const auto is_in = [&](const std::vector<std::string>& ids) {
          return std::ranges::find(ids, active->task().id) != ids.end();
        };
        if (is_in(extended->canceled)) active->end(Stopped::kCanceled);
        if (is_in(extended->lost)) active->end(Stopped::kLost);
      }
    } else if (!may_pass(extended.error()) || Steady::now() > lease_end(lease)) {
      for (const auto& active : runs) active->end(Stopped::kLost);
    }
    const std::lock_guard lock(mutex_);
    lease.last_beat = asked_at;
    lease.next_beat = extended ? asked_at + settings_.lease / 3 : Steady::now() + kFirstPause;
    if (extended) lease.until = asked_at + settings_.lease;
    changed_.notify_all();
  }

  Steady::time_point lease_end(const Lease& lease) {
    const std::lock_guard lock(mutex_);
    return lease.until;
  }

  // There is something to tell.
  void hurry(Lease& lease) {
    const std::lock_guard lock(mutex_);
    lease.next_beat = std::min(lease.next_beat, lease.last_beat + kBetweenProgress);
    changed_.notify_all();
  }

  Broker& broker_;
  const Settings settings_;
  std::map<std::string, Handler> handlers_;
  UuidSource ids_;
  std::stop_source stop_claiming_;

  std::mutex mutex_;
  std::condition_variable changed_;                 // of all below
  Runs active_;                                     // begun or about to begin
  std::deque<std::shared_ptr<ActiveRun>> pending_;  // of these: not begun
  bool is_over_ = false;
};

Worker::Worker(Broker& broker, Settings settings)
    : body_(std::make_unique<Body>(broker, std::move(settings))) {}
Worker::~Worker() = default;

void Worker::handle(const std::string& type, Handler handler) {
  body_->handle(type, std::move(handler));
}

Status Worker::run(const std::stop_token& finish, const std::stop_token& now) {
  return body_->run(finish, now);
}

}  // namespace retsu::worker
