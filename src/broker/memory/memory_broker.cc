#include "broker/memory/memory_broker.h"

#include <algorithm>
#include <utility>

#include "engine/nodes.h"
#include "ingest/prepare.h"
#include "ingest/validate.h"

namespace retsu {
namespace {

using Steady = std::chrono::steady_clock;

Error shut_down() { return {ErrorCode::kShutdown, "the queue is shutting down: ask again later"}; }
Error stopped() { return {ErrorCode::kShutdown, "the caller gave up"}; }
Error too_late() {
  return {ErrorCode::kDeadline, "the time for this call had passed; nothing was done"};
}

std::optional<Error> given_up(const Context& context) {
  if (context.stop.stop_requested()) return stopped();
  if (Steady::now() >= context.deadline) return too_late();
  return std::nullopt;
}

// For how long the operation may be answered late; 0: not at all.
std::int64_t patience(const Command& command) {
  if (const auto* claim = std::get_if<Claim>(&command)) return claim->wait_ms;
  if (const auto* get = std::get_if<GetTask>(&command)) return get->wait_ms;
  return 0;
}

bool is_worth_waiting(const Result<Reply>& reply) {
  if (!reply) return false;
  if (const auto* claimed = std::get_if<ClaimReply>(&*reply)) return claimed->tasks.empty();
  if (const auto* task = std::get_if<Task>(&*reply)) return is_live(task->state);
  return false;
}

TimePoint time_of(const engine::TaskRow& row, TimePoint now) {
  if (row.state == State::kQueued) return row.queued_at;
  if (!row.run) return now;
  if (row.state == State::kStarted) return row.run->started_at;
  return is_ended(row.state) ? row.run->ended_at : now;
}

TaskEvent event_of(const std::optional<engine::TaskRow>& before,
                   const std::optional<engine::TaskRow>& after, TimePoint now) {
  const engine::TaskRow& row = after ? *after : *before;
  TaskEvent event;
  event.id = row.id.str();
  event.queue = row.line->queue->name.str();
  event.user = row.line->user.str();
  if (before) event.from = before->state;
  if (after) event.to = after->state;
  event.at = after ? time_of(row, now) : now;
  event.attempt = row.run ? row.run->attempts : 0;
  if (row.run && is_ended(row.state)) event.reason = row.run->reason;
  return event;
}

bool passes(const EventFilter& filter, const TaskEvent& event) {
  return (filter.queue.empty() || filter.queue == event.queue) &&
         (filter.user.empty() || filter.user == event.user) &&
         (!filter.state || filter.state == event.to);
}

}  // namespace

MemoryBroker::Clock MemoryBroker::system_clock() {
  return [] { return std::chrono::floor<Millis>(std::chrono::system_clock::now()); };
}

MemoryBroker::MemoryBroker(Limits limits, Clock clock)
    : limits_(limits), clock_(std::move(clock)), engine_(limits), owner_([this] { run(); }) {}

MemoryBroker::~MemoryBroker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  owner_.join();
}

void MemoryBroker::submit(Command command, Context context, Done done) noexcept {
  const std::lock_guard lock(mutex_);
  inbox_.push_back({std::move(command), std::move(context), std::move(done)});
  wake_.notify_one();
}

Subscription MemoryBroker::watch(EventFilter filter, EventSink sink) {
  const std::lock_guard lock(watchers_mutex_);
  const std::uint64_t number = ++last_watcher_;
  watchers_.emplace(number, Watcher{std::move(filter), std::move(sink)});
  return Subscription([this, number] {
    const std::lock_guard ending(watchers_mutex_);
    watchers_.erase(number);
  });
}

Capabilities MemoryBroker::capabilities() const { return {false, false, limits_}; }

void MemoryBroker::set_clock(TimePoint time) {
  std::unique_lock lock(mutex_);
  manual_time_ = time;
  const std::uint64_t mine = ++asked_;
  wake_.notify_one();
  idle_.wait(lock, [&] { return done_ >= mine; });
}

TimePoint MemoryBroker::now() const {
  if (clock_) return clock_();
  const std::lock_guard lock(mutex_);
  return manual_time_;
}

void MemoryBroker::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const Steady::time_point wake_at = wake_time();
    const auto ready = [&] { return stopping_ || !inbox_.empty() || asked_ != done_ || poked_; };
    if (wake_at == Steady::time_point::max()) {
      wake_.wait(lock, ready);
    } else {
      wake_.wait_until(lock, wake_at, ready);
    }
    poked_ = false;
    const std::uint64_t asked = asked_;
    std::vector<Request> requests = std::exchange(inbox_, {});
    lock.unlock();
    work(std::move(requests));
    lock.lock();
    done_ = asked;
    idle_.notify_all();
  }
  std::vector<Request> rest = std::exchange(inbox_, {});
  lock.unlock();
  for (Waiter& waiter : waiters_) answer(waiter.request, tl::unexpected(shut_down()));
  waiters_.clear();
  for (Request& request : rest) answer(request, tl::unexpected(shut_down()));
  deliver();
}

void MemoryBroker::work(std::vector<Request> requests) {
  for (Request& request : requests) serve(std::move(request));
  const TimePoint time = now();
  // One call goes only so far with cascades and housekeeping.
  do {
    engine_.advance(time);
    take_changes();
  } while (engine_.next_event() <= engine_.now());
  serve_waiters();
  deliver();
}

