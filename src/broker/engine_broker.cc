#include "broker/engine_broker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/wall_clock.h"
#include "broker/codec.h"
#include "broker/refusals.h"
#include "broker/waiting.h"
#include "engine/nodes.h"
#include "ingest/idempotency.h"
#include "ingest/prepare.h"
#include "ingest/validate.h"

namespace retsu {
namespace {

using Steady = std::chrono::steady_clock;

constexpr Millis kKeyAge{72 * kHour};
constexpr std::size_t kGroupBytes = std::size_t{32} << 20;  // about; one command may have more
constexpr std::size_t kRowBytes = 100;

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
  if (before && (before->state == State::kQueued || before->state == State::kStarted)) {
    event.took_ms = std::max(event.at - time_of(*before, now), Millis(0)).count();
  }
  return event;
}

}  // namespace

EngineBroker::Clock EngineBroker::system_clock() { return wall_clock; }

EngineBroker::EngineBroker(Limits limits, Clock clock, std::unique_ptr<Engine> engine,
                           std::unique_ptr<Keeper> keeper)
    : limits_(limits),
      clock_(std::move(clock)),
      engine_(std::move(engine)),
      keeper_(std::move(keeper)) {
  if (keeper_) committer_ = std::make_unique<Committer>(*keeper_, [this] { poke(); });
  owner_ = std::thread([this] { run(); });
}

EngineBroker::~EngineBroker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.ring();
  owner_.join();
}

void EngineBroker::submit(Command command, Context context, Done done) noexcept {
  Request request{std::move(command), std::move(context), std::move(done)};
  if (!uses_key(operation_of(request.command))) request.context.idempotency_key.reset();
  if (const auto& key = request.context.idempotency_key) {
    request.fingerprint = fingerprint(to_json(request.command), request.context.key_covers);
    request.valid = validate_key(*key);
  }
  if (request.valid) request.valid = validate(request.command, limits_);
  if (request.valid) request.command = prepare(std::move(request.command), now(), ids_);
  const std::lock_guard lock(mutex_);
  inbox_.push_back(std::move(request));
  wake_.ring();
}

Subscription EngineBroker::watch(EventFilter filter, EventSink sink) {
  const std::lock_guard lock(watchers_mutex_);
  const std::uint64_t number = ++last_watcher_;
  watchers_.emplace(number, Watcher{std::move(filter), std::move(sink)});
  watching_ = watchers_.size();
  return Subscription([this, number] {
    const std::lock_guard ending(watchers_mutex_);
    watchers_.erase(number);
    watching_ = watchers_.size();
  });
}

Capabilities EngineBroker::capabilities() const { return {keeper_ != nullptr, false, limits_}; }

void EngineBroker::set_clock(TimePoint time) {
  std::unique_lock lock(mutex_);
  manual_time_ = time;
  const std::uint64_t mine = ++asked_;
  wake_.ring();
  idle_.wait(lock, [&] { return done_ >= mine; });
}

TimePoint EngineBroker::now() const {
  if (clock_) return clock_();
  const std::lock_guard lock(mutex_);
  return manual_time_;
}

void EngineBroker::poke() {
  const std::lock_guard lock(mutex_);
  poked_ = true;
  wake_.ring();
}

