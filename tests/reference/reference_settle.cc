// What workers say of the tasks that they were given.

#include <algorithm>

#include "reference/reference.h"

namespace retsu {

Result<SettleReply> ReferenceQueue::run(const Settle& request) {
  if (!claims_.contains(request.claim_id)) {
    return refuse(ErrorCode::kStaleClaim, "no such claim");
  }
  SettleReply reply;
  if (!request.all) {
    for (const SettleOne& result : request.results) {
      reply.results.push_back(settle_one(request.claim_id, result));
    }
    return reply;
  }
  if (*request.all == Outcome::kAwait) {
    return refuse(ErrorCode::kInvalid, "await cannot be said of all");
  }
  const std::vector<GivenTask> tasks = claims_.at(request.claim_id).tasks;
  for (const GivenTask& task : tasks) {
    SettleOne result;
    result.id = task.id;
    result.fence = task.fence;
    result.outcome = *request.all;
    reply.results.push_back(settle_one(request.claim_id, result));
  }
  return reply;
}

Settled ReferenceQueue::settle_one(const std::string& claim_id, const SettleOne& result) {
  TaskRecord* task = find(result.id);
  const bool runs_here = task && task->state == State::kStarted && task->claim_id == claim_id &&
                         result.fence.value_or(task->fence) == task->fence;
  if (runs_here) {
    const std::int64_t fence = task->fence;
    const Status done = settle_started(*task, result);
    if (!done) return {result.id, false, std::nullopt, done.error()};
    for (GivenTask& given : claims_.at(claim_id).tasks) {
      if (given.fence == fence) given.answered = task->state;
    }
    return {result.id, true, task->state, std::nullopt};
  }

  ClaimRecord& claim = claims_.at(claim_id);
  for (const GivenTask& given : claim.tasks) {
    if (given.status == Given::kSettled && given.id == resolve(result.id) &&
        result.fence.value_or(given.fence) == given.fence && given.outcome == result.outcome) {
      return {result.id, true, given.answered, std::nullopt};
    }
  }
  bool was_given = false;
  for (GivenTask& given : claim.tasks) {
    was_given |= given.id == resolve(result.id);
    if (!given.is_ghost() || given.id != resolve(result.id)) continue;
    if (result.fence.value_or(given.fence) != given.fence) continue;
    given.has_permit = false;
    return_permit(given.queue, given.user);
    close_if_empty(claim);
    break;
  }
  if (!task && !was_given) {
    return {result.id, false, std::nullopt, Error{ErrorCode::kNotFound, "no such task"}};
  }
  return {result.id, false, std::nullopt,
          Error{ErrorCode::kStaleClaim, "it does not run under this claim"}};
}

Status ReferenceQueue::settle_started(TaskRecord& task, const SettleOne& result) {
  QueueRecord& queue = queues_.at(task.queue());
  switch (result.outcome) {
    case Outcome::kFinish:
      queue.throttles = 0;
      queue.longest_named_ms.reset();
      task.result = result.result;
      task.error = {};
      if (task.attempts > 1) count(task.queue(), Counter::kRetrySucceeded);
      leave_claim(task, Given::kSettled, result.outcome);
      end(task, Event::kFinish, Reason::kNone);
      break;
    case Outcome::kFail:
      queue.throttles = 0;
      queue.longest_named_ms.reset();
      if (!result.error.empty()) task.error = result.error;
      remember_attempt(task, "fail", result.error);
      leave_claim(task, Given::kSettled, result.outcome);
      retry_or_fail(task, result.retryable ? Reason::kFailed : Reason::kRejected, Event::kFail,
                    result.retry_after_ms);
      break;
    case Outcome::kThrottle:
      hold(queue, result.retry_after_ms);
      if (!result.error.empty()) task.error = result.error;
      remember_attempt(task, "throttle", result.error);
      --task.attempts;
      count(task.queue(), Counter::kThrottled);
      leave_claim(task, Given::kSettled, result.outcome);
      enqueue(task, Event::kThrottle, true);
      break;
    case Outcome::kRelease:
      remember_attempt(task, "release", result.error);
      --task.attempts;
      count(task.queue(), Counter::kReleased);
      leave_claim(task, Given::kSettled, result.outcome);
      enqueue(task, Event::kRelease, true);
      break;
    case Outcome::kAwait:
      return await(task, result);
  }
  return {};
}

}  // namespace retsu