void MemoryBroker::serve(Request request) {
  if (auto error = given_up(request.context)) return answer(request, tl::unexpected(*error));
  if (auto valid = validate(request.command, limits_); !valid) {
    return answer(request, tl::unexpected(std::move(valid.error())));
  }
  const TimePoint time = now();
  request.command = prepare(std::move(request.command), time, ids_);
  Result<Reply> reply = engine_.apply(request.command, time);
  take_changes();
  const std::int64_t wait_ms = patience(request.command);
  if (wait_ms > 0 && is_worth_waiting(reply)) {
    return wait(std::move(request), reply, engine_.now() + Millis(wait_ms));
  }
  answer(request, std::move(reply));
}

void MemoryBroker::wait(Request request, const Result<Reply>& reply, TimePoint until) {
  Waiter& waiter = waiters_.emplace_back();
  waiter.request = std::move(request);
  waiter.until = until;
  if (const auto* claimed = std::get_if<ClaimReply>(&*reply)) {
    waiter.retry_at = claimed->next_at.value_or(kNever);
  }
  if (waiter.request.context.stop.stop_possible()) {
    waiter.on_stop = std::make_unique<std::stop_callback<std::function<void()>>>(
        waiter.request.context.stop, [this] {
          const std::lock_guard lock(mutex_);
          poked_ = true;
          wake_.notify_one();
        });
  }
}

void MemoryBroker::serve_waiters() {
  for (bool served = true; served;) {
    served = false;
    std::set<std::string> open;  // queues that have something to give
    for (const std::string& queue : std::exchange(touched_, {})) {
      if (engine_.claimable(queue)) open.insert(queue);
    }
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
      if (serve_waiter(*waiter, open)) {
        waiter = waiters_.erase(waiter);
        served = true;
      } else {
        ++waiter;
      }
    }
    all_touched_ = false;
  }
}

bool MemoryBroker::serve_waiter(Waiter& waiter, std::set<std::string>& open) {
  Request& request = waiter.request;
  if (auto error = given_up(request.context)) {
    answer(request, tl::unexpected(*error));
    return true;
  }
  const bool over = engine_.now() >= waiter.until;
  bool worth_trying = over || all_touched_ || waiter.retry_at <= engine_.now();
  if (const auto* get = std::get_if<GetTask>(&request.command)) {
    worth_trying = over || engine_.has_ended(get->id);
  } else if (!worth_trying) {
    worth_trying = std::ranges::any_of(std::get<Claim>(request.command).queues,
                                       [&](const auto& queue) { return open.contains(queue); });
  }
  if (!worth_trying) return false;
  Result<Reply> reply = engine_.apply(request.command, engine_.now());
  take_changes();
  std::erase_if(open, [&](const std::string& queue) { return !engine_.claimable(queue); });
  if (!over && is_worth_waiting(reply)) {
    if (const auto* claimed = std::get_if<ClaimReply>(&*reply)) {
      waiter.retry_at = claimed->next_at.value_or(kNever);
    }
    return false;
  }
  answer(request, std::move(reply));
  return true;
}

void MemoryBroker::answer(Request& request, Result<Reply> reply) {
  answers_.emplace_back(std::move(request.done), std::move(reply));
}

void MemoryBroker::take_changes() {
  for (const engine::AnyChange& change : engine_.take_changes()) {
    if (const auto* of_queue = std::get_if<std::unique_ptr<engine::QueueChange>>(&change)) {
      touched_.insert((*of_queue)->queue->name.str());
    } else if (const auto* of_meta = std::get_if<std::unique_ptr<engine::MetaChange>>(&change)) {
      all_touched_ |= (*of_meta)->before.draining && !(*of_meta)->after.draining;
    } else if (std::holds_alternative<std::unique_ptr<engine::Change<engine::SettingsRow>>>(
                   change)) {
      all_touched_ = true;
    } else if (const auto* of_task =
                   std::get_if<std::unique_ptr<engine::Change<engine::TaskRow>>>(&change)) {
      const auto& [before, after] = **of_task;
      if (before && after && before->state == after->state) continue;
      if (after && after->state == State::kQueued) touched_.insert(after->line->queue->name.str());
      events_.push_back(event_of(before, after, engine_.now()));
      events_.back().number = ++last_event_;
    }
  }
}

void MemoryBroker::deliver() {
  if (const auto events = std::exchange(events_, {}); !events.empty()) {
    const std::lock_guard lock(watchers_mutex_);
    for (const auto& [number, watcher] : watchers_) {
      EventBatch batch;
      std::ranges::copy_if(events, std::back_inserter(batch.events),
                           [&](const TaskEvent& event) { return passes(watcher.filter, event); });
      if (!batch.events.empty()) watcher.sink(std::move(batch));
    }
  }
  for (auto& [done, reply] : std::exchange(answers_, {})) done(std::move(reply));
}

// When the owner has to look again by itself.
Steady::time_point MemoryBroker::wake_time() const {
  Steady::time_point wake = Steady::time_point::max();
  TimePoint event = engine_.next_event();
  for (const Waiter& waiter : waiters_) {
    wake = std::min(wake, waiter.request.context.deadline);
    event = std::min({event, waiter.until, waiter.retry_at});
  }
  // A clock that stands still brings nothing by itself.
  if (!clock_ || event == kNever) return wake;
  const Millis ahead = std::clamp(event - clock_(), Millis(0), Millis(kDay));
  return std::min(wake, Steady::now() + ahead);
}

}  // namespace retsu
