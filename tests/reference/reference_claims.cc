// Claims: taking tasks, holding them, giving them back.

#include <algorithm>

#include "model/retry.h"
#include "reference/reference.h"

namespace retsu {
namespace {

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

// Whom the claim serves next: the users named, or with none of them ready the steal targets. Null:
// all.
const ReferenceQueue::Names* ReferenceQueue::group_of(const Claim& claim) {
  if (claim.users.empty()) return claim.steal.empty() ? nullptr : &claim.steal;
  for (const std::string& queue : claim.queues) {
    if (next_in_ring(queue, &claim.users) || best_kept(queue, &claim.users)) return &claim.users;
  }
  return &claim.steal;
}

std::int64_t ReferenceQueue::remaining(const Claim& claim) const {
  std::int64_t tasks = 0;
  const bool all = claim.users.empty() && claim.steal.empty();
  for (const auto& [sequence, task] : tasks_) {
    if (task.state != State::kQueued || !is_among(claim.queues, task.queue())) continue;
    if (all || is_among(claim.users, task.user()) || is_among(claim.steal, task.user())) ++tasks;
  }
  return tasks;
}

std::int64_t ReferenceQueue::lease_of(const Claim& claim) const {
  if (claim.lease_ms) return *claim.lease_ms;
  std::int64_t longest = 0;
  for (const std::string& name : claim.queues) {
    const auto queue = queues_.find(name);
    if (queue == queues_.end()) continue;
    if (queue->second.policy.lease_ms == 0) return 0;
    longest = std::max(longest, queue->second.policy.lease_ms);
  }
  return longest;
}

ClaimedTask ReferenceQueue::claimed(const TaskRecord& task) const {
  ClaimedTask given;
  given.id = task.id();
  given.queue = task.queue();
  given.user = task.user();
  given.type = task.pushed.type;
  given.priority = task.pushed.priority;
  given.payload = task.pushed.payload;
  given.fence = task.fence;
  given.attempt = task.attempts;
  given.max_attempts = max_attempts_of(task);
  given.created_at = task.created_at;
  given.timeout_at = task.timeout_at;
  for (const Edge& edge : task.edges) {
    if (!edge.met) continue;
    Input input{edge.ended_as, {}};
    const auto dependency = tasks_.find(edge.target);
    if (edge.ended_as == State::kFinished && dependency != tasks_.end()) {
      input.result = dependency->second.result;
    }
    given.inputs[edge.id] = input;
  }
  given.unique_key = task.pushed.unique_key;
  given.tags = task.pushed.tags;
  given.trace = task.pushed.trace;
  given.progress = task.progress;
  return given;
}

void ReferenceQueue::start(const Offer& offer, const std::string& claim_id, ClaimRecord& claim) {
  TaskRecord& task = *offer.task;
  QueueRecord& queue = queues_.at(task.queue());
  task.keeps_permit = false;
  ++task.attempts;
  task.fence = ++fences_;
  task.claim_id = claim_id;
  task.worker = claim.worker;
  task.started_at = now_;
  const std::int64_t timeout_ms = task.pushed.timeout_ms.value_or(queue.policy.timeout_ms);
  task.timeout_at.reset();
  if (timeout_ms > 0) task.timeout_at = now_ + Millis{timeout_ms};
  move(task, Event::kClaim);
  claim.tasks.push_back({task.id(), task.queue(), task.user(), task.fence});
  count(task.queue(), Counter::kStarted);

  queue.last_start = ++starts_;
  refill(queue);
  if (queue.policy.rate) queue.tokens -= queue.policy.rate->per_ms;

  const LineName name{task.queue(), task.user()};
  reference::Line& line = lines_.at(name);
  ++line.started;
  line.waited_ms.push_back((now_ - *task.queued_at).count());
  refresh_line(name);
  if (offer.kept || !line.place) return;
  if (++line.turns < settings_of(name).weight.value_or(1)) return;
  line.turns = 0;
  line.place = ++queue.last_place;
}

Result<ClaimReply> ReferenceQueue::run(const Claim& request) {
  ClaimReply reply;
  reply.claim_id = request.claim_id;
  for (const std::string& name : request.queues) {
    const auto queue = queues_.find(name);
    if (queue != queues_.end()) queue->second.last_asked = now_;
  }

  const auto known = claims_.find(request.claim_id);
  if (known != claims_.end() && known->second.holds_tasks()) {
    ClaimRecord& claim = known->second;
    if (claim.lease_ms > 0) claim.lease_until = now_ + Millis{claim.lease_ms};
    reply.lease_until = claim.lease_until;
    for (const GivenTask& task : claim.tasks) {
      if (task.status == Given::kHeld) reply.tasks.push_back(claimed(*find(task.id)));
    }
    reply.remaining = remaining(request);
    return reply;
  }

  ClaimRecord claim;
  claim.worker = request.worker;
  claim.claimed_at = now_;
  claim.lease_ms = lease_of(request);
  if (claim.lease_ms > 0) claim.lease_until = now_ + Millis{claim.lease_ms};
  std::vector<TaskRecord*> taken;
  while (!draining_ && std::ssize(taken) < request.max) {
    const Names* group = group_of(request);
    std::optional<Offer> best;
    for (const std::string& name : request.queues) {
      const std::optional<Offer> offer = offer_of(name, group);
      if (!offer || offer->at > now_) continue;
      if (best && queues_.at(best->task->queue()).last_start <= queues_.at(name).last_start)
        continue;
      best = offer;
    }
    if (!best) break;
    start(*best, request.claim_id, claim);
    taken.push_back(best->task);
  }

  if (!taken.empty()) {
    claim.number = known != claims_.end() ? known->second.number : ++claim_numbers_;
    reply.lease_until = claim.lease_until;
    if (known != claims_.end()) {
      const auto& before = known->second.tasks;
      std::vector<GivenTask> ghosts;
      std::copy_if(before.begin(), before.end(), std::back_inserter(ghosts),
                   [](const GivenTask& task) { return task.is_ghost(); });
      claim.tasks.insert(claim.tasks.begin(), ghosts.begin(), ghosts.end());
    }
    claims_[request.claim_id] = claim;
    for (const TaskRecord* task : taken) reply.tasks.push_back(claimed(*task));
  } else if (!draining_) {
    for (const std::string& name : request.queues) {
      const std::optional<Offer> offer = offer_of(name, group_of(request));
      if (offer) reply.next_at = std::min(reply.next_at.value_or(offer->at), offer->at);
    }
  }
  reply.remaining = remaining(request);
  return reply;
}

// A STARTED task leaves its claim: before its next state.
void ReferenceQueue::leave_claim(TaskRecord& task, Given status, Outcome outcome) {
  ClaimRecord& claim = claims_.at(task.claim_id);
  for (GivenTask& given : claim.tasks) {
    if (given.fence != task.fence) continue;
    given.status = status;
    given.outcome = outcome;
    if (!given.is_ghost()) queues_.at(task.queue()).last_return = now_;
  }
  task.timeout_at.reset();
  close_if_empty(claim);
}

void ReferenceQueue::close_if_empty(ClaimRecord& claim) {
  if (claim.closed_at || claim.holds_tasks() || claim.holds_ghosts()) return;
  claim.closed_at = now_;
  claim.lease_until.reset();
}

std::int64_t ReferenceQueue::release(ClaimRecord& claim) {
  std::int64_t released = 0;
  for (GivenTask& given : claim.tasks) {
    if (given.is_ghost()) {
      given.has_permit = false;
      return_permit(given.queue, given.user);
    } else if (given.status == Given::kHeld) {
      TaskRecord& task = *find(given.id);
      remember_attempt(task, "release");
      --task.attempts;
      count(task.queue(), Counter::kReleased);
      given.answered = State::kQueued;
      leave_claim(task, Given::kSettled, Outcome::kRelease);
      enqueue(task, Event::kRelease, true);
      ++released;
    }
  }
  close_if_empty(claim);
  return released;
}

void ReferenceQueue::lease_ended(const std::string& claim_id) {
  ClaimRecord& claim = claims_.at(claim_id);
  for (GivenTask& given : claim.tasks) {
    if (given.is_ghost()) {
      given.has_permit = false;
      return_permit(given.queue, given.user);
    } else if (given.status == Given::kHeld) {
      TaskRecord& task = *find(given.id);
      task.error = "the lease ran out";
      remember_attempt(task, "lease_expired", task.error);
      count(task.queue(), Counter::kLeaseExpired);
      leave_claim(task, Given::kLost);
      if (++task.leases_lost == 1 && task.attempts < max_attempts_of(task)) {
        enqueue(task, Event::kLeaseExpired, true);
      } else {
        retry_or_fail(task, Reason::kPoisoned, Event::kPoison, std::nullopt);
      }
    }
  }
  close_if_empty(claim);
}

void ReferenceQueue::timed_out(TaskRecord& task) {
  const auto allowed = *task.timeout_at - *task.started_at;
  task.error = "timed out after " + std::to_string(allowed.count()) + " ms";
  remember_attempt(task, "timeout", task.error);
  count(task.queue(), Counter::kTimedOut);
  leave_claim(task, Given::kTimedOut);
  retry_or_fail(task, Reason::kTimeout, Event::kFail, std::nullopt);
}

// After an attempt that failed: another one later, or the end.
void ReferenceQueue::retry_or_fail(TaskRecord& task, Reason reason, Event last,
                                   std::optional<std::int64_t> floor_ms) {
  if (task.attempts >= max_attempts_of(task) || reason == Reason::kRejected) {
    if (reason == Reason::kPoisoned) count(task.queue(), Counter::kPoisoned);
    return end(task, last, reason);
  }
  const Millis delay = retry_delay(retry_of(task), task.id(), task.attempts);
  task.run_at = now_ + std::max(delay, Millis{floor_ms.value_or(0)});
  task.retrying = true;
  task.goes_front = true;
  count(task.queue(), Counter::kRetried);
  move(task, Event::kRetry);
  refresh_line({task.queue(), task.user()});
}

Result<Released> ReferenceQueue::run(const ReleaseClaim& request) {
  const auto claim = claims_.find(request.claim_id);
  return Released{claim == claims_.end() ? 0 : release(claim->second)};
}

Result<Released> ReferenceQueue::run(const ReleaseOlder& request) {
  std::map<std::int64_t, ClaimRecord*> older;
  for (auto& [id, claim] : claims_) {
    if (claim.closed_at || now_ - claim.claimed_at < Millis{request.older_than_ms}) continue;
    older[claim.number] = &claim;
  }
  Released reply;
  for (const auto& [number, claim] : older) reply.released += release(*claim);
  return reply;
}

Result<ExtendReply> ReferenceQueue::run(const Extend& request) {
  const auto found = claims_.find(request.claim_id);
  if (found == claims_.end() || found->second.closed_at) {
    return refuse(ErrorCode::kStaleClaim, "the claim holds nothing");
  }
  ClaimRecord& claim = found->second;
  claim.lease_ms = request.lease_ms.value_or(claim.lease_ms);
  claim.lease_until.reset();
  if (claim.lease_ms > 0) claim.lease_until = now_ + Millis{claim.lease_ms};

  ExtendReply reply;
  reply.lease_until = claim.lease_until;
  for (const GivenTask& given : claim.tasks) {
    if (given.status == Given::kCanceled) reply.canceled.push_back(given.id);
    if (given.status == Given::kTimedOut) reply.lost.push_back(given.id);
  }
  for (const auto& [id, progress] : request.progress) {
    TaskRecord* task = find(id);
    const bool held = task && task->state == State::kStarted && task->claim_id == request.claim_id;
    if (held) task->progress = progress;
  }
  return reply;
}

Result<ClaimPage> ReferenceQueue::run(const ListClaims& list) {
  std::map<std::int64_t, ClaimInfo> open;
  for (const auto& [id, claim] : claims_) {
    if (claim.closed_at) continue;
    ClaimInfo info{id, claim.worker, claim.claimed_at, claim.lease_until, {}};
    for (const GivenTask& given : claim.tasks) {
      if (given.status == Given::kHeld) info.tasks.push_back(given.id);
    }
    open[claim.number] = info;
  }
  ClaimPage page;
  const std::int64_t after = list.cursor.empty() ? 0 : std::stoll(list.cursor);
  std::int64_t last = 0;
  for (const auto& [number, info] : open) {
    if (number <= after) continue;
    if (std::ssize(page.claims) == list.limit) {
      page.next_cursor = std::to_string(last);
      break;
    }
    page.claims.push_back(info);
    last = number;
  }
  return page;
}

}  // namespace retsu
