#include "engine/pace.h"

#include <algorithm>

namespace retsu::engine {
namespace {

__extension__ using Wide = __int128;

// Tokens are counted in units of 1/per_ms, so that refilling is exact.
std::int64_t level_at(const Queue& queue, TimePoint now) {
  const Rate& rate = *queue.policy().rate;
  const std::int64_t full = rate.capacity() * rate.per_ms;
  if (queue.row.level_at == kNever) return full;
  const std::int64_t elapsed = (now - queue.row.level_at).count();
  if (elapsed >= (full - queue.row.level) / rate.limit + 1) return full;
  return std::min(full, queue.row.level + elapsed * rate.limit);
}

TimePoint next_token(const Queue& queue, TimePoint now) {
  const Rate& rate = *queue.policy().rate;
  const std::int64_t lacking = rate.per_ms - level_at(queue, now);
  if (lacking <= 0) return now;
  return now + Millis((lacking + rate.limit - 1) / rate.limit);
}

}  // namespace

std::vector<Obstacle> obstacles(const Queue& queue, TimePoint now) {
  std::vector<Obstacle> found;
  const QueuePolicy& policy = queue.policy();
  if (policy.paused) found.push_back({Cause::kPaused, kNever});
  if (policy.interval_ms > 0) {
    if (queue.runs > 0) {
      found.push_back({Cause::kInterval, kNever});
    } else if (queue.row.last_end != TimePoint::min() &&
               queue.row.last_end + Millis(policy.interval_ms) > now) {
      found.push_back({Cause::kInterval, queue.row.last_end + Millis(policy.interval_ms)});
    }
  }
  if (policy.rate) {
    if (const TimePoint at = next_token(queue, now); at > now) found.push_back({Cause::kRate, at});
  }
  if (queue.row.hold_until > now) found.push_back({Cause::kThrottled, queue.row.hold_until});
  return found;
}

std::optional<Obstacle> obstacle(const Queue& queue, TimePoint now) {
  const std::vector<Obstacle> all = obstacles(queue, now);
  if (all.empty()) return std::nullopt;
  return *std::ranges::max_element(all, {}, &Obstacle::until);
}

bool has_free_permit(const Queue& queue) {
  const auto& limit = queue.policy().concurrency;
  return !limit || queue.permits < *limit;
}

void take_token(Tables& tables, Queue& queue) {
  if (!queue.policy().rate) return;
  const std::int64_t level = level_at(queue, tables.now());
  QueueRow& row = tables.edit(queue);
  row.level = level - queue.policy().rate->per_ms;
  row.level_at = tables.now();
}

void hold(Tables& tables, Queue& queue, std::optional<std::int64_t> named_ms) {
  const QueuePolicy& policy = queue.policy();
  QueueRow& row = tables.edit(queue);
  ++row.throttles;
  row.longest_named_ms = std::max(row.longest_named_ms, named_ms.value_or(-1));
  std::int64_t hold_ms = named_ms.value_or(policy.throttle_hold_ms());
  if (policy.breaker && row.throttles >= policy.breaker->after) {
    if (row.longest_named_ms >= 0) {
      hold_ms = row.longest_named_ms;
    } else {
      hold_ms = policy.throttle_hold_ms();
      for (std::int64_t i = policy.breaker->after;
           i < row.throttles && hold_ms < policy.max_hold_ms; ++i) {
        hold_ms *= 2;
      }
    }
  }
  const TimePoint until = tables.now() + Millis(std::min(hold_ms, policy.max_hold_ms));
  row.hold_until = std::max(row.hold_until, until);
  tables.count(queue, Counter::kThrottled);
}

void end_throttle_row(Tables& tables, Queue& queue) {
  if (queue.row.throttles == 0) return;
  QueueRow& row = tables.edit(queue);
  row.throttles = 0;
  row.longest_named_ms = -1;
}

void set_policy(Tables& tables, Queue& queue, QueuePolicy policy) {
  const auto old_rate = queue.policy().rate;
  if (policy.rate != old_rate) {
    std::int64_t level = 0;
    TimePoint at = kNever;
    if (policy.rate && old_rate) {
      const Wide tokens = level_at(queue, tables.now());
      const Wide full = policy.rate->capacity() * policy.rate->per_ms;
      level = static_cast<std::int64_t>(
          std::min<Wide>(tokens * policy.rate->per_ms / old_rate->per_ms, full));
      at = tables.now();
    }
    QueueRow& row = tables.edit(queue);
    row.level = level;
    row.level_at = at;
  }
  tables.set_policy(queue, std::make_shared<const QueuePolicy>(std::move(policy)));
  for (int end = 0; end < kEndStates; ++end) {
    tables.unsettled.ended.emplace(std::pair(queue.name.view(), end), &queue);
  }
}

}  // namespace retsu::engine
