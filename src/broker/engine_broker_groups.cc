#include <algorithm>
#include <utility>

#include "broker/engine_broker.h"
#include "broker/refusals.h"

// How groups are kept and answered, and what happens when that fails.
namespace retsu {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kSmallGroup = 1'000;  // changes: others are prepared by the committer
constexpr auto kTidyAfter = std::chrono::milliseconds(200);
constexpr auto kLookForRoomEvery = std::chrono::milliseconds(1'000);

}  // namespace

// Has the group kept, or answers at once if there is nothing to keep.
void EngineBroker::launch() {
  if (!keeper_ || !engine_ || group_.changes.empty()) return deliver(*next_group().answers);
  if (only_time_has_passed()) {
    // No reason to write: it goes with the next change. So looking at the queue costs no sync.
    using OfMeta = std::unique_ptr<engine::MetaChange>;
    Group looked = next_group();
    std::get<OfMeta>(looked.changes.front())->after =
        std::get<OfMeta>(looked.changes.back())->after;
    group_.changes.push_back(std::move(looked.changes.front()));
    return deliver(*looked.answers);
  }
  // One caller alone, with somebody who waited for what it did, would only wait for two threads
  // instead of one.
  const bool alone = group_.answers->served.size() <= 2 && arrived_.empty();
  if (!alone) return take_off();
  in_flight_ = next_group();
  land_here();
}

// Has the group committed beside this thread.
void EngineBroker::take_off() {
  in_flight_ = next_group();
  if (in_flight_->changes.size() <= kSmallGroup) keeper_->prepare(in_flight_->changes);
  committer_->start(in_flight_->changes,
                    [this, answers = in_flight_->answers] { deliver(*answers); });
}

// Commits the group in flight on this thread.
void EngineBroker::land_here() {
  committer_->wait_until_told();  // of the one before
  const auto answers = in_flight_->answers;
  auto landed = land(keeper_->commit(in_flight_->changes));
  if (!landed) return;
  deliver(*answers);
  keeper_->note(std::move(*landed));
}

EngineBroker::Group EngineBroker::next_group() {
  Group made = std::exchange(group_, {});
  group_.events_before = last_event_;
  return made;
}

// What the group in flight has changed, if it was kept: to be noted.
std::optional<engine::Changes> EngineBroker::land(Keeper::Kept kept) {
  Group group = *std::exchange(in_flight_, std::nullopt);
  if (kept == Keeper::Kept::kFull) {
    do_without_growth(std::move(group));
    return std::nullopt;
  }
  if (kept == Keeper::Kept::kUnknown) {
    lose_track(std::move(group));
    return std::nullopt;
  }
  keeper_->kept(*engine_);
  // Under load it folds as it goes; the rest waits for a quiet moment.
  if (!keeper_->works()) {
    look_again_ = Steady::now();
  } else if (!full_ && !keeper_->is_awaited()) {
    look_again_ = Steady::now() + kTidyAfter;
  }
  return std::move(group.changes);
}

// When a commit is over, what was made meanwhile goes at once, so that the disk need not wait for
// notes.
void EngineBroker::land_if_done() {
  if (!in_flight_) return;
  const auto kept = committer_->result();
  if (!kept) return;
  auto landed = land(*kept);
  if (!landed) return;
  const bool has_time = deferred_.empty() && Steady::now() < look_again_;
  if (has_time && !group_.changes.empty() && !only_time_has_passed()) {
    complete_group();
    take_off();
  }
  keeper_->note(std::move(*landed));
}

bool EngineBroker::only_time_has_passed() const {
  return std::ranges::all_of(group_.changes, [](const engine::AnyChange& change) {
    const auto* meta = std::get_if<std::unique_ptr<engine::MetaChange>>(&change);
    if (meta == nullptr) return false;
    engine::MetaRow before = (*meta)->before;
    before.now = (*meta)->after.now;
    return before == (*meta)->after;
  });
}

// There was no room for a group. What adds nothing is done once more: finished work makes room.
void EngineBroker::do_without_growth(Group failed) {
  Group later = next_group();
  engine_->undo(std::move(later.changes));
  engine_->undo(std::move(failed.changes));
  last_event_ = group_.events_before = failed.events_before;
  touched_.clear();  // queues that are no more, maybe
  all_touched_ = true;
  show_again();
  look_again_ = Steady::now() + kLookForRoomEvery;
  std::vector<Served> refused = std::move(failed.answers->served);
  std::ranges::move(later.answers->served, std::back_inserter(refused));
  if (!std::exchange(full_, true)) return serve_again(std::move(refused));
  // Not even that fits.
  rests_until_ = look_again_;
  for (Served& served : refused) {
    if (served.reply) served.reply = Result<Reply>(tl::unexpected(storage_full()));
    answer(served.request, std::move(served.reply));
  }
}

// Whether the group was kept is not known: nobody may be told that it was, or that it was not.
void EngineBroker::lose_track(Group failed) {
  for (Served& served : failed.answers->served) {
    served.reply = Result<Reply>(tl::unexpected(outcome_unknown()));
  }
  failed.answers->events.clear();
  deliver(*failed.answers);
  tell_of_gap();
  reopen();
}

void EngineBroker::serve_again(std::vector<Served> served) {
  for (Served& each : served) {
    if (!each.reply) {
      answer(each.request, std::move(each.reply));
    } else if (!engine_) {
      refuse(each.request, broken_);
    } else {
      apply(std::move(each.request));
    }
  }
}

// A new engine from what was kept. What is being made goes with the old one, and is done again.
void EngineBroker::reopen() {
  Group unkept = next_group();
  show_again();
  auto fresh = std::make_unique<Engine>(limits_);
  touched_.clear();
  unkept.changes.clear();
  engine_.reset();
  if (auto opened = keeper_->reopen(*fresh); opened) {
    engine_ = std::move(fresh);
    all_touched_ = true;
    full_ = false;
    look_again_ = Steady::now();
    poke();  // what was due is to happen again
  } else {
    broken_ = std::move(opened.error());
    look_again_ = Steady::now() + kLookForRoomEvery;
    refuse_waiters(broken_);
  }
  serve_again(std::move(unkept.answers->served));
}

// What the store has to do besides keeping, when there is time for it.
void EngineBroker::tidy() {
  look_again_ = Steady::time_point::max();
  if (!engine_) return reopen();
  if (full_ && keeper_->has_room()) full_ = false;
  // On a full disk only what somebody waits for: there may be room for that.
  const bool rests = full_ && !keeper_->is_awaited();
  const auto again = rests ? kLookForRoomEvery : keeper_->tidy(*engine_);
  if (!keeper_->works()) return reopen();
  if (again != Keeper::kNoWork) look_again_ = Steady::now() + again;
}

void EngineBroker::deliver(Answers& answers) {
  if (!answers.events.empty()) {
    const std::lock_guard lock(watchers_mutex_);
    for (const auto& [number, watcher] : watchers_) {
      EventBatch batch;
      std::ranges::copy_if(answers.events, std::back_inserter(batch.events),
                           [&](const TaskEvent& event) { return passes(watcher.filter, event); });
      if (!batch.events.empty()) watcher.sink(std::move(batch));
    }
  }
  for (Served& served : answers.served) served.request.done(std::move(served.reply));
}

// Some events happened, or not, and nobody will tell of them.
void EngineBroker::tell_of_gap() {
  const std::lock_guard lock(watchers_mutex_);
  for (const auto& [number, watcher] : watchers_) watcher.sink({{}, 1});
}

}  // namespace retsu
