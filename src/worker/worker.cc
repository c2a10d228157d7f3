#include "worker/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <thread>

#include "base/uuid.h"
#include "base/wall_clock.h"
#include "worker/active_run.h"
#include "worker/outcomes.h"

namespace retsu::worker {
namespace {

constexpr Millis kWait{20'000};      // for work, at a time
constexpr Millis kShortWait{1'000};  // with until_empty, while something may still come
constexpr Millis kBetweenProgress{1'000};
constexpr Millis kPatience{5'000};   // with one call
constexpr Millis kLastTries{3'000};  // to settle, when it must stop now

// What a server says that is away, stops or comes back.
constexpr ErrorCode kMayPass[] = {ErrorCode::kUnavailable, ErrorCode::kShutdown,
                                  ErrorCode::kDeadline,    ErrorCode::kOutcomeUnknown,
                                  ErrorCode::kOverloaded,  ErrorCode::kStorageFull,
                                  ErrorCode::kDraining};

// What says that a task is another's now.
constexpr ErrorCode kLost[] = {ErrorCode::kStaleClaim, ErrorCode::kNotFound,
                               ErrorCode::kInvalidTransition};
// What says that an outcome cannot be taken, however often it is told.
constexpr ErrorCode kUnfit[] = {ErrorCode::kInvalid, ErrorCode::kTooLarge, ErrorCode::kUnknownField,
                                ErrorCode::kDependencyCycle, ErrorCode::kUnknownDependency};
template <std::size_t Size>
bool is_one_of(const Error& error, const ErrorCode (&codes)[Size]) {
  return std::ranges::find(codes, error.code) != std::ranges::end(codes);
}

}  // namespace

class Worker::Body {
 public:
  Body(Broker& broker, Settings settings) : broker_(broker), settings_(std::move(settings)) {}

  void handle(const std::string& type, Handler handler) { handlers_[type] = std::move(handler); }

  Status run(const std::stop_token& finish, const std::stop_token& now) {
    stop_claiming_ = std::stop_source();
    stop_beats_ = std::stop_source();
    gives_up_at_.reset();
    is_over_ = false;
    Status status;
    std::vector<std::jthread> threads;
    {
      const std::stop_callback on_finish(finish, [this] { stop_claiming(); });
      const std::stop_callback on_now(now, [this] {
        stop_claiming();
        end_all();
      });
      status = begin_threads(threads);
      if (status) status = claim_on();
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return active_.empty(); });
      is_over_ = true;
    }
    stop_beats_.request_stop();
    changed_.notify_all();
    return status;
  }

 private:
  using Runs = std::set<std::shared_ptr<ActiveRun>>;

  Status begin_threads(std::vector<std::jthread>& threads) {
    try {
      threads.emplace_back([this] { keep_leases(); });
      for (int i = 0; i < settings_.concurrency; ++i) threads.emplace_back([this] { live_on(); });
    } catch (const std::system_error& error) {
      return refuse(ErrorCode::kUnavailable, fmt::format("cannot begin {} threads: {}",
                                                         settings_.concurrency, error.what()));
    }
    return {};
  }

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
      gives_up_at_ = Steady::now() + kLastTries;
      changed_.notify_all();
    }
    for (const auto& active : all) active->end(Stopped::kShutdown);
  }

  // ----------------------------------------------------------------------------------- claiming

  Status claim_on() {
    std::string claim_id;  // of a claim whose answer was lost
    std::optional<Steady::time_point> first_asked;
    Pause pause;
    bool is_held = false;  // there are tasks, but none of them may start yet
    while (!is_stopped()) {
      const auto places = wait_for_places();
      if (places == 0) break;
      const bool was_idle = is_idle();  // what runs may bring forth more
      const Millis wait = !settings_.until_empty ? kWait
                          : was_idle && !is_held ? Millis(0)
                                                 : kShortWait;
      if (claim_id.empty()) claim_id = ids_.next(wall_clock());
      const auto asked = Steady::now();
      const auto claimed = claim(claim_id, places, wait);
      if (!claimed) {
        first_asked = first_asked.value_or(asked);
        if (is_stopped()) break;
        if (!is_one_of(claimed.error(), kMayPass)) return tl::unexpected(claimed.error());
        rest(pause.next(claimed.error()));
        continue;
      }
      if (!begin(*claimed, first_asked)) break;
      pause = {};
      claim_id.clear();
      first_asked.reset();
      is_held = claimed->tasks.empty() && claimed->remaining > 0;
      const bool is_empty = claimed->tasks.empty() && !claimed->next_at;
      if (settings_.until_empty && was_idle && is_empty) return {};
    }
    // It may have been granted just when we stopped.
    if (!claim_id.empty()) {
      (void)call(broker_, ReleaseClaim{claim_id}, until(Steady::now() + kLastTries));
    }
    return {};
  }

  std::int64_t wait_for_places() {
    std::unique_lock lock(mutex_);
    const auto places = [this] { return settings_.concurrency - static_cast<int>(active_.size()); };
    changed_.wait(lock, [&] { return places() > 0 || is_stopped(); });
    return is_stopped() ? 0 : places();
  }

  void rest(Millis time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [this] { return is_stopped(); });
  }

