// References between tasks: what the end of one means for the others.

#include <algorithm>

#include "reference/reference.h"

namespace retsu {

ReferenceQueue::Verdict ReferenceQueue::verdict_on(State ended, When when,
                                                   const NewTask& dependent) {
  if (ended == State::kFinished || when == When::kSettled) return Verdict::kMet;
  if (ended == State::kCanceled) {
    return dependent.on_dependency_cancel == OnDependencyCancel::kDrop ? Verdict::kDropped
                                                                       : Verdict::kCancels;
  }
  switch (dependent.on_dependency_failure) {
    case OnDependencyFailure::kRun:
      return Verdict::kMet;
    case OnDependencyFailure::kCancel:
      return Verdict::kCancels;
    case OnDependencyFailure::kWait:
      break;
  }
  return Verdict::kWaits;
}

ReferenceQueue::Edge ReferenceQueue::link(const Dependency& dependency) const {
  Edge edge{.id = dependency.id, .when = dependency.when};
  const TaskRecord* stored = find(dependency.id);
  if (stored) edge.target = stored->sequence;
  edge.missing = !stored && !tombstones_.contains(dependency.id);
  return edge;
}

// The task that it meant was stored once, and is not any more.
bool ReferenceQueue::is_gone(const Edge& edge) const {
  return !edge.missing && !tasks_.contains(edge.target);
}

// Dependencies that have ended already count as if they ended now.
std::optional<ReferenceQueue::Doom> ReferenceQueue::judge_edges(TaskRecord& task) {
  std::optional<Doom> doom;
  std::vector<Edge> judged;
  for (Edge edge : task.edges) {
    const auto stored = tasks_.find(edge.target);
    std::optional<State> ended;
    if (stored != tasks_.end() && is_ended(stored->second.state)) ended = stored->second.state;
    if (is_gone(edge) && tombstones_.contains(edge.id)) ended = tombstones_.at(edge.id).state;
    if (edge.met || !ended) {
      judged.push_back(edge);
      continue;
    }
    switch (verdict_on(*ended, edge.when, task.pushed)) {
      case Verdict::kMet:
        edge.met = true;
        edge.ended_as = *ended;
        judged.push_back(edge);
        break;
      case Verdict::kDropped:
        break;
      case Verdict::kCancels:
        if (!doom) doom = Doom{Event::kDependencyEnded, Reason::kDependency};
        break;
      case Verdict::kWaits:
        if (!doom && is_gone(edge)) {
          doom = Doom{Event::kDependencyRemoved, Reason::kDependencyFailed};
        }
        judged.push_back(edge);
        break;
    }
  }
  task.edges = std::move(judged);
  return doom;
}

void ReferenceQueue::dependency_ended(TaskRecord& task, std::int64_t target, State ended) {
  const auto edge = std::find_if(task.edges.begin(), task.edges.end(), [&](const Edge& each) {
    return each.target == target && !each.met;
  });
  if (edge == task.edges.end()) return;
  switch (verdict_on(ended, edge->when, task.pushed)) {
    case Verdict::kMet:
      edge->met = true;
      edge->ended_as = ended;
      break;
    case Verdict::kDropped:
      task.edges.erase(edge);
      break;
    case Verdict::kCancels:
      if (is_waiting(task.state)) {
        end(task, Event::kDependencyEnded, Reason::kDependency);
      } else {
        task.edges.erase(edge);
      }
      break;
    case Verdict::kWaits:
      break;
  }
  free_if_ready(task);
}

void ReferenceQueue::dependency_gone(const TaskRecord& gone) {
  for (auto& [other, task] : tasks_) {
    const auto dropped = std::erase_if(
        task.edges, [&](const Edge& edge) { return !edge.met && edge.target == gone.sequence; });
    if (dropped == 0) continue;
    if (is_waiting(task.state)) {
      task.error = "dependency " + gone.id() + " failed and is gone";
      end(task, Event::kDependencyRemoved, Reason::kDependencyFailed);
    } else {
      count(task.queue(), Counter::kSwept);
    }
  }
}

void ReferenceQueue::free_if_ready(TaskRecord& task) {
  if (task.state != State::kDeferred || task.is_blocked()) return;
  count(task.queue(), Counter::kFreed);
  const std::int64_t batch = std::exchange(batch_, ++batches_);
  enqueue(task, Event::kReady, task.goes_front);
  batch_ = batch;
}

// Tells the dependents of all that is gone and of all that has ended, the first first, in the order
// of their arrival.
void ReferenceQueue::spread_ends() {
  for (const TaskRecord& gone : std::exchange(gone_, {})) dependency_gone(gone);
  while (!ended_.empty()) {
    const std::int64_t sequence = ended_.front();
    ended_.pop_front();
    const State ended = tasks_.at(sequence).state;
    for (auto& [other, task] : tasks_) dependency_ended(task, sequence, ended);
  }
}

// A live task has yet to get its result.
bool ReferenceQueue::is_needed(const TaskRecord& task) const {
  for (const auto& [sequence, other] : tasks_) {
    if (!is_live(other.state)) continue;
    for (const Edge& edge : other.edges) {
      if (edge.met && edge.target == task.sequence) return true;
    }
  }
  return false;
}

}  // namespace retsu
