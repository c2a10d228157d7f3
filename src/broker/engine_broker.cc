#include "broker/engine_broker.h"

#include <algorithm>
#include <utility>

#include "broker/codec.h"
#include "engine/nodes.h"
#include "ingest/idempotency.h"
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

Error storage_full() {
  return {ErrorCode::kStorageFull,
          "the store's disk is full: make room, it goes on by itself",
          {},
          Millis(kSecond)};
}
Error outcome_unknown() {
  return {ErrorCode::kOutcomeUnknown,
          "the store failed while this was being kept: it may have been done or not; ask again"};
}

Error key_mismatch() {
  return {ErrorCode::kIdempotencyMismatch,
          "this idempotency key was used for something else: take a new one"};
}
Error too_many_keys() {
  return {ErrorCode::kOverloaded,
          "too many idempotency keys are remembered: ask without one, or wait",
          {},
          Millis(kMinute)};
}

constexpr Millis kKeyAge{72 * kHour};
constexpr auto kTidyAfter = std::chrono::milliseconds(200);
constexpr auto kLookForRoomEvery = std::chrono::milliseconds(1'000);

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

// Makes the store larger, and can be put off without harm to what is under way.
bool adds(const Command& command) {
  return std::visit(
      []<class Op>(const Op&) {
        return std::is_same_v<Op, Push> || std::is_same_v<Op, PutXcom> ||
               std::is_same_v<Op, PutSchedule> || std::is_same_v<Op, RunSchedule> ||
               std::is_same_v<Op, PutQueue> || std::is_same_v<Op, PutUser>;
      },
      command);
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

}  // namespace

EngineBroker::Clock EngineBroker::system_clock() {
  return [] { return std::chrono::floor<Millis>(std::chrono::system_clock::now()); };
}

EngineBroker::EngineBroker(Limits limits, Clock clock, std::unique_ptr<Engine> engine,
                           std::unique_ptr<Keeper> keeper)
    : limits_(limits),
      clock_(std::move(clock)),
      engine_(std::move(engine)),
      keeper_(std::move(keeper)),
      owner_([this] { run(); }) {}

EngineBroker::~EngineBroker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  owner_.join();
}

void EngineBroker::submit(Command command, Context context, Done done) noexcept {
  Request request{std::move(command), std::move(context), std::move(done)};
  if (!uses_key(operation_of(request.command))) request.context.idempotency_key.reset();
  if (request.context.idempotency_key) request.fingerprint = fingerprint(to_json(request.command));
  const std::lock_guard lock(mutex_);
  inbox_.push_back(std::move(request));
  wake_.notify_one();
}

Subscription EngineBroker::watch(EventFilter filter, EventSink sink) {
  const std::lock_guard lock(watchers_mutex_);
  const std::uint64_t number = ++last_watcher_;
  watchers_.emplace(number, Watcher{std::move(filter), std::move(sink)});
  return Subscription([this, number] {
    const std::lock_guard ending(watchers_mutex_);
    watchers_.erase(number);
  });
}

Capabilities EngineBroker::capabilities() const { return {keeper_ != nullptr, false, limits_}; }

void EngineBroker::set_clock(TimePoint time) {
  std::unique_lock lock(mutex_);
  manual_time_ = time;
  const std::uint64_t mine = ++asked_;
  wake_.notify_one();
  idle_.wait(lock, [&] { return done_ >= mine; });
}

TimePoint EngineBroker::now() const {
  if (clock_) return clock_();
  const std::lock_guard lock(mutex_);
  return manual_time_;
}

void EngineBroker::run() {
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
  for (Waiter& waiter : waiters_) refuse(waiter.request, shut_down());
  waiters_.clear();
  for (Request& request : rest) refuse(request, shut_down());
  if (keeper_ && engine_ && !changes_.empty()) (void)keeper_->keep(changes_);  // the time
  deliver();
}

void EngineBroker::work(std::vector<Request> requests) {
  if (Steady::now() >= look_again_) tidy();
  for (Request& request : requests) serve(std::move(request));
  if (engine_) {
    catch_up();
    serve_waiters();
    keep();
  }
  deliver();
}

void EngineBroker::serve(Request request) {
  if (auto error = given_up(request.context)) return refuse(request, *error);
  if (!engine_) return refuse(request, broken_);
  if (auto valid = validate(request.command, limits_); !valid) {
    return refuse(request, std::move(valid.error()));
  }
  if (const auto& key = request.context.idempotency_key) {
    if (auto valid = validate_key(*key); !valid) {
      return refuse(request, std::move(valid.error()));
    }
  }
  request.command = prepare(std::move(request.command), now(), ids_);
  apply(std::move(request));
}

