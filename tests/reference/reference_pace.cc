// When a queue lets its next task start: permits, interval, rate, holds.

#include <algorithm>

#include "reference/reference.h"

__extension__ using Wide = __int128;

namespace retsu {

ReferenceQueue::Permits ReferenceQueue::permits_of(const std::string& queue,
                                                   const std::string* user) const {
  Permits permits;
  for (const auto& [sequence, task] : tasks_) {
    if (task.queue() != queue || (user && task.user() != *user)) continue;
    if (task.state == State::kStarted) ++permits.running;
    if (task.keeps_permit) ++permits.kept;
  }
  for (const auto& [id, claim] : claims_) {
    for (const GivenTask& task : claim.tasks) {
      if (task.queue != queue || (user && task.user != *user)) continue;
      if (task.is_ghost()) ++permits.running;
    }
  }
  return permits;
}

void ReferenceQueue::return_permit(const std::string& queue, const std::string& user) {
  const auto found = queues_.find(queue);
  if (found != queues_.end()) found->second.last_return = now_;
  refresh_line({queue, user});
}

void ReferenceQueue::refill(QueueRecord& queue) const {
  if (!queue.policy.rate) return;
  const Rate& rate = *queue.policy.rate;
  const auto full = static_cast<Wide>(rate.capacity()) * rate.per_ms;
  const auto refilled = static_cast<Wide>((now_ - queue.tokens_at).count()) * rate.limit;
  queue.tokens = static_cast<std::int64_t>(std::min(full, queue.tokens + refilled));
  queue.tokens_at = now_;
}

void ReferenceQueue::set_policy(QueueRecord& queue, const QueuePolicy& policy) {
  refill(queue);
  const std::optional<Rate> before = queue.policy.rate;
  queue.policy = policy;
  if (!policy.rate) return;
  const std::int64_t full = policy.rate->capacity() * policy.rate->per_ms;
  if (before) {
    const auto kept = static_cast<Wide>(queue.tokens) * policy.rate->per_ms / before->per_ms;
    queue.tokens = static_cast<std::int64_t>(std::min<Wide>(kept, full));
  } else {
    queue.tokens = full;
  }
  queue.tokens_at = now_;
}

// When there is a whole token.
TimePoint ReferenceQueue::token_at(const QueueRecord& queue) const {
  if (!queue.policy.rate) return now_;
  QueueRecord copy = queue;
  refill(copy);
  const Rate& rate = *copy.policy.rate;
  if (copy.tokens >= rate.per_ms) return now_;
  return now_ + Millis{(rate.per_ms - copy.tokens + rate.limit - 1) / rate.limit};
}

TimePoint ReferenceQueue::interval_until(const QueueRecord& queue) const {
  if (queue.policy.interval_ms == 0 || !queue.last_return) return now_;
  return std::max(now_, *queue.last_return + Millis{queue.policy.interval_ms});
}

std::optional<ReferenceQueue::Offer> ReferenceQueue::offer_of(const std::string& name,
                                                              const Names* users) {
  const auto found = queues_.find(name);
  if (found == queues_.end() || found->second.policy.paused) return std::nullopt;
  const QueueRecord& queue = found->second;
  const QueuePolicy& policy = queue.policy;
  const Permits permits = permits_of(name);
  const TimePoint at =
      std::max({now_, queue.hold_until.value_or(now_), interval_until(queue), token_at(queue)});

  if (TaskRecord* kept = best_kept(name, users)) {
    if (policy.interval_ms > 0 && permits.running > 0) return std::nullopt;
    return Offer{kept, at, true};
  }
  if (policy.concurrency && permits.all() >= *policy.concurrency) return std::nullopt;
  if (policy.interval_ms > 0 && permits.running > 0) return std::nullopt;
  const std::optional<LineName> next = next_in_ring(name, users);
  if (!next) return std::nullopt;
  return Offer{best_of(*next), at, false};
}

// Holds the queue after a throttle.
void ReferenceQueue::hold(QueueRecord& queue, std::optional<std::int64_t> named_ms) {
  const QueuePolicy& policy = queue.policy;
  ++queue.throttles;
  if (named_ms) queue.longest_named_ms = std::max(queue.longest_named_ms.value_or(0), *named_ms);

  std::int64_t hold_ms = named_ms.value_or(policy.throttle_hold_ms());
  if (policy.breaker && queue.throttles >= policy.breaker->after) {
    if (queue.longest_named_ms) {
      hold_ms = *queue.longest_named_ms;
    } else {
      hold_ms = policy.throttle_hold_ms();
      for (std::int64_t n = policy.breaker->after; n < queue.throttles; ++n) {
        hold_ms = std::min(hold_ms * 2, policy.max_hold_ms);
      }
    }
  }
  const TimePoint until = now_ + Millis{std::min(hold_ms, policy.max_hold_ms)};
  queue.hold_until = std::max(queue.hold_until.value_or(until), until);
}

}  // namespace retsu
