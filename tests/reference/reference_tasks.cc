// One task: looking at it, canceling, redriving, moving up, ending.

#include <algorithm>

#include "base/check.h"
#include "reference/reference.h"

namespace retsu {

std::string ReferenceQueue::resolve(const std::string& id) const {
  const auto alias = aliases_.find(id);
  return alias == aliases_.end() ? id : alias->second;
}

const ReferenceQueue::TaskRecord* ReferenceQueue::find(const std::string& id) const {
  const std::string wanted = resolve(id);
  for (const auto& [sequence, task] : tasks_) {
    if (task.id() == wanted) return &task;
  }
  return nullptr;
}

ReferenceQueue::TaskRecord* ReferenceQueue::find(const std::string& id) {
  return const_cast<TaskRecord*>(std::as_const(*this).find(id));
}

bool ReferenceQueue::is_known(const std::string& id) const {
  return find(id) || tombstones_.contains(resolve(id));
}

const Retry& ReferenceQueue::retry_of(const TaskRecord& task) const {
  return task.pushed.retry ? *task.pushed.retry : queues_.at(task.queue()).policy.retry;
}

std::int64_t ReferenceQueue::max_attempts_of(const TaskRecord& task) const {
  return task.pushed.max_attempts.value_or(retry_of(task).max_attempts);
}

Task ReferenceQueue::view(const TaskRecord& task) const {
  Task shown;
  shown.id = task.id();
  shown.state = task.state;
  shown.retrying = task.retrying;
  shown.queue = task.queue();
  shown.user = task.user();
  shown.type = task.pushed.type;
  shown.priority = task.pushed.priority;
  shown.payload = task.pushed.payload;
  shown.attempts = task.attempts;
  shown.max_attempts = max_attempts_of(task);
  shown.created_at = task.created_at;
  shown.run_at = task.run_at;
  shown.queued_at = task.queued_at;
  shown.started_at = task.started_at;
  shown.ended_at = task.ended_at;
  for (const Edge& edge : task.edges) {
    shown.depends_on.push_back({edge.id, edge.when});
    if (!edge.met) shown.blocked_by.push_back(edge.id);
  }
  shown.on_dependency_failure = task.pushed.on_dependency_failure;
  shown.on_dependency_cancel = task.pushed.on_dependency_cancel;
  shown.unique_key = task.pushed.unique_key;
  shown.placement = task.pushed.placement;
  shown.timeout_ms = task.pushed.timeout_ms;
  shown.retry = task.pushed.retry;
  shown.expires_at = task.pushed.expires_at;
  shown.tags = task.pushed.tags;
  shown.trace = task.pushed.trace;
  shown.claim_id = task.claim_id;
  shown.worker = task.worker;
  if (task.fence > 0) shown.fence = task.fence;
  if (task.state == State::kStarted) shown.lease_until = claims_.at(task.claim_id).lease_until;
  shown.error = task.error;
  shown.reason = task.reason;
  shown.retryable = task.retryable;
  shown.result = task.result;
  shown.progress = task.progress;
  shown.history = task.history;
  return shown;
}

void ReferenceQueue::tell(const TaskRecord& task, std::optional<State> from,
                          std::optional<State> to) {
  std::optional<std::int64_t> took_ms;
  if (from == State::kQueued) took_ms = (now_ - *task.queued_at).count();
  if (from == State::kStarted) took_ms = (now_ - *task.started_at).count();
  events_.push_back({++event_numbers_, task.id(), task.queue(), task.user(), from, to, now_,
                     task.attempts, task.reason, took_ms});
}

void ReferenceQueue::move(TaskRecord& task, Event event) {
  const std::optional<State> to = next_state(task.state, event);
  RETSU_CHECK(to);
  ++taken_[{task.state, event}];
  tell(task, task.state, to);
  task.state = *to;
}

void ReferenceQueue::count(const std::string& queue, Counter counter, std::int64_t by) {
  counts_[counter] += by;
  const auto found = queues_.find(queue);
  if (found != queues_.end()) found->second.counts[counter] += by;
}

void ReferenceQueue::remember_attempt(TaskRecord& task, std::string_view outcome, Text error) {
  task.history.push_back(
      {task.attempts, std::string(outcome), task.started_at, now_, task.worker, std::move(error)});
  while (std::ssize(task.history) > limits_.history) task.history.erase(task.history.begin());
}

void ReferenceQueue::end(TaskRecord& task, Event event, Reason reason) {
  task.reason = reason;
  task.retrying = false;
  task.ended_at = now_;
  task.keeps_permit = false;
  move(task, event);
  if (task.state == State::kFailed) task.retryable = reason != Reason::kRejected;

  touched_.insert({task.queue(), task.state});
  for (const Edge& edge : task.edges) {
    const auto dependency = tasks_.find(edge.target);
    if (dependency == tasks_.end() || is_live(dependency->second.state)) continue;
    touched_.insert({dependency->second.queue(), dependency->second.state});
  }
  if (task.state == State::kCanceled) task.edges.clear();

  count(task.queue(), task.state == State::kFinished ? Counter::kFinished
                      : task.state == State::kFailed ? Counter::kFailed
                                                     : Counter::kCanceled);
  ended_.push_back(task.sequence);
  refresh_line({task.queue(), task.user()});
}

void ReferenceQueue::cancel(TaskRecord& task, Event event, Reason reason) {
  if (task.state == State::kStarted) {
    remember_attempt(task, "cancel");
    leave_claim(task, Given::kCanceled);
  }
  end(task, event, reason);
}

Status ReferenceQueue::redrive(TaskRecord& task) {
  if (task.state != State::kFailed && task.state != State::kCanceled) {
    return refuse(ErrorCode::kInvalidTransition, "only FAILED and CANCELED tasks can be retried");
  }
  if (!task.pushed.unique_key.empty() && holder_of(task.queue(), task.pushed.unique_key)) {
    return refuse(ErrorCode::kConflict, "its unique_key is held by another task");
  }
  count(task.queue(), Counter::kRedriven);
  task.history.push_back({task.attempts, "redrive", {}, now_, "", {}});
  while (std::ssize(task.history) > limits_.history) task.history.erase(task.history.begin());
  task.attempts = 0;
  task.leases_lost = 0;
  task.reason = Reason::kNone;
  task.retryable.reset();
  task.run_at.reset();
  task.started_at.reset();
  task.ended_at.reset();
  task.goes_front = false;
  task.overdue = false;
  if (task.pushed.expires_at && *task.pushed.expires_at <= now_) task.pushed.expires_at.reset();

  const auto swept =
      std::erase_if(task.edges, [&](const Edge& edge) { return !edge.met && is_gone(edge); });
  if (swept > 0) count(task.queue(), Counter::kSwept, static_cast<std::int64_t>(swept));
  const std::optional<Doom> doom = judge_edges(task);
  if (!task.is_blocked()) {
    enqueue(task, Event::kRedrive, false);
  } else {
    move(task, Event::kRedriveBlocked);
    if (doom) end(task, doom->event, doom->reason);
  }
  return {};
}

void ReferenceQueue::move_to_front(TaskRecord& task) {
  task.goes_front = true;
  if (task.state == State::kQueued) take_place(task, true);
}

Result<Task> ReferenceQueue::run(const GetTask& get) {
  const TaskRecord* task = find(get.id);
  if (!task) return refuse(ErrorCode::kNotFound, "no such task");
  return view(*task);
}

Result<Task> ReferenceQueue::run(const CancelTask& request) {
  TaskRecord* task = find(request.id);
  if (!task) return refuse(ErrorCode::kNotFound, "no such task");
  if (is_ended(task->state)) return refuse(ErrorCode::kInvalidTransition, "it has ended");
  cancel(*task, Event::kCancel, Reason::kCanceled);
  return view(*task);
}

Result<Task> ReferenceQueue::run(const RetryTask& request) {
  TaskRecord* task = find(request.id);
  if (!task) return refuse(ErrorCode::kNotFound, "no such task");
  const Status done = redrive(*task);
  if (!done) return tl::unexpected(done.error());
  return view(*task);
}

Result<Task> ReferenceQueue::run(const FrontTask& request) {
  TaskRecord* task = find(request.id);
  if (!task) return refuse(ErrorCode::kNotFound, "no such task");
  if (!is_waiting(task->state)) return refuse(ErrorCode::kInvalidTransition, "it does not wait");
  move_to_front(*task);
  return view(*task);
}

Result<Removed> ReferenceQueue::run(const RemoveTask& request) {
  const TaskRecord* task = find(request.id);
  if (!task) return refuse(ErrorCode::kNotFound, "no such task");
  if (is_live(task->state)) return refuse(ErrorCode::kInvalidTransition, "it has not ended");
  if (is_needed(*task)) return refuse(ErrorCode::kConflict, "a live task needs its result");
  remove(task->sequence);
  return Removed{1};
}

}  // namespace retsu