  bool is_idle() {
    const std::lock_guard lock(mutex_);
    return active_.empty();
  }

  Result<ClaimReply> claim(const std::string& claim_id, std::int64_t places, Millis wait) {
    Claim claim{.queues = settings_.queues,
                .users = settings_.users,
                .steal = settings_.steal,
                .max = places,
                .lease_ms = settings_.lease.count(),
                .wait_ms = wait.count(),
                .worker = settings_.name,
                .claim_id = claim_id};
    Context context;
    context.once = true;
    context.stop = stop_claiming_.get_token();
    return call(broker_, std::move(claim), std::move(context));
  }

  // False: it is to stop, and nothing has begun. A claim that was asked for before may have been
  // granted then: its lease is extended at once.
  bool begin(const ClaimReply& claimed, std::optional<Steady::time_point> first_asked) {
    const auto now = Steady::now();
    const auto granted = first_asked.value_or(now);
    const auto lease = std::make_shared<Lease>(
        Lease{claimed.claim_id, std::max(granted + settings_.lease, now + kBetweenProgress), now,
              first_asked ? now : now + settings_.lease / 3});
    const std::lock_guard lock(mutex_);
    if (is_stopped()) return false;
    for (const ClaimedTask& task : claimed.tasks) {
      auto active = std::make_shared<ActiveRun>(task, lease, [this, lease] { hurry(*lease); });
      // The queue's clock may be another than ours: only differences count.
      if (task.timeout_at && claimed.lease_until) {
        active->timeout = granted + (*task.timeout_at - (*claimed.lease_until - settings_.lease));
      }
      active_.insert(active);
      pending_.push_back(std::move(active));
    }
    changed_.notify_all();
    return true;
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
      live(active);
      lock.lock();
      active_.erase(active);
      changed_.notify_all();
    }
  }

  void live(const std::shared_ptr<ActiveRun>& active) {
    const auto began = Steady::now();
    SettleOne outcome = active->stopped() == Stopped::kNot ? handled(*active) : released();
    const bool is_done = outcome.outcome == Outcome::kFinish;
    const Stopped why = active->stopped();
    if (why == Stopped::kCanceled || (why == Stopped::kShutdown && !is_done)) outcome = released();
    const Outcome how = outcome.outcome;
    if (!is_done) tell_progress(*active);
    auto state = settle(*active, std::move(outcome));
    if (!settings_.on_end) return;
    const auto took = std::chrono::floor<Millis>(Steady::now() - began);
    settings_.on_end({active->task(), how, took, std::move(state)});
  }

  // What the next attempt is to find.
  void tell_progress(ActiveRun& active) {
    if (auto progress = active.take_progress()) {
      Extend extend{.claim_id = active.claim_id(), .lease_ms = settings_.lease.count()};
      extend.progress[active.task().id] = *std::move(progress);
      (void)call(broker_, std::move(extend), until(Steady::now() + kLastTries));
    }
  }

  // The worker repeats what it asks itself: it knows what has become of the run meanwhile.
  static Context until(Steady::time_point deadline) {
    Context context;
    context.once = true;
    context.deadline = deadline;
    return context;
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
    bool is_replaced = false;
    for (Pause pause;;) {
      const bool was_lost = active.stopped() == Stopped::kLost;
      auto settled = call(broker_, settle, until(Steady::now() + kPatience));
      if (settled && settled->results.at(0).ok) return *settled->results[0].state;
      Error error = settled ? *settled->results[0].error : settled.error();
      if (was_lost || is_one_of(error, kLost)) return tl::unexpected(std::move(error));
      if (is_one_of(error, kUnfit)) {
        if (std::exchange(is_replaced, true)) return tl::unexpected(std::move(error));
        replace(settle.results[0], error);
        continue;
      }
      const auto later = Steady::now() + pause.next(error);
      std::unique_lock lock(mutex_);
      const auto last = std::min(active.lease()->until, gives_up_at_.value_or(later));
      if (later > last) return tl::unexpected(std::move(error));
      changed_.wait_until(lock, later, [&] {
        return active.stopped() == Stopped::kLost || (gives_up_at_ && *gives_up_at_ < later);
      });
    }
  }

  // A result that is too long, for instance, must not run for ever.
  static void replace(SettleOne& outcome, const Error& error) {
    SettleOne instead = failed("the queue refused how it ended: " + error.message, Again::kNever);
    instead.id = outcome.id;
    instead.fence = outcome.fence;
    outcome = std::move(instead);
  }

  // --------------------------------------------------------------------------------- heartbeats

  // An answer to an extension.
  struct Heard {
    std::shared_ptr<Lease> lease;
    Runs runs;
    Steady::time_point asked_at;
    std::map<std::string, Json> progress;  // that was told, if it was heard
    Result<ExtendReply> reply;
  };

