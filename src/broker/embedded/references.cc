#include "broker/embedded/references.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/cron.h"
#include "base/json.h"

namespace retsu::embedded {
namespace {

constexpr std::size_t kTold = 100;

}  // namespace

void References::complain(std::string problem) {
  if (problems_.size() < kTold) problems_.push_back(std::move(problem));
}

void References::see(const StoredMeta& meta) { meta_ = meta.row; }

void References::see(const StoredQueue& queue) { queues_.insert(queue.name); }

void References::see_value(const engine::TaskRow& task, const char* column, const Json& value) {
  if (value.empty() || is_json(value)) return;
  complain(fmt::format("table tasks, sequence {}, column {}: is not JSON", task.sequence, column));
}

void References::see(const engine::TaskRow& task) {
  const auto place = [&](std::string_view column) {
    return fmt::format("table tasks, sequence {}, column {}: ", task.sequence, column);
  };
  const Id id(task.id);
  tasks_.push_back({id, task.sequence});
  if (task.state == State::kStarted && task.run) {
    started_[id] = {task.sequence, task.run->fence, task.run->claim_id, false};
  } else if (task.state == State::kStarted) {
    complain(place("attempts") + "a task that is STARTED has none");
  }
  if (task.line->queue.get() == last_queue_ || queues_.contains(task.line->queue->name)) {
    last_queue_ = task.line->queue.get();
  } else {
    complain(fmt::format("{}there is no queue {}", place("queue"), task.line->queue->name.view()));
  }
  if (task.sequence > meta_.sequence) {
    complain(
        fmt::format("{}is above the last one given out, {}", place("sequence"), meta_.sequence));
  }
  if (task.priority < 1 || task.priority > kCritical) complain(place("priority") + "is not 1 to 6");
  if (care_ == Care::kEnough) return;
  see_value(task, "payload", task.payload);
  if (!task.run) return;
  see_value(task, "result", task.run->result);
  see_value(task, "progress", task.run->progress);
}

void References::sort_tasks() {
  if (std::exchange(sorted_, true)) return;
  std::ranges::sort(tasks_, {}, [](const Seen& seen) { return std::tie(seen.id, seen.sequence); });
  const auto same_id = [](const Seen& a, const Seen& b) { return a.id == b.id; };
  for (auto first = tasks_.begin();; ++first) {
    first = std::adjacent_find(first, tasks_.end(), same_id);
    if (first == tasks_.end()) return;
    complain(fmt::format("table tasks, sequence {}, column id: is that of sequence {} too",
                         std::next(first)->sequence, first->sequence));
  }
}

std::optional<engine::Sequence> References::find(std::string_view task) {
  sort_tasks();
  const Id id(task);
  const auto found = std::ranges::lower_bound(tasks_, id, {}, &Seen::id);
  if (found == tasks_.end() || found->id != id) return std::nullopt;
  return found->sequence;
}

void References::see(const engine::EdgeRow& edge) {
  const auto place =
      fmt::format("table dependencies, sequence {}, position {}: ", edge.sequence, edge.position);
  if (find(edge.dependent) != edge.sequence) {
    complain(fmt::format("{}there is no task {} of that sequence", place, edge.dependent.view()));
  }
  if (care_ == Care::kEnough) return;
  if (!edge.met && !edge.missing && !edge.gone && !find(edge.target)) {
    unmet_.emplace(edge.target,
                   fmt::format("{}there is no task {} to wait for", place, edge.target.view()));
  }
}

void References::see(const engine::ClaimRow& claim) { claims_.emplace(claim.number, claim.id); }

void References::see(const engine::MemberRow& member) {
  const auto place = fmt::format("table claim_tasks, fence {}: ", member.fence);
  const auto claim = claims_.find(member.claim);
  if (claim == claims_.end()) {
    complain(fmt::format("{}there is no claim {}", place, member.claim));
    return;
  }
  if (member.fence > meta_.fence) {
    complain(fmt::format("{}is above the last one given out, {}", place, meta_.fence));
  }
  if (member.hold != engine::Hold::kHeld) return;
  const auto task = started_.find(Id(member.task));
  if (task == started_.end() || task->second.fence != member.fence ||
      task->second.claim_id != claim->second) {
    complain(fmt::format("{}task {} is not running under it", place, member.task.view()));
  } else {
    task->second.held = true;
  }
}

void References::see(const engine::ScheduleRow& schedule) {
  if (schedule.spec.cron.empty()) return;
  if (!Cron::parse(schedule.spec.cron) || !TimeZone::find(schedule.spec.time_zone)) {
    complain(
        fmt::format("table schedules, name {}, column spec: names a time that this program "
                    "does not know",
                    schedule.name));
  }
}

void References::see(const engine::CascadeRow& cascade) { unmet_.erase(cascade.target); }

std::vector<std::string> References::problems() && {
  sort_tasks();
  for (auto& [target, problem] : unmet_) complain(std::move(problem));
  for (const auto& [id, task] : started_) {
    if (!task.held) {
      complain(
          fmt::format("table tasks, sequence {}, column claim_id: the task is STARTED, and no "
                      "claim holds it",
                      task.sequence));
    }
  }
  return std::move(problems_);
}

}  // namespace retsu::embedded