void EngineBroker::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const Steady::time_point wake_at = wake_time();
    const auto ready = [&] {
      return stopping_ || !inbox_.empty() || asked_ != heard_ || poked_ || !showing_.empty();
    };
    if (wake_at == Steady::time_point::max()) {
      wake_.wait(lock, ready);
    } else {
      wake_.wait_until(lock, wake_at, ready);
    }
    poked_ = false;
    heard_ = asked_;
    std::vector<Request> requests = std::exchange(inbox_, {});
    std::ranges::copy(std::exchange(given_up_, {}), std::back_inserter(stopped_));
    for (auto& [number, found] : std::exchange(found_, {})) {
      auto searching = searching_.extract(number);
      if (searching.empty()) continue;  // given up
      searching.mapped().found = std::move(found);
      requests.push_back(std::move(searching.mapped()));
    }
    lock.unlock();
    work(std::move(requests));
    lock.lock();
    const bool busy = poked_ || in_flight_ || !arrived_.empty() || !deferred_.empty();
    if (busy || !searching_.empty() || !showing_.empty()) continue;
    if (done_ == heard_) continue;
    const std::uint64_t heard = heard_;
    lock.unlock();
    if (committer_) committer_->wait_until_told();
    lock.lock();
    done_ = heard;
    idle_.notify_all();
  }
  std::vector<Request> rest = std::exchange(inbox_, {});
  lock.unlock();
  if (in_flight_) {
    if (auto landed = land(committer_->wait())) keeper_->note(std::move(*landed));
  }
  std::ranges::move(rest, std::back_inserter(arrived_));
  refuse_all();
  // What is still to be kept, and without growth if it must be.
  for (int tries = 0; tries < 2 && keeper_ && engine_ && !group_.changes.empty(); ++tries) {
    in_flight_ = next_group();
    land_here();
    refuse_all();
  }
  for (Served& served : group_.answers->served) {
    if (served.reply && !group_.changes.empty()) {
      served.reply = Result<Reply>(tl::unexpected(shut_down()));
    }
  }
  deliver(*next_group().answers);
}

// Those who would wait for ever, since the owner stops.
void EngineBroker::refuse_all() {
  refuse_waiters(shut_down());
  for (Request& request : std::exchange(arrived_, {})) refuse(request, shut_down());
  for (Request& request : std::exchange(deferred_, {})) refuse(request, shut_down());
  for (Showing& showing : std::exchange(showing_, {})) refuse(showing.request, shut_down());
  for (auto& [number, request] : std::exchange(searching_, {})) refuse(request, shut_down());
}

void EngineBroker::work(std::vector<Request> requests) {
  land_if_done();
  std::ranges::move(requests, std::back_inserter(arrived_));
  if (Steady::now() < rests_until_) {
    for (Request& request : std::exchange(arrived_, {})) refuse(request, storage_full());
    for (Showing& showing : std::exchange(showing_, {})) refuse(showing.request, storage_full());
    return deliver(*next_group().answers);
  }
  while (!arrived_.empty() && group_.bytes < kGroupBytes) {
    Request request = std::move(arrived_.front());
    arrived_.pop_front();
    serve(std::move(request));
    land_if_done();
  }
  serve_deferred();
  give_up_searches();
  show_some();
  complete_group();
  // A group that could not be kept leaves answers behind.
  while (!in_flight_) {
    launch();
    if (group_.answers->served.empty()) break;
  }
  if (!in_flight_ && Steady::now() >= look_again_) tidy();
}

// What can only be done while nothing is being committed. A commit that ends is not followed by the
// next one at once while there is something of the kind.
void EngineBroker::serve_deferred() {
  if (in_flight_) return;
  if (Steady::now() >= look_again_ && (!engine_ || full_ || !keeper_->works())) tidy();
  for (Request& request : std::exchange(deferred_, {})) serve(std::move(request));
}

void EngineBroker::serve(Request request) {
  if (auto error = given_up(request.context)) return refuse(request, *error);
  if (!engine_) return refuse(request, broken_);
  if (!request.valid) return refuse(request, std::move(request.valid.error()));
  apply(std::move(request));
}

void EngineBroker::apply(Request request) {
  if (auto earlier = earlier_answer(request)) return answer(request, *std::move(earlier));
  if (full_ && adds(request.command)) return refuse(request, storage_full());
  if (request.found) return show({std::move(request)});
  if (search(request)) return;
  Result<Reply> reply = engine_->apply(request.command, now());
  if (has_lost_payload()) return refuse(request, payload_lost());
  take_changes();
  const std::int64_t wait_ms = wait_ms_of(request.command);
  if (wait_ms > 0 && is_worth_waiting(reply)) {
    request.until = std::min(request.until, engine_->now() + Millis(wait_ms));
    if (request.until > engine_->now()) return wait(std::move(request), *reply);
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
                     engine_->now() + std::clamp(request.context.key_age, Millis(0), kKeyAge)});
  take_changes();
}