  // Extends what is due, which also tells what was canceled; ends what has run for too long, and
  // what another may have by now.
  void keep_leases() {
    std::unique_lock lock(mutex_);
    while (!is_over_ || asking_ > 0) {
      const auto now = Steady::now();
      auto next = now + settings_.lease / 3;
      std::vector<std::pair<std::shared_ptr<ActiveRun>, Stopped>> ending;
      std::map<std::shared_ptr<Lease>, Runs> due;
      const auto wait_for = [&](Steady::time_point time) { next = std::min(next, time); };
      for (const auto& active : active_) {
        Lease& lease = *active->lease();
        if (active->timeout && *active->timeout <= now) {
          active->timeout.reset();
          ending.emplace_back(active, Stopped::kTimeout);
        }
        if (active->timeout) wait_for(*active->timeout);
        if (lease.until <= now) {
          if (active->stopped() != Stopped::kLost) ending.emplace_back(active, Stopped::kLost);
          continue;
        }
        wait_for(lease.until);
        if (lease.is_asking) continue;
        lease.next_beat <= now ? void(due[active->lease()].insert(active))
                               : wait_for(lease.next_beat);
      }
      for (const auto& [lease, runs] : due) {
        lease->is_asking = true;
        lease->has_news = false;
        ++asking_;
      }
      auto heard = std::exchange(heard_, {});
      if (ending.empty() && due.empty() && heard.empty()) {
        changed_.wait_until(lock, next);
        continue;
      }
      lock.unlock();
      for (const auto& [active, why] : ending) active->end(why);
      for (const auto& [lease, runs] : due) ask(lease, runs);
      for (Heard& each : heard) take(each);
      lock.lock();
    }
  }

  void ask(const std::shared_ptr<Lease>& lease, const Runs& runs) {
    Heard asked{lease, runs, Steady::now(), {}, {}};
    for (const auto& active : runs) {
      if (auto progress = active->take_progress()) {
        asked.progress[active->task().id] = *std::move(progress);
      }
    }
    Extend extend{.claim_id = lease->claim_id,
                  .lease_ms = settings_.lease.count(),
                  .progress = asked.progress};
    Context context = until(asked.asked_at + settings_.lease / 3);
    context.stop = stop_beats_.get_token();
    broker_.submit(std::move(extend), std::move(context),
                   [this, asked = std::move(asked)](Answer answer) mutable {
                     if (answer) {
                       asked.reply = std::get<ExtendReply>(*std::move(answer));
                     } else {
                       asked.reply = tl::unexpected(std::move(answer.error()));
                     }
                     const std::lock_guard lock(mutex_);
                     heard_.push_back(std::move(asked));
                     changed_.notify_all();
                   });
  }

  void take(Heard& heard) {
    Lease& lease = *heard.lease;
    const bool is_refused = !heard.reply && !is_one_of(heard.reply.error(), kMayPass);
    for (const auto& active : heard.runs) {
      const std::string& id = active->task().id;
      const auto is_in = [&](const std::vector<std::string>& ids) {
        return std::ranges::find(ids, id) != ids.end();
      };
      if (heard.reply) {
        if (is_in(heard.reply->canceled)) active->end(Stopped::kCanceled);
        if (is_in(heard.reply->lost)) active->end(Stopped::kLost);
      } else if (is_one_of(heard.reply.error(), kLost)) {
        active->end(Stopped::kLost);
      } else if (!is_refused && heard.progress.contains(id)) {
        active->give_back_progress(std::move(heard.progress[id]));
      }
    }
    const std::lock_guard lock(mutex_);
    --asking_;
    lease.is_asking = false;
    lease.last_beat = heard.asked_at;
    if (heard.reply) {
      lease.until = heard.asked_at + settings_.lease;
      lease.next_beat = heard.asked_at + settings_.lease / 3;
      lease.pause = {};
    } else {
      const Millis longest = std::chrono::floor<Millis>(settings_.lease / 6);
      lease.next_beat = Steady::now() + std::min(lease.pause.next(heard.reply.error()), longest);
    }
    if (lease.has_news) hurry_up(lease);
  }

  // There is something to tell.
  void hurry(Lease& lease) {
    const std::lock_guard lock(mutex_);
    lease.has_news = true;
    hurry_up(lease);
    changed_.notify_all();
  }
  static void hurry_up(Lease& lease) {
    lease.next_beat = std::min(lease.next_beat, lease.last_beat + kBetweenProgress);
  }

  Broker& broker_;
  const Settings settings_;
  std::map<std::string, Handler> handlers_;
  UuidSource ids_;
  std::stop_source stop_claiming_;
  std::stop_source stop_beats_;

  std::mutex mutex_;
  std::condition_variable changed_;                 // of all below
  Runs active_;                                     // begun or about to begin
  std::deque<std::shared_ptr<ActiveRun>> pending_;  // of these: not begun
  std::optional<Steady::time_point> gives_up_at_;   // when it must stop now
  std::vector<Heard> heard_;                        // not looked at yet
  int asking_ = 0;  // extensions that are not heard of, or not looked at
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
