#include <algorithm>

#include "base/check.h"
#include "engine/tables.h"

namespace retsu::engine {
namespace {

const Edges kNoEdges;

std::int64_t second_of(TimePoint time) { return time.time_since_epoch() / Millis(kSecond); }

std::int64_t kept_for_ms(const QueuePolicy& policy, int end) {
  const Retention& retention = policy.retention;
  return std::array{retention.finished_ms, retention.failed_ms,
                    retention.canceled_ms}[static_cast<std::size_t>(end)];
}

bool holds_unique_key(const TaskNode& task) {
  return !task.options().unique_key.empty() &&
         (is_live(task.row.state) || task.row.state == State::kFinished);
}

}  // namespace

TaskNode& Tables::add_task(TaskRow row) {
  TaskNode& task = insert(row);
  log<TaskRow>(std::nullopt, std::move(row));
  refresh_ring(task.line());
  return task;
}

void Tables::remove_task(TaskNode& task) {
  const boost::intrusive_ptr<Line> line = task.row.line;
  log<TaskRow>(erase(task), std::nullopt);
  refresh_ring(*line);
  // An empty line is forgotten; so is what was counted for it.
  if (line->stored == 0 && line->row != LineRow{}) edit(*line) = LineRow{};
}

void Tables::put(const std::optional<TaskRow>& from, const std::optional<TaskRow>& to) {
  if (!from) {
    insert(*to);
  } else if (to) {
    TaskNode& task = *find_task(from->id.empty() ? to->id : from->id);
    edit_indexed(task, [&](TaskState& row) { row = *to; });
  } else {
    erase(*find_task(from->id));
  }
}

TaskNode& Tables::insert(const TaskRow& row) {
  TaskNode* task = slab_.make();
  task->row = row;
  ids_.insert(task);
  index(*task, +1);
  return *task;
}

// What it was.
TaskRow Tables::erase(TaskNode& task) {
  RETSU_CHECK(edges(task).empty());
  index(task, -1);
  ids_.erase(&task);
  TaskRow was = std::move(task.row);
  slab_.drop(&task);
  return was;
}

void Tables::index(TaskNode& task, int by) {
  if (!task.row.payload.is_parked()) {
    payload_bytes_ += by * static_cast<std::int64_t>(task.row.payload.size());
  }
  Line& line = task.line();
  Queue& queue = *line.queue;
  const TaskRow& row = task.row;
  const auto state = static_cast<std::size_t>(row.state);
  line.stored += by;
  queue.tasks[state] += by;
  states_[state] += by;
  if (is_waiting(row.state)) {
    const std::int64_t bytes = by * static_cast<std::int64_t>(row.payload.size());
    line.waiting += by;
    line.waiting_bytes += bytes;
    queue.waiting_bytes += bytes;
    const TimePoint expires_at = task.options().expires_at;
    if (expires_at != kNever) {
      by > 0 ? void(expiries_.emplace(expires_at, &task))
             : void(expiries_.erase({expires_at, &task}));
    }
  }
  if (row.keeps_permit) {
    line.permits += by;
    queue.permits += by;
  }
  if (holds_unique_key(task)) {
    const std::pair key(static_cast<const Queue*>(&queue),
                        std::string_view(task.options().unique_key));
    by > 0 ? void(unique_.emplace(key, &task)) : void(unique_.erase(key));
  }
  index_order(task, by);
}

void Tables::park_payload(std::string_view id, Sequence sequence) {
  TaskNode* task = find_task(id);
  if (task == nullptr || task->row.sequence != sequence || task->row.payload.is_parked()) return;
  const std::size_t size = task->row.payload.size();
  payload_bytes_ -= static_cast<std::int64_t>(size);
  task->row.payload = Json::parked(size, sequence);
}

void Tables::index_order(TaskNode& task, int by) {
  Line& line = task.line();
  Queue& queue = *line.queue;
  const TaskRow& row = task.row;
  const auto place = [&](TaskOrder& order) { by > 0 ? order.add(task) : order.remove(task); };
  switch (row.state) {
    case State::kQueued: {
      place(line.ready);
      line.queued += by;
      const std::int64_t second = second_of(row.queued_at);
      if ((queue.queued_seconds[second] += by) == 0) queue.queued_seconds.erase(second);
      if (row.keeps_permit) {
        by > 0 ? void(queue.kept.insert(&task)) : void(queue.kept.erase(&task));
        by > 0 ? void(queue.kept_by_line.insert(&task)) : void(queue.kept_by_line.erase(&task));
      }
      break;
    }
    case State::kScheduled:
      place(timers_);
      break;
    case State::kStarted:
      if (task.run().timeout_at != kNever) place(timers_);
      break;
    case State::kDeferred:
      break;
    case State::kFinished:
    case State::kFailed:
    case State::kCanceled: {
      if (row.overdue) break;
      const int end = end_index(row.state);
      Retained& retained = queue.retained[static_cast<std::size_t>(end)];
      place(retained.order);
      retained.tasks += by;
      retained.bytes += by * task.bytes();
      refresh_retention(queue, end);
      break;
    }
  }
}

void Tables::refresh_retention(Queue& queue, int end) {
  Retained& retained = queue.retained[static_cast<std::size_t>(end)];
  TimePoint due = kNever;
  Sequence first = 0;
  if (!retained.order.empty()) {
    const TaskRow& row = retained.order.begin()->row;
    due = TimePoint(Millis(row.key + kept_for_ms(queue.policy(), end)));
    first = row.sequence;
  }
  if (due == retained.due && first == retained.first) return;
  const auto entry = [&] {
    return std::tuple(retained.due, retained.first, queue.name.view(), end);
  };
  if (retained.due != kNever) retention_due_.erase(entry());
  retained.due = due;
  retained.first = first;
  if (due != kNever) retention_due_.insert(entry());
}

TaskNode* Tables::unique_holder(const Queue& queue, std::string_view key) const {
  const auto found = unique_.find({&queue, key});
  return found == unique_.end() ? nullptr : found->second;
}

const Edges& Tables::edges(const TaskNode& dependent) const {
  const auto found = edges_.find(&dependent);
  return found == edges_.end() ? kNoEdges : found->second;
}

std::int64_t Tables::open_edges(const TaskNode& dependent) const {
  return std::ranges::count_if(edges(dependent), [](const EdgeRow& edge) { return !edge.met; });
}

const Dependents* Tables::dependents(std::string_view target) const {
  if (dependents_.empty()) return nullptr;
  const auto found =
      dependents_.find(target, std::hash<std::string_view>(),
                       [](std::string_view a, const Text& b) { return a == b.view(); });
  return found == dependents_.end() ? nullptr : &found->second;
}

void Tables::add_edge(EdgeRow row) {
  const TaskNode& dependent = *find_task(row.dependent);
  const Edges& all = edges(dependent);
  row.sequence = dependent.row.sequence;
  row.position = all.empty() ? 0 : all.back().position + 1;
  change<EdgeRow>(std::nullopt, std::move(row));
}

void Tables::change_edge(const EdgeRow& from, EdgeRow to) {
  if (from.target == to.target) {
    change<EdgeRow>(from, std::move(to));
  } else {
    change<EdgeRow>(from, std::nullopt);
    change<EdgeRow>(std::nullopt, std::move(to));
  }
}

const EdgeRow* Tables::edge(const TaskNode& dependent, std::string_view target) const {
  const Edges& all = edges(dependent);
  const auto found =
      std::ranges::find_if(all, [&](const EdgeRow& row) { return row.target.view() == target; });
  return found == all.end() ? nullptr : &*found;
}

void Tables::drop_edge(const EdgeRow& row) { change<EdgeRow>(row, std::nullopt); }

void Tables::put(const std::optional<EdgeRow>& from, const std::optional<EdgeRow>& to) {
  const EdgeRow& row = to ? *to : *from;
  TaskNode& dependent = *find_task(row.dependent);
  Edges& edges = edges_[&dependent];
  Dependents& others = dependents_[row.target];
  const bool live = is_live(dependent.row.state);
  const auto index = [&](const EdgeRow& edge, int by) {
    if (edge.gone) return;
    auto& side = edge.met ? others.met : others.open;
    by > 0 ? void(side.insert(&dependent)) : void(side.erase(&dependent));
    if (edge.met) {
      others.pins += live ? by : 0;
    } else {
      open_edges_ += by;
    }
  };
  if (from) index(*from, -1);
  if (to) index(*to, +1);

  const auto place = std::ranges::lower_bound(edges, row.position, {}, &EdgeRow::position);
  if (!to) {
    edges.erase(place);
  } else if (from) {
    *place = *to;
  } else {
    edges.insert(place, *to);
  }
  if (edges.empty()) edges_.erase(&dependent);
  if (others.empty()) dependents_.erase(row.target);
}

void Tables::index_pins(const TaskNode& task, int by) {
  for (const EdgeRow& edge : edges(task)) {
    if (edge.met && !edge.gone) dependents_.find(edge.target)->second.pins += by;
  }
}

}  // namespace retsu::engine
