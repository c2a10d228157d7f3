// Pushing, and awaiting what was pushed.

#include <algorithm>

#include "reference/batch.h"
#include "reference/reference.h"

namespace retsu {

Result<PushReply> ReferenceQueue::run(const Push& push) {
  if (draining_) return refuse(ErrorCode::kDraining, "the queue takes nothing: it is draining");
  std::map<std::size_t, Error> refused;
  while (true) {
    const Batch batch = plan(push.tasks, refused);
    std::size_t index = 0;
    auto error = first_error(batch, Limited::kYes, index);
    if (error && !push.partial) return tl::unexpected(std::move(*error));
    if (error) {
      refused[index] = std::move(*error);
      continue;
    }
    PushReply reply{carry_out(batch)};
    for (const auto& [i, why] : refused) {
      reply.tasks[i] = {push.tasks[i].id, State::kQueued, false, why};
    }
    return reply;
  }
}

std::vector<Pushed> ReferenceQueue::carry_out(const Batch& batch) {
  std::vector<Pushed> pushed;
  for (const Plan& plan : batch.plans) {
    Pushed& answer = pushed.emplace_back();
    if (plan.kind == Plan::Kind::kRefused) continue;
    if (plan.kind == Plan::Kind::kNew) insert(plan.task, plan.depends_on);
    if (plan.kind == Plan::Kind::kAbsorbed) absorb(plan.task, *find(plan.stands_for));
    if (plan.kind == Plan::Kind::kStands) {
      const TaskRecord* stored = find(plan.stands_for);
      if (stored) count(stored->queue(), Counter::kAbsorbed);
    }
    const TaskRecord* stored = find(plan.stands_for);
    const State state = stored ? stored->state : tombstones_.at(plan.stands_for).state;
    answer = {plan.stands_for, state, plan.kind == Plan::Kind::kNew, std::nullopt};
  }
  return pushed;
}

// For tasks that must not be refused by limits, because the work was accepted already.
Result<Pushed> ReferenceQueue::push_unlimited(NewTask task) {
  const Batch batch = plan({std::move(task)}, {});
  std::size_t index = 0;
  if (auto error = first_error(batch, Limited::kNo, index))
    return tl::unexpected(std::move(*error));
  return carry_out(batch).front();
}

void ReferenceQueue::insert(const NewTask& pushed, const std::vector<Dependency>& depends_on) {
  queue_made(pushed.queue);
  lines_[{pushed.queue, pushed.user}];
  TaskRecord& task = tasks_[++sequences_];
  task.sequence = sequences_;
  task.pushed = pushed;
  task.created_at = now_;
  if (pushed.run_at && *pushed.run_at > now_) task.run_at = pushed.run_at;
  task.goes_front = pushed.placement == Placement::kFront;
  for (const Dependency& dependency : depends_on) task.edges.push_back(link(dependency));

  for (auto& [sequence, other] : tasks_) {
    for (Edge& edge : other.edges) {
      if (!edge.missing || edge.id != task.id()) continue;
      edge.missing = false;
      edge.target = task.sequence;
    }
  }

  const std::optional<Doom> doom = judge_edges(task);
  task.state = task.run_at                 ? State::kScheduled
               : doom || task.is_blocked() ? State::kDeferred
                                           : State::kQueued;
  count(task.queue(), Counter::kPushed);
  if (task.state == State::kQueued) {
    task.queued_at = now_;
    take_place(task, task.goes_front);
  }
  tell(task, std::nullopt, task.state);
  refresh_line({task.queue(), task.user()});
  if (!doom) return;
  if (doom->reason == Reason::kDependencyFailed) task.error = "a dependency failed and is gone";
  end(task, doom->event, doom->reason);
  std::erase_if(task.edges, [&](const Edge& edge) { return !edge.met && is_gone(edge); });
}

void ReferenceQueue::absorb(const NewTask& pushed, TaskRecord& holder) {
  count(holder.queue(), Counter::kAbsorbed);
  if (!pushed.id_generated) aliases_[pushed.id] = holder.id();
  if (pushed.placement == Placement::kFront && is_waiting(holder.state)) move_to_front(holder);

  for (auto& [sequence, task] : tasks_) {
    const auto waits = std::find_if(task.edges.begin(), task.edges.end(), [&](const Edge& edge) {
      return edge.missing && edge.id == pushed.id;
    });
    if (waits == task.edges.end()) continue;
    const Edge edge = link({holder.id(), waits->when});
    const auto same = std::find_if(task.edges.begin(), task.edges.end(), [&](const Edge& other) {
      return other.target == holder.sequence;
    });
    if (same == task.edges.end()) {
      *waits = edge;
    } else {
      if (edge.when == When::kFinished) same->when = When::kFinished;
      task.edges.erase(waits);
    }
  }
  if (is_ended(holder.state)) ended_.push_back(holder.sequence);
}

// A running task pushes children and suspends until all of them have ended.
Status ReferenceQueue::await(TaskRecord& task, const SettleOne& result) {
  if (result.children.empty()) return refuse(ErrorCode::kInvalid, "await needs children");
  const bool keeps = queues_.at(task.queue()).policy.await_keeps_permit;
  Batch batch = plan(result.children, {});
  batch.parent = task.id();
  std::size_t index = 0;
  if (auto error = first_error(batch, Limited::kNo, index))
    return tl::unexpected(std::move(*error));

  std::vector<Dependency> awaited;
  for (const Plan& plan : batch.plans) {
    const TaskRecord* stored = find(plan.stands_for);
    std::string queue = stored ? stored->queue() : "";
    for (const Plan& other : batch.plans) {
      if (other.kind == Plan::Kind::kNew && other.task.id == plan.stands_for) {
        queue = other.task.queue;
      }
    }
    if (keeps && !tombstones_.contains(plan.stands_for) && queue == task.queue()) {
      return refuse(ErrorCode::kConflict, "it keeps its permit, which the child would need");
    }
    const Dependency child{plan.stands_for, When::kSettled};
    if (std::find(awaited.begin(), awaited.end(), child) == awaited.end()) awaited.push_back(child);
  }
  std::size_t known = 0;
  for (const Edge& edge : task.edges) {
    for (const Dependency& child : awaited) known += edge.id == child.id;
  }
  if (task.edges.size() + awaited.size() - known > static_cast<std::size_t>(limits_.dependencies)) {
    return refuse(ErrorCode::kTooLarge, "too many dependencies and children");
  }

  const std::int64_t outer = std::exchange(batch_, ++batches_);  // a push of its own
  carry_out(batch);
  batch_ = outer;
  remember_attempt(task, "await", result.error);
  --task.attempts;
  task.keeps_permit = keeps;
  count(task.queue(), Counter::kAwaited);
  leave_claim(task, Given::kSettled, result.outcome);
  for (const Dependency& child : awaited) {
    const auto same = std::find_if(task.edges.begin(), task.edges.end(),
                                   [&](const Edge& edge) { return edge.id == child.id; });
    if (same == task.edges.end()) {
      task.edges.push_back(link(child));
    } else {
      *same = link(child);
    }
  }
  task.goes_front = true;
  move(task, Event::kAwait);
  judge_edges(task);
  refresh_line({task.queue(), task.user()});
  free_if_ready(task);
  return {};
}

}  // namespace retsu
