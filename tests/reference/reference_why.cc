// Why a task does not run: every obstacle at once.

#include <algorithm>

#include "reference/reference.h"

namespace retsu {
namespace {
constexpr Millis kRecently{kMinute};
}

Result<WhyReply> ReferenceQueue::run(const Why& request) {
  const TaskRecord* task = find(request.id);
  if (!task) return refuse(ErrorCode::kNotFound, "no such task");
  WhyReply reply{task->state, {}};
  if (!is_waiting(task->state)) return reply;
  if (task->is_blocked()) {
    reply.causes.push_back({Cause::kDependency, view(*task).blocked_by.front(), std::nullopt});
  }
  if (task->state == State::kScheduled) {
    reply.causes.push_back({Cause::kSchedule, "", task->run_at});
  }
  if (task->state == State::kQueued) explain_queued(*task, reply.causes);
  return reply;
}

void ReferenceQueue::explain_queued(const TaskRecord& task, std::vector<WhyCause>& causes) {
  const QueueRecord& queue = queues_.at(task.queue());
  const QueuePolicy& policy = queue.policy;
  const UserSettings settings = settings_of({task.queue(), task.user()});
  const Permits permits = permits_of(task.queue());
  const auto add = [&](Cause cause, std::optional<TimePoint> until = std::nullopt) {
    causes.push_back({cause, "", until});
  };

  if (policy.paused) add(Cause::kPaused);
  if (draining_) add(Cause::kDrain);
  if (!task.keeps_permit && policy.concurrency && permits.all() >= *policy.concurrency) {
    add(Cause::kConcurrency);
  }
  if (policy.interval_ms > 0 && permits.running > 0) {
    add(Cause::kInterval);
  } else if (interval_until(queue) > now_) {
    add(Cause::kInterval, interval_until(queue));
  }
  if (token_at(queue) > now_) add(Cause::kRate, token_at(queue));
  if (queue.hold_until && *queue.hold_until > now_) add(Cause::kThrottled, queue.hold_until);
  const std::string user = task.user();
  if (!task.keeps_permit && settings.max_running &&
      permits_of(task.queue(), &user).all() >= *settings.max_running) {
    add(Cause::kUserCap);
  }
  if (is_behind(task)) add(Cause::kBehind);
  const bool asked = queue.last_asked && now_ - *queue.last_asked < kRecently;
  if (!asked || causes.empty()) add(Cause::kNoWorker);
}

bool ReferenceQueue::is_behind(const TaskRecord& task) {
  const LineName name{task.queue(), task.user()};
  const TaskRecord* kept = best_kept(task.queue(), nullptr);
  if (task.keeps_permit) return kept != &task;
  if (kept || best_of(name) != &task) return true;
  return lines_.at(name).place && next_in_ring(task.queue(), nullptr) != name;
}

}  // namespace retsu
