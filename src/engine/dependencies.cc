#include "engine/dependencies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "engine/lifecycle.h"

namespace retsu::engine {
namespace {

// The time from a dependency's end to the queue is watched: a cascade may take several calls.
void free_dependent(Tables& tables, TaskNode& task, TimePoint since) {
  enqueue(tables, task, Event::kReady);
  tables.count(task.queue(), Counter::kFreed);
  tables.count(task.queue(), Counter::kFreedAfterMs, (tables.now() - since).count());
}

void meet(Tables& tables, const EdgeRow& edge, State state) {
  EdgeRow met = edge;
  met.met = state;
  tables.change_edge(edge, std::move(met));
}

void tell(Tables& tables, TaskNode& task, const CascadeRow& cascade) {
  const EdgeRow edge = *tables.edge(task, cascade.target);
  const bool waits = task.row.state == State::kScheduled || task.row.state == State::kDeferred;
  switch (effect_of(edge.when, task.options(), cascade.state, cascade.removed)) {
    case Effect::kOpen:
      return;
    case Effect::kMet:
      meet(tables, edge, cascade.state);
      break;
    case Effect::kDrop:
      tables.drop_edge(edge);
      break;
    case Effect::kCancel:
      if (waits) return cancel(tables, task, Event::kDependencyEnded, Reason::kDependency);
      tables.drop_edge(edge);
      break;
    case Effect::kFail:
      tables.drop_edge(edge);
      if (waits) {
        return fail(tables, task, Event::kDependencyRemoved, Reason::kDependencyFailed,
                    fmt::format("dependency {} failed and is gone", cascade.target.view()));
      }
      tables.count(task.queue(), Counter::kSwept);
      break;
  }
  if (task.row.state == State::kDeferred && tables.open_edges(task) == 0) {
    free_dependent(tables, task, cascade.ended_at);
  }
}

}  // namespace

Effect effect_of(When when, const Options& dependent, State ended, bool gone) {
  if (is_live(ended)) return Effect::kOpen;
  if (ended == State::kFinished || when == When::kSettled) return Effect::kMet;
  if (ended == State::kCanceled) {
    return dependent.on_dependency_cancel == OnDependencyCancel::kCancel ? Effect::kCancel
                                                                         : Effect::kDrop;
  }
  switch (dependent.on_dependency_failure) {
    case OnDependencyFailure::kWait:
      return gone ? Effect::kFail : Effect::kOpen;
    case OnDependencyFailure::kCancel:
      return Effect::kCancel;
    case OnDependencyFailure::kRun:
      return Effect::kMet;
  }
  return Effect::kOpen;
}

std::optional<std::vector<Text>> find_way(const Tables& tables, const std::vector<Text>& from,
                                          std::string_view to) {
  std::unordered_map<std::string_view, const Text*>
      came_from;  // each id seen, and who waits for it
  std::vector<const Text*> stack;
  for (const Text& start : from) {
    if (came_from.emplace(start.view(), nullptr).second) stack.push_back(&start);
  }
  while (!stack.empty()) {
    const Text* id = stack.back();
    stack.pop_back();
    if (id->view() == to) {
      std::vector<Text> way;
      for (const Text* at = id; at != nullptr; at = came_from[at->view()]) way.push_back(*at);
      std::ranges::reverse(way);
      return way;
    }
    const TaskNode* task = tables.find_task(*id);
    if (task == nullptr) continue;
    for (const EdgeRow& edge : tables.edges(*task)) {
      if (edge.met) continue;
      if (came_from.emplace(edge.target.view(), &task->row.id).second)
        stack.push_back(&edge.target);
    }
  }
  return std::nullopt;
}

Error cycle_error(std::string_view first, const std::vector<Text>& way) {
  std::vector<std::string> ids = {std::string(first)};
  for (const Text& id : way) ids.push_back(id.str());
  // Legal ids need no escaping.
  return {ErrorCode::kDependencyCycle,
          fmt::format("tasks would wait for each other: {}", fmt::join(ids, " → ")),
          fmt::format(R"({{"cycle":["{}"]}})", fmt::join(ids, R"(",")"))};
}

void begin_cascade(Tables& tables, const TaskNode& task, bool removed) {
  const Dependents* others = tables.dependents(task.row.id);
  if (others == nullptr || others->open.empty()) return;
  if (const CascadeRow* old = tables.cascade_of(task.row.id)) tables.drop_cascade(old->number);
  tables.set_cascade(
      {++tables.edit_meta().cascade, task.row.id, task.row.state, removed, tables.now(), 0});
}

bool work_off_cascades(Tables& tables, std::int64_t& steps) {
  while (!tables.cascades().empty()) {
    CascadeRow cascade = tables.cascades().begin()->second;
    for (;;) {
      const Dependents* others = tables.dependents(cascade.target);
      if (others == nullptr) break;
      const auto next = others->open.upper_bound(cascade.told);
      if (next == others->open.end()) break;
      if (steps == 0) {
        tables.set_cascade(std::move(cascade));
        return false;
      }
      --steps;
      TaskNode& task = **next;
      cascade.told = task.row.sequence;
      tell(tables, task, cascade);
    }
    tables.drop_cascade(cascade.number);
    tables.unsettled.unpinned.push_back(cascade.target);
  }
  return true;
}

void drop_edges(Tables& tables, const TaskNode& task) {
  const Edges all = tables.edges(task);
  for (const EdgeRow& edge : all) tables.drop_edge(edge);
}

std::map<std::string, Input> inputs_of(const Tables& tables, const TaskNode& task) {
  std::map<std::string, Input> inputs;
  for (const EdgeRow& edge : tables.edges(task)) {
    if (!edge.met) continue;
    Input input{*edge.met, {}};
    // One that failed may have been redriven since: what it came to then is not what was met.
    if (edge.met == State::kFinished && !edge.gone) {
      input.result = tables.find_task(edge.target)->run().result;
    }
    inputs.emplace(edge.target.str(), std::move(input));
  }
  return inputs;
}

}  // namespace retsu::engine
