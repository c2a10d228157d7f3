// Whose turn it is: places in a line, and places in the ring of users.

#include <algorithm>

#include "reference/reference.h"

namespace retsu {
namespace {

enum Band : std::int64_t { kFrontBand, kCriticalBand, kOtherBand };

bool is_among(const std::vector<std::string>* names, const std::string& name) {
  return !names || std::find(names->begin(), names->end(), name) != names->end();
}

}  // namespace

void ReferenceQueue::take_place(TaskRecord& task, bool front) {
  const std::int64_t queued_at = task.queued_at->time_since_epoch().count();
  const std::int64_t steps = task.pushed.priority.value - 1;
  const std::int64_t aging = queues_.at(task.queue()).policy.aging_ms.step_ms;
  if (front) {
    task.position = {kFrontBand, -batch_, front_places_++, task.sequence};
  } else if (task.pushed.priority.value == kCritical) {
    task.position = {kCriticalBand, queued_at, 0, task.sequence};
  } else {
    task.position = {kOtherBand, queued_at - steps * aging, 0, task.sequence};
  }
}

void ReferenceQueue::enqueue(TaskRecord& task, Event event, bool front) {
  task.retrying = false;
  task.queued_at = now_;
  move(task, event);
  take_place(task, front);
  refresh_line({task.queue(), task.user()});
}

UserSettings ReferenceQueue::settings_of(const LineName& name) const {
  UserSettings settings;
  for (const LineName& each : {LineName{"", name.second}, name}) {
    const auto found = settings_.find(each);
    if (found == settings_.end()) continue;
    const UserSettings& set = found->second;
    if (set.weight) settings.weight = set.weight;
    if (set.max_running) settings.max_running = set.max_running;
    if (set.max_waiting) settings.max_waiting = set.max_waiting;
    if (set.max_waiting_bytes) settings.max_waiting_bytes = set.max_waiting_bytes;
  }
  return settings;
}

// Lets the user into the ring, or out of it.
void ReferenceQueue::refresh_line(const LineName& name) {
  const auto line = lines_.find(name);
  if (line == lines_.end()) return;
  const UserSettings settings = settings_of(name);
  const bool capped =
      settings.max_running && permits_of(name.first, &name.second).all() >= *settings.max_running;
  if (capped || !best_of(name)) {
    line->second.place.reset();
    line->second.turns = 0;
  } else if (!line->second.place) {
    line->second.place = ++queues_.at(name.first).last_place;
  }
}

ReferenceQueue::TaskRecord* ReferenceQueue::best_of(const LineName& name) {
  TaskRecord* best = nullptr;
  for (auto& [sequence, task] : tasks_) {
    if (task.state != State::kQueued) continue;
    if (task.queue() != name.first || task.user() != name.second) continue;
    if (!best || task.position < best->position) best = &task;
  }
  return best;
}

// The task that goes on first of those that kept their permits through an await.
ReferenceQueue::TaskRecord* ReferenceQueue::best_kept(const std::string& queue,
                                                      const Names* users) {
  TaskRecord* best = nullptr;
  for (auto& [sequence, task] : tasks_) {
    if (task.state != State::kQueued || !task.keeps_permit) continue;
    if (task.queue() != queue || !is_among(users, task.user())) continue;
    if (!best || task.queued_at < best->queued_at) best = &task;
  }
  return best;
}

std::optional<ReferenceQueue::LineName> ReferenceQueue::next_in_ring(const std::string& queue,
                                                                     const Names* users) const {
  std::optional<LineName> next;
  for (const auto& [name, line] : lines_) {
    if (name.first != queue || !line.place || !is_among(users, name.second)) continue;
    if (!next || *line.place < *lines_.at(*next).place) next = name;
  }
  return next;
}

}  // namespace retsu
