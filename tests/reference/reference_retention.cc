// How long what has ended is kept, and what is left of it.

#include <algorithm>

#include "reference/reference.h"

namespace retsu {
namespace {
constexpr Millis kTombstoneFor{72 * kHour};
}

std::optional<TimePoint> ReferenceQueue::kept_until(const TaskRecord& task) const {
  if (is_live(task.state)) return std::nullopt;
  const Retention& retention = queues_.at(task.queue()).policy.retention;
  const std::int64_t kept_ms = task.state == State::kFinished ? retention.finished_ms
                               : task.state == State::kFailed ? retention.failed_ms
                                                              : retention.canceled_ms;
  return *task.ended_at + Millis{kept_ms};
}

void ReferenceQueue::remove(std::int64_t sequence) {
  const TaskRecord gone = tasks_.at(sequence);
  tell(gone, gone.state, std::nullopt);
  count(gone.queue(), Counter::kRemoved);
  tasks_.erase(sequence);

  bool has_aliases = false;
  for (const auto& [alias, holder] : aliases_) has_aliases |= holder == gone.id();
  if (!gone.pushed.id_generated || has_aliases) {
    tombstones_[gone.id()] = {gone.state, *gone.ended_at + kTombstoneFor};
  }

  bool is_last_of_line = true;
  for (const auto& [other, task] : tasks_) {
    is_last_of_line &= task.queue() != gone.queue() || task.user() != gone.user();
  }
  if (is_last_of_line) lines_.erase({gone.queue(), gone.user()});
  gone_.push_back(gone);
}

// What a live task still needs no longer counts, and goes when the last such one has ended.
void ReferenceQueue::remove_or_park(std::int64_t sequence) {
  TaskRecord& task = tasks_.at(sequence);
  if (is_needed(task)) {
    task.overdue = true;
  } else {
    remove(sequence);
  }
}

// The oldest end above the limits of those whose number has just changed.
bool ReferenceQueue::remove_one_above_limits() {
  for (const auto& [queue, state] : touched_) {
    const auto found = queues_.find(queue);
    if (found == queues_.end()) continue;
    const Retention& retention = found->second.policy.retention;
    std::int64_t tasks = 0;
    std::int64_t bytes = 0;
    const TaskRecord* oldest = nullptr;
    for (const auto& [sequence, task] : tasks_) {
      if (task.queue() != queue || task.state != state || task.overdue) continue;
      ++tasks;
      bytes += task.bytes();
      if (oldest && *oldest->ended_at <= *task.ended_at) continue;
      oldest = &task;
    }
    if (oldest && (tasks > retention.max_tasks || bytes > retention.max_bytes)) {
      remove_or_park(oldest->sequence);
      return true;
    }
  }
  touched_.clear();
  for (const auto& [sequence, task] : tasks_) {
    if (!task.overdue || is_needed(task)) continue;
    remove(sequence);
    return true;
  }
  return false;
}

void ReferenceQueue::forget_tombstone(const std::string& id) {
  tombstones_.erase(id);
  std::erase_if(aliases_, [&](const auto& alias) { return alias.second == id; });
}

std::int64_t ReferenceQueue::remembered_ids() const {
  return std::ssize(tombstones_) + std::ssize(aliases_);
}

}  // namespace retsu