void EngineBroker::apply(Request request) {
  if (auto earlier = earlier_answer(request)) return answer(request, *std::move(earlier));
  if (full_ && adds(request.command)) return refuse(request, storage_full());
  Result<Reply> reply = engine_->apply(request.command, now());
  take_changes();
  const std::int64_t wait_ms = patience(request.command);
  if (wait_ms > 0 && is_worth_waiting(reply)) {
    request.until = std::min(request.until, engine_->now() + Millis(wait_ms));
    if (request.until > engine_->now()) return wait(std::move(request), reply);
  }
  if (reply && request.context.idempotency_key) remember(request, *reply);
  answer(request, std::move(reply));
}

std::optional<Answer> EngineBroker::earlier_answer(const Request& request) {
  if (!request.context.idempotency_key) return std::nullopt;
  engine_->advance(now());
  take_changes();
  const std::string_view operation = operation_of(request.command).name;
  const engine::KeyRow* row =
      engine_->answer_to(request.context.caller, operation, *request.context.idempotency_key);
  if (row == nullptr) {
    if (engine_->can_remember()) return std::nullopt;
    return Result<Reply>(tl::unexpected(too_many_keys()));
  }
  if (row->fingerprint != request.fingerprint) return Result<Reply>(tl::unexpected(key_mismatch()));
  return Answer(reply_from_json(operation, row->reply.view()), true);
}

// In the same group as what the command did.
void EngineBroker::remember(const Request& request, const Reply& reply) {
  engine_->remember({0, request.context.caller, std::string(operation_of(request.command).name),
                     *request.context.idempotency_key, request.fingerprint, Json(to_json(reply)),
                     engine_->now() + kKeyAge});
  take_changes();
}

// One call goes only so far with cascades and housekeeping.
void EngineBroker::catch_up() {
  const TimePoint time = now();
  do {
    engine_->advance(time);
    take_changes();
  } while (engine_->next_event() <= engine_->now());
}

