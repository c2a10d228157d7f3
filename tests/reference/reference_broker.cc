#include "reference/reference_broker.h"

#include <algorithm>
#include <future>
#include <utility>

#include "broker/codec.h"
#include "ingest/prepare.h"
#include "ingest/validate.h"

namespace retsu {
namespace {

std::int64_t wait_ms_of(const Command& command) {
  if (const auto* claim = std::get_if<Claim>(&command)) return claim->wait_ms;
  if (const auto* get = std::get_if<GetTask>(&command)) return get->wait_ms;
  return 0;
}

// There is nothing more to wait for.
bool is_whole(const Command& command, const Result<Reply>& reply) {
  if (!reply) return true;
  if (std::holds_alternative<Claim>(command)) return !std::get<ClaimReply>(*reply).tasks.empty();
  if (std::holds_alternative<GetTask>(command)) return is_ended(std::get<Task>(*reply).state);
  return true;
}

}  // namespace

ReferenceBroker::ReferenceBroker(Limits limits)
    : limits_(limits), ids_(1), queue_(limits), thread_([this] { serve(); }) {}

ReferenceBroker::~ReferenceBroker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void ReferenceBroker::submit(Command command, Context context, Done done) noexcept {
  const std::lock_guard lock(mutex_);
  unanswered_.push_back({std::move(command), std::move(context), std::move(done), {}, {}});
  work_.emplace_back([this] {
    std::unique_lock relock(mutex_);
    Call call = std::move(unanswered_.front());
    unanswered_.pop_front();
    relock.unlock();
    answer(std::move(call));
  });
  changed_.notify_all();
}

Capabilities ReferenceBroker::capabilities() const { return {false, false, limits_}; }

void ReferenceBroker::run_on_thread(std::function<void()> work) {
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    work_.emplace_back([&] {
      work();
      done.set_value();
    });
    changed_.notify_all();
  }
  done.get_future().wait();
}

void ReferenceBroker::set_clock(TimePoint clock) {
  run_on_thread([this, clock] {
    clock_ = clock;
    queue_.advance(clock_);
    try_waiting();
    tell_watchers();
  });
}

void ReferenceBroker::inspect(const std::function<void(const ReferenceQueue&)>& look) {
  run_on_thread([&] { look(queue_); });
}

void ReferenceBroker::serve() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !work_.empty(); });
    if (stopping_) break;
    const std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
  }
  for (Call& call : unanswered_) waiting_.push_back(std::move(call));
  for (Call& call : waiting_)
    call.done(Result<Reply>(refuse(ErrorCode::kShutdown, "the broker has ended")));
}

void ReferenceBroker::answer(Call call) {
  const Status valid = validate(call.command, limits_);
  if (!valid) return call.done(Result<Reply>(tl::unexpected(valid.error())));
  if (const auto& key = call.context.idempotency_key) {
    if (auto fits = validate_key(*key); !fits) {
      return call.done(Result<Reply>(tl::unexpected(fits.error())));
    }
  }
  call.said = canonical_json(to_json(call.command));
  call.command = prepare(std::move(call.command), clock_, ids_);
  const std::int64_t wait_ms = wait_ms_of(call.command);
  call.until = std::max(queue_.now(), clock_) + Millis{wait_ms};
  if (!try_answer(call, wait_ms == 0)) waiting_.push_back(std::move(call));
  try_waiting();
  tell_watchers();
}

bool ReferenceBroker::try_answer(Call& call, bool last) {
  Answer reply = ask(call);
  if (!last && !is_whole(call.command, reply)) return false;
  call.done(std::move(reply));
  return true;
}

Answer ReferenceBroker::ask(const Call& call) {
  const auto& key = call.context.idempotency_key;
  if (!key) return queue_.apply(call.command, clock_);
  const std::string operation(operation_of(call.command).name);
  return queue_.apply_once(call.command, clock_, {call.context.caller, operation, *key}, call.said);
}

// The one that has waited longest is served first.
void ReferenceBroker::try_waiting() {
  std::vector<Call> still;
  for (Call& call : std::exchange(waiting_, {})) {
    if (!try_answer(call, queue_.now() >= call.until)) still.push_back(std::move(call));
  }
  waiting_ = std::move(still);
}

Subscription ReferenceBroker::watch(EventFilter filter, EventSink sink) {
  const std::lock_guard lock(watchers_mutex_);
  const std::uint64_t number = ++watcher_numbers_;
  watchers_[number] = {std::move(filter), std::move(sink)};
  return Subscription([this, number] {
    const std::lock_guard relock(watchers_mutex_);
    watchers_.erase(number);
  });
}

void ReferenceBroker::tell_watchers() {
  const std::vector<TaskEvent> events = queue_.take_events();
  const std::lock_guard lock(watchers_mutex_);
  for (const auto& [number, watcher] : watchers_) {
    EventBatch batch;
    for (const TaskEvent& event : events) {
      if (passes(watcher.filter, event)) batch.events.push_back(event);
    }
    if (!batch.events.empty()) watcher.sink(std::move(batch));
  }
}

}  // namespace retsu
