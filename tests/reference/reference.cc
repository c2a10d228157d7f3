#include "reference/reference.h"

#include <algorithm>
#include <tuple>

namespace retsu {
namespace {

// What happens at the same moment happens in this order.
enum Kind : int {
  kLease,
  kTaskTime,
  kExpiry,
  kSchedule,
  kForgottenClaim,
  kXcom,
  kKey,
  kRetention,
  kTombstone,
};

constexpr Millis kClaimMemory{kHour};
constexpr Millis kKeyMemory{72 * kHour};
constexpr std::int64_t kOccurrencesAtOnce = 1'000;

}  // namespace

struct ReferenceQueue::Timer {
  TimePoint due;
  Kind kind;
  std::int64_t number;
  std::string name;
  std::function<void()> happen;

  [[nodiscard]] auto order() const { return std::tie(due, kind, number, name); }
};

Result<Reply> ReferenceQueue::apply(const Command& command, TimePoint clock) {
  advance(clock);
  begin_step();
  Result<Reply> reply = std::visit(
      [this](const auto& operation) -> Result<Reply> {
        auto answer = run(operation);
        if (!answer) return tl::unexpected(std::move(answer.error()));
        return Reply(std::move(*answer));
      },
      command);
  end_step();
  return reply;
}

Answer ReferenceQueue::apply_once(const Command& command, TimePoint clock,
                                  const IdempotencyKey& key, const std::string& said) {
  if (!uses_key(operation_of(command))) return apply(command, clock);
  advance(clock);
  if (const auto found = keys_.find(key); found != keys_.end()) {
    if (found->second.said == said) return {found->second.reply, true};
    return Result<Reply>(refuse(ErrorCode::kIdempotencyMismatch, "used for something else"));
  }
  if (std::ssize(keys_) >= limits_.idempotency_keys) {
    Error error{ErrorCode::kOverloaded, "too many keys", {}, Millis(kMinute)};
    return Result<Reply>(tl::unexpected(std::move(error)));
  }
  Result<Reply> reply = apply(command, clock);
  if (reply) keys_[key] = {said, *reply, now_ + kKeyMemory};
  return reply;
}

void ReferenceQueue::advance(TimePoint clock) {
  target_ = std::max(now_, clock);
  occurrences_.clear();
  while (true) {
    std::vector<Timer> timers = due_timers();
    if (timers.empty()) break;
    const auto first =
        std::min_element(timers.begin(), timers.end(),
                         [](const Timer& a, const Timer& b) { return a.order() < b.order(); });
    now_ = std::max(now_, first->due);
    begin_step();
    first->happen();
    end_step();
  }
  now_ = target_;
}

void ReferenceQueue::end_step() {
  spread_ends();
  while (remove_one_above_limits()) spread_ends();
  std::map<std::pair<TimePoint, std::int64_t>, std::string> closed;
  std::int64_t settled = 0;
  for (const auto& [id, claim] : claims_) {
    if (claim.closed_at) closed[{*claim.closed_at, claim.number}] = id;
    settled += claim.settled();
  }
  while (std::ssize(closed) > limits_.closed_claims ||
         (!closed.empty() && settled > limits_.settled_tasks)) {
    const auto oldest = claims_.find(closed.begin()->second);
    settled -= oldest->second.settled();
    claims_.erase(oldest);
    closed.erase(closed.begin());
  }
}

std::vector<ReferenceQueue::Timer> ReferenceQueue::due_timers() {
  std::vector<Timer> timers;
  const auto add = [&](std::optional<TimePoint> due, Kind kind, std::int64_t number,
                       std::string name, std::function<void()> happen) {
    if (due && *due <= target_) {
      timers.push_back({*due, kind, number, std::move(name), std::move(happen)});
    }
  };

  for (auto& [id, claim] : claims_) {
    if (claim.closed_at) {
      add(*claim.closed_at + kClaimMemory, kForgottenClaim, claim.number, "",
          [this, id = id] { claims_.erase(id); });
    } else {
      add(claim.lease_until, kLease, claim.number, "", [this, id = id] { lease_ended(id); });
    }
  }
  for (auto& [sequence, task] : tasks_) {
    TaskRecord* const record = &task;
    if (task.state == State::kStarted) {
      add(task.timeout_at, kTaskTime, sequence, "", [this, record] { timed_out(*record); });
    }
    if (task.state == State::kScheduled) {
      add(task.run_at, kTaskTime, sequence, "", [this, record] {
        if (!record->is_blocked()) return enqueue(*record, Event::kDue, record->goes_front);
        move(*record, Event::kDueBlocked);
      });
    }
    if (is_waiting(task.state)) {
      add(task.pushed.expires_at, kExpiry, sequence, "", [this, record] {
        count(record->queue(), Counter::kExpired);
        record->error = "expired before it could run";
        end(*record, Event::kExpire, Reason::kExpired);
      });
    }
    const auto until = kept_until(task);
    if (until && !task.overdue) {
      add(until, kRetention, sequence, "", [this, number = sequence] { remove_or_park(number); });
    }
  }
  for (const auto& [name, schedule] : schedules_) {
    if (draining_ || occurrences_[name] >= kOccurrencesAtOnce) continue;
    add(schedule.next, kSchedule, 0, name, [this, name = name] { occurrence_due(name); });
  }
  for (const auto& [key, value] : xcom_) {
    add(value.expires_at, kXcom, 0, key, [this, key = key] { xcom_.erase(key); });
  }
  for (const auto& [key, remembered] : keys_) {
    add(remembered.until, kKey, 0, key.key, [this, key = key] { keys_.erase(key); });
  }
  for (const auto& [id, tombstone] : tombstones_) {
    add(tombstone.until, kTombstone, 0, id, [this, id = id] { forget_tombstone(id); });
  }
  return timers;
}

}  // namespace retsu
