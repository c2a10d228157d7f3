#include "engine/lifecycle.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/prefetch.h"
#include "engine/dependencies.h"
#include "engine/times.h"
#include "model/retry.h"

namespace retsu::engine {
namespace {

void remember_run(const Tables& tables, Run& run, const RunEnd& end) {
  auto history = run.history ? std::make_shared<std::vector<Attempt>>(*run.history)
                             : std::make_shared<std::vector<Attempt>>();
  if (std::ssize(*history) >= tables.limits.history) history->erase(history->begin());
  history->push_back({run.attempts, std::string(end.outcome),
                      run.started_at == kNever ? std::nullopt : std::optional(run.started_at),
                      tables.now(), run.worker.str(), end.error});
  run.history = std::move(history);
  if (!end.error.empty()) run.error = end.error;
  if (!end.costs_attempt) --run.attempts;
}

void check_move(const TaskNode& task, Event event, State to) {
  RETSU_CHECK(next_state(task.row.state, event) == to);
}

// What every end brings with it, after the row has changed.
void after_end(Tables& tables, TaskNode& task) {
  const int end = end_index(task.row.state);
  tables.unsettled.ended.emplace(std::pair(task.queue().name.view(), end), &task.queue());
  for (const EdgeRow& edge : tables.edges(task)) {
    if (edge.met) tables.unsettled.unpinned.push_back(edge.target);
  }
  begin_cascade(tables, task, false);
}

void end_row(const Tables& tables, TaskRow& row, State state) {
  row.state = state;
  row.band = Band::kRest;
  row.key = ms(tables.now());
  row.keeps_permit = false;
  row.to_front = false;
}

// Tasks that ended long ago are in no cache any more. What those need that go next is brought there
// step by step, because each step says where the next one is: the task, its bytes, its id's place.
void expect_removal(const Tables& tables, const Retained& retained, TaskOrder::iterator next) {
  if (next == retained.order.end()) return;
  tables.tasks().expect(next->row.id);
  if (++next == retained.order.end()) return;
  next->row.id.prefetch();
  next->row.payload.prefetch();
  prefetch(next->row.run.get());
  if (++next != retained.order.end()) prefetch(&*next);
}

// One task by number or bytes, or one that was kept only for a task that has ended now; false:
// there is none.
bool remove_one(Tables& tables) {
  auto& [ended, unpinned] = tables.unsettled;
  for (; !ended.empty(); ended.erase(ended.begin())) {
    const auto& [name, queue] = *ended.begin();
    const Retention& keep = queue->policy().retention;
    Retained& retained = queue->retained[static_cast<std::size_t>(name.second)];
    if (retained.tasks <= keep.max_tasks && retained.bytes <= keep.max_bytes) continue;
    const auto oldest = retained.order.begin();
    expect_removal(tables, retained, std::next(oldest));
    remove_or_park(tables, *oldest);
    return true;
  }
  TaskNode* oldest = nullptr;
  std::erase_if(unpinned, [&](const Text& id) {
    TaskNode* task = tables.find_task(id);
    if (task == nullptr || !task->row.overdue || is_needed(tables, *task)) return true;
    if (oldest == nullptr || OlderSequence()(task, oldest)) oldest = task;
    return false;
  });
  if (oldest != nullptr) remove(tables, *oldest);
  return oldest != nullptr;
}

void close_if_done(Tables& tables, ClaimNode& claim) {
  if (claim.open > 0 || claim.row.closed_at != kNever) return;
  ClaimRow row = claim.row;
  row.closed_at = tables.now();
  tables.set_claim(std::move(row));
}

}  // namespace

TaskNode* resolve(const Tables& tables, std::string_view id) {
  if (TaskNode* task = tables.find_task(id)) return task;
  const Text* target = tables.alias(id);
  return target == nullptr ? nullptr : tables.find_task(*target);
}

Result<TaskNode*> require(const Tables& tables, std::string_view id) {
  if (TaskNode* task = resolve(tables, id)) return task;
  return refuse(ErrorCode::kNotFound, fmt::format("there is no task {}", id));
}

Status allow(const TaskNode& task, Event event, std::string_view verb) {
  if (next_state(task.row.state, event)) return {};
  return refuse(ErrorCode::kInvalidTransition,
                fmt::format("cannot {} task {}: it is {}", verb, task.row.id.view(),
                            name_of(task.row.state)));
}

Run& edit_run(TaskRow& row) {
  boost::intrusive_ptr<Run> copy(row.run ? new Run(*row.run) : new Run());
  Run& run = *copy;
  row.run = std::move(copy);
  return run;
}

std::int64_t max_attempts(const TaskNode& task) {
  return task.options().max_attempts.value_or(retry_policy(task).max_attempts);
}

const Retry& retry_policy(const TaskNode& task) {
  return task.options().retry ? *task.options().retry : task.queue().policy().retry;
}

void place_in_line(const Tables& tables, TaskRow& row, FrontKey front) {
  row.state = State::kQueued;
  row.queued_at = tables.now();
  row.to_front = false;
  if (front) {
    row.band = Band::kFront;
    row.key = *front;
  } else if (row.priority == kCritical) {
    row.band = Band::kCritical;
    row.key = ms(row.queued_at);
  } else {
    row.band = Band::kRest;
    const std::int64_t lift = (row.priority - 1) * row.line->queue->policy().aging_ms.step_ms;
    row.key = ms(row.queued_at) - lift;
  }
}

void enqueue(Tables& tables, TaskNode& task, Event event, FrontKey front) {
  check_move(task, event, State::kQueued);
  if (!front && task.row.to_front) front = tables.next_front();
  tables.change_task(task, [&](TaskRow& row) { place_in_line(tables, row, front); });
}

void give_back(Tables& tables, TaskNode& task, Event event, const RunEnd& end, std::int64_t front) {
  check_move(task, event, State::kQueued);
  tables.change_task(task, [&](TaskRow& row) {
    remember_run(tables, edit_run(row), end);
    place_in_line(tables, row, front);
  });
}

void retry_later(Tables& tables, TaskNode& task, const RunEnd& end, Millis floor) {
  check_move(task, Event::kRetry, State::kScheduled);
  tables.change_task(task, [&](TaskRow& row) {
    Run& run = edit_run(row);
    run.run_at =
        tables.now() + std::max(floor, retry_delay(retry_policy(task), row.id, run.attempts));
    remember_run(tables, run, end);
    row.state = State::kScheduled;
    row.key = ms(run.run_at);
    row.to_front = true;
  });
  tables.count(task.queue(), Counter::kRetried);
}

void suspend(Tables& tables, TaskNode& task) {
  check_move(task, Event::kAwait, State::kDeferred);
  tables.change_task(task, [&](TaskRow& row) {
    remember_run(tables, edit_run(row), {"await", {}, false});
    row.state = State::kDeferred;
    row.to_front = true;
  });
  tables.count(task.queue(), Counter::kAwaited);
}

void finish(Tables& tables, TaskNode& task, Json result) {
  check_move(task, Event::kFinish, State::kFinished);
  tables.change_task(task, [&](TaskRow& row) {
    Run& run = edit_run(row);
    run.result = std::move(result);
    run.error = {};
    run.ended_at = tables.now();
    end_row(tables, row, State::kFinished);
  });
  tables.count(task.queue(), Counter::kFinished);
  if (task.run().attempts > 1) tables.count(task.queue(), Counter::kRetrySucceeded);
  after_end(tables, task);
}

void fail(Tables& tables, TaskNode& task, Event event, Reason reason, Text error,
          std::optional<RunEnd> end) {
  check_move(task, event, State::kFailed);
  tables.change_task(task, [&](TaskRow& row) {
    Run& run = edit_run(row);
    if (end) remember_run(tables, run, *end);
    if (!error.empty()) run.error = std::move(error);
    run.reason = reason;
    run.retryable = reason != Reason::kRejected;
    run.ended_at = tables.now();
    end_row(tables, row, State::kFailed);
  });
  tables.count(task.queue(), Counter::kFailed);
  after_end(tables, task);
}

void cancel(Tables& tables, TaskNode& task, Event event, Reason reason) {
  check_move(task, event, State::kCanceled);
  const bool was_running = task.row.state == State::kStarted;
  tables.change_task(task, [&](TaskRow& row) {
    Run& run = edit_run(row);
    if (was_running) remember_run(tables, run, {"cancel", {}, true});
    run.reason = reason;
    run.ended_at = tables.now();
    end_row(tables, row, State::kCanceled);
  });
  if (was_running) set_hold(tables, task, Hold::kCanceled);
  tables.count(task.queue(), Counter::kCanceled);
  after_end(tables, task);
  drop_edges(tables, task);
}

Status redrive(Tables& tables, TaskNode& task) {
  if (auto allowed = allow(task, Event::kRedrive, "retry"); !allowed) return allowed;
  const std::string& key = task.options().unique_key;
  if (!key.empty()) {
    if (const TaskNode* holder = tables.unique_holder(task.queue(), key)) {
      return refuse(ErrorCode::kConflict,
                    fmt::format("cannot retry task {}: its unique key is held by task {}",
                                task.row.id.view(), holder->row.id.view()));
    }
  }
  if (const CascadeRow* old = tables.cascade_of(task.row.id)) tables.drop_cascade(old->number);
  const bool blocked = tables.open_edges(task) > 0;
  tables.change_task(task, [&](TaskRow& row) {
    Run& run = edit_run(row);
    run.started_at = kNever;
    const Text worker = std::exchange(run.worker, {});
    remember_run(tables, run, {"redrive", {}, true});
    run.worker = worker;
    run.attempts = 0;
    run.expired_leases = 0;
    run.run_at = kNever;
    run.ended_at = kNever;
    run.reason = Reason::kNone;
    run.retryable = true;
    row.overdue = false;
    if (task.options().expires_at <= tables.now()) {
      boost::intrusive_ptr<Options> options(new Options(*row.options));
      options->expires_at = kNever;
      row.options = std::move(options);
    }
    if (blocked) {
      row.state = State::kDeferred;
    } else {
      place_in_line(tables, row, {});
    }
  });
  tables.count(task.queue(), Counter::kRedriven);
  return {};
}

void bring_to_front(Tables& tables, TaskNode& task, FrontKey front) {
  if (task.row.state != State::kQueued) {
    tables.change_task(task, [](TaskRow& row) { row.to_front = true; });
    return;
  }
  const std::int64_t key = front ? *front : tables.next_front();
  tables.change_task(task, [&](TaskRow& row) {
    row.band = Band::kFront;
    row.key = key;
  });
}

void remove(Tables& tables, TaskNode& task) {
  RETSU_CHECK(is_ended(task.row.state));
  const Text id = task.row.id;
  tables.count(task.queue(), Counter::kRemoved);
  if (task.row.state == State::kFailed) begin_cascade(tables, task, true);
  if (const Dependents* others = tables.dependents(id)) {
    // The id may come back with another task, which is none of theirs.
    for (TaskNode* dependent : std::vector<TaskNode*>(others->met.begin(), others->met.end())) {
      const EdgeRow edge = *tables.edge(*dependent, id);
      EdgeRow without = edge;
      without.gone = true;
      tables.change_edge(edge, std::move(without));
    }
  }
  drop_edges(tables, task);
  const std::vector<Text> aliases = tables.aliases_of(id);
  const TimePoint forget_at = task.run().ended_at + kTombstoneAge;
  const bool remember = forget_at > tables.now() && (!task.row.id_generated || !aliases.empty());
  const State state = task.row.state;
  const Sequence sequence = task.row.sequence;
  tables.remove_task(task);
  if (remember) {
    tables.set_tombstone({sequence, id, state, forget_at});
  } else {
    for (const Text& alias : aliases) tables.drop_alias(alias);
  }
}

bool is_needed(const Tables& tables, const TaskNode& task) {
  const Dependents* others = tables.dependents(task.row.id);
  if (others == nullptr) return false;
  return others->pins > 0 || (task.row.state != State::kFailed && !others->open.empty());
}

void remove_or_park(Tables& tables, TaskNode& task) {
  if (is_needed(tables, task)) {
    tables.change_task(task, [](TaskRow& row) { row.overdue = true; });
  } else {
    remove(tables, task);
  }
}

void set_hold(Tables& tables, const TaskNode& task, Hold hold) {
  ClaimNode* claim = tables.find_claim(task.run().claim_id);
  RETSU_CHECK(claim != nullptr);
  const MemberRow* member = claim->member(task.run().fence);
  RETSU_CHECK(member != nullptr);
  set_hold(tables, *claim, *member, hold);
}

void set_hold(Tables& tables, ClaimNode& claim, MemberRow member, Hold hold) {
  member.hold = hold;
  if (hold > Hold::kTimedOut) tables.edit(*member.line->queue).last_end = tables.now();
  tables.set_member(claim, std::move(member));
  close_if_done(tables, claim);
}

bool settle_down(Tables& tables) {
  std::int64_t steps = tables.limits.steps;
  do {
    work_off_cascades(tables, steps);
  } while (remove_one(tables));
  while (
      std::ssize(tables.closed_claims()) > tables.limits.closed_claims ||
      (!tables.closed_claims().empty() && tables.settled_tasks() > tables.limits.settled_tasks)) {
    tables.remove_claim(*tables.claims().find(tables.closed_claims().begin()->second)->second);
  }
  return tables.cascades().empty();
}

}  // namespace retsu::engine