void EngineBroker::wait(Request request, const Result<Reply>& reply) {
  Waiter& waiter = waiters_.emplace_back();
  waiter.request = std::move(request);
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

void EngineBroker::serve_waiters() {
  for (bool served = true; served;) {
    served = false;
    std::set<std::string> open;  // queues that have something to give
    for (const std::string& queue : std::exchange(touched_, {})) {
      if (engine_->claimable(queue)) open.insert(queue);
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

bool EngineBroker::serve_waiter(Waiter& waiter, std::set<std::string>& open) {
  Request& request = waiter.request;
  if (auto error = given_up(request.context)) {
    refuse(request, *error);
    return true;
  }
  const bool over = engine_->now() >= waiter.request.until;
  bool worth_trying = over || all_touched_ || waiter.retry_at <= engine_->now();
  if (const auto* get = std::get_if<GetTask>(&request.command)) {
    worth_trying = over || engine_->has_ended(get->id);
  } else if (!worth_trying) {
    worth_trying = std::ranges::any_of(std::get<Claim>(request.command).queues,
                                       [&](const auto& queue) { return open.contains(queue); });
  }
  if (!worth_trying) return false;
  Result<Reply> reply = engine_->apply(request.command, engine_->now());
  take_changes();
  std::erase_if(open, [&](const std::string& queue) { return !engine_->claimable(queue); });
  if (!over && is_worth_waiting(reply)) {
    if (const auto* claimed = std::get_if<ClaimReply>(&*reply)) {
      waiter.retry_at = claimed->next_at.value_or(kNever);
    }
    return false;
  }
  answer(request, std::move(reply));
  return true;
}

void EngineBroker::answer(Request& request, Answer reply) {
  served_.push_back({std::move(request), std::move(reply)});
}

void EngineBroker::refuse(Request& request, Error error) {
  answer(request, Result<Reply>(tl::unexpected(std::move(error))));
}

void EngineBroker::take_changes() {
  engine::Changes taken = engine_->take_changes();
  for (const engine::AnyChange& change : taken) {
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
      events_.push_back(event_of(before, after, engine_->now()));
      events_.back().number = ++last_event_;
    }
  }
  if (keeper_) std::ranges::move(taken, std::back_inserter(changes_));
}

void EngineBroker::keep() {
  if (!keeper_ || changes_.empty()) return;
  if (only_time_has_passed()) {
    // No reason to write: it goes with the next change. So looking at the queue costs no sync.
    using OfMeta = std::unique_ptr<engine::MetaChange>;
    std::get<OfMeta>(changes_.front())->after = std::get<OfMeta>(changes_.back())->after;
    changes_.resize(1);
    return;
  }
  Keeper::Kept kept = keeper_->keep(changes_);
  if (kept == Keeper::Kept::kFull) kept = keep_without_growth();
  if (kept == Keeper::Kept::kUnknown) return lose_track();
  changes_.clear();
  // Under load it folds as it goes; the rest waits for a quiet moment.
  if (!full_) look_again_ = Steady::now() + kTidyAfter;
}

bool EngineBroker::only_time_has_passed() const {
  return std::ranges::all_of(changes_, [](const engine::AnyChange& change) {
    const auto* meta = std::get_if<std::unique_ptr<engine::MetaChange>>(&change);
    if (meta == nullptr) return false;
    engine::MetaRow before = (*meta)->before;
    before.now = (*meta)->after.now;
    return before == (*meta)->after;
  });
}

// What adds nothing is done once more: finished work makes room.
Keeper::Kept EngineBroker::keep_without_growth() {
  full_ = true;
  look_again_ = Steady::now() + kLookForRoomEvery;
  undo_group();
  for (Served& served : std::exchange(served_, {})) {
    if (!served.reply) {
      answer(served.request, std::move(served.reply));
    } else {
      apply(std::move(served.request));
    }
  }
  catch_up();
  if (only_time_has_passed()) return Keeper::Kept::kYes;
  const Keeper::Kept kept = keeper_->keep(changes_);
  if (kept != Keeper::Kept::kFull) return kept;
  undo_group();
  for (Served& served : served_) served.reply = Result<Reply>(tl::unexpected(storage_full()));
  return Keeper::Kept::kYes;
}

void EngineBroker::undo_group() {
  engine_->undo(std::exchange(changes_, {}));
  last_event_ -= events_.size();
  events_.clear();
}

// Whether the group was kept is not known: nobody may be told that it was, or that it was not.
void EngineBroker::lose_track() {
  for (Served& served : served_) served.reply = Result<Reply>(tl::unexpected(outcome_unknown()));
  events_.clear();
  reopen();
}

void EngineBroker::reopen() {
  auto fresh = std::make_unique<Engine>(limits_);
  changes_.clear();
  engine_.reset();
  if (auto opened = keeper_->reopen(*fresh); opened) {
    engine_ = std::move(fresh);
    all_touched_ = true;
    full_ = false;
    look_again_ = Steady::now();
  } else {
    broken_ = std::move(opened.error());
    look_again_ = Steady::now() + kLookForRoomEvery;
    for (Waiter& waiter : waiters_) refuse(waiter.request, broken_);
    waiters_.clear();
  }
}

// What the store has to do besides keeping, when there is time for it.
void EngineBroker::tidy() {
  look_again_ = Steady::time_point::max();
  if (!engine_) return reopen();
  if (full_ && keeper_->has_room()) full_ = false;
  const auto again = full_ ? kLookForRoomEvery : keeper_->tidy();
  if (!keeper_->works()) return reopen();
  if (again != Keeper::kNoWork) look_again_ = Steady::now() + again;
}

void EngineBroker::deliver() {
  if (const auto events = std::exchange(events_, {}); !events.empty()) {
    const std::lock_guard lock(watchers_mutex_);
    for (const auto& [number, watcher] : watchers_) {
      EventBatch batch;
      std::ranges::copy_if(events, std::back_inserter(batch.events),
                           [&](const TaskEvent& event) { return passes(watcher.filter, event); });
      if (!batch.events.empty()) watcher.sink(std::move(batch));
    }
  }
  for (Served& served : std::exchange(served_, {})) served.request.done(std::move(served.reply));
}

// When the owner has to look again by itself.
Steady::time_point EngineBroker::wake_time() const {
  Steady::time_point wake = look_again_;
  TimePoint event = engine_ ? engine_->next_event() : kNever;
  for (const Waiter& waiter : waiters_) {
    wake = std::min(wake, waiter.request.context.deadline);
    event = std::min({event, waiter.request.until, waiter.retry_at});
  }
  // A clock that stands still brings nothing by itself.
  if (!clock_ || event == kNever) return wake;
  const Millis ahead = std::clamp(event - clock_(), Millis(0), Millis(kDay));
  return std::min(wake, Steady::now() + ahead);
}

}  // namespace retsu