// Then the command has not happened.
bool EngineBroker::has_lost_payload() {
  if (!keeper_ || !keeper_->lost_payload()) return false;
  engine_->undo(engine_->take_changes());
  look_again_ = Steady::now();
  return true;
}

// What has become due, and what the group has made ready for those who wait.
void EngineBroker::complete_group() {
  if (!engine_) return;
  catch_up();
  serve_waiters();
}

// One call goes only so far with cascades and housekeeping.
void EngineBroker::catch_up() {
  const TimePoint time = now();
  do {
    engine_->advance(time);
    take_changes();
  } while (engine_->next_event() <= engine_->now());
}

void EngineBroker::answer(Request& request, Answer reply) {
  group_.answers->served.push_back({std::move(request), std::move(reply)});
}

void EngineBroker::refuse(Request& request, Error error) {
  answer(request, Result<Reply>(tl::unexpected(std::move(error))));
}

void EngineBroker::take_changes() {
  engine::Changes taken = engine_->take_changes();
  for (const engine::AnyChange& change : taken) take_note(change);
  if (!keeper_) return;
  if (group_.changes.empty()) {
    group_.changes = std::move(taken);
  } else {
    group_.changes.insert(group_.changes.end(), std::move_iterator(taken.begin()),
                          std::move_iterator(taken.end()));
  }
}

// What a change means to those who wait and to those who watch.
void EngineBroker::take_note(const engine::AnyChange& change) {
  if (const auto* of_task =
          std::get_if<std::unique_ptr<engine::Change<engine::TaskRow>>>(&change)) {
    const auto& [before, after] = **of_task;
    group_.bytes += kRowBytes + (before || !after ? 0 : after->payload.size());
    if (after && after->run) group_.bytes += after->run->result.size();
    if (before && after && before->state == after->state) return;
    ++last_event_;
    if (watching_ > 0) {
      group_.answers->events.push_back(event_of(before, after, engine_->now()));
      group_.answers->events.back().number = last_event_;
    }
    if (wait_list_.empty()) return;
    if (after && after->state == State::kQueued) touched_.insert(after->line->queue.get());
    if (!after || is_ended(after->state)) {
      std::ranges::copy(wait_list_.of_task((after ? after : before)->id.view()),
                        std::back_inserter(ended_));
    }
  } else if (const auto* of_queue = std::get_if<std::unique_ptr<engine::QueueChange>>(&change)) {
    if (!wait_list_.empty()) touched_.insert((*of_queue)->queue.get());
  } else if (const auto* of_meta = std::get_if<std::unique_ptr<engine::MetaChange>>(&change)) {
    all_touched_ |= (*of_meta)->before.draining && !(*of_meta)->after.draining;
  } else if (std::holds_alternative<std::unique_ptr<engine::Change<engine::SettingsRow>>>(change)) {
    all_touched_ = true;
  }
}

// When the owner has to look again by itself.
Steady::time_point EngineBroker::wake_time() const {
  if (in_flight_) return Steady::time_point::max();  // its end wakes
  if (Steady::now() < rests_until_) return rests_until_;
  if (!arrived_.empty()) return Steady::time_point::min();
  Steady::time_point wake = look_again_;
  TimePoint event = engine_ ? engine_->next_event() : kNever;
  for (const auto& [number, request] : searching_) wake = std::min(wake, request.context.deadline);
  wake = std::min(wake, wait_list_.next_deadline());
  event = std::min(event, wait_list_.next_time());
  if (!openings_.empty()) event = std::min(event, openings_.begin()->first);
  // A clock that stands still brings nothing by itself.
  if (!clock_ || event == kNever) return wake;
  const Millis ahead = std::clamp(event - clock_(), Millis(0), Millis(kDay));
  return std::min(wake, Steady::now() + ahead);
}

}  // namespace retsu
