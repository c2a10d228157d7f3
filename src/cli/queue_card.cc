#include "cli/queue_card.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "cli/json_lines.h"
#include "cli/times.h"

namespace retsu::cli {
namespace {

std::string text_of(const std::map<std::string, std::int64_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) {
    if (count != 0) parts.push_back(fmt::format("{} {}", count, name));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string duration(std::int64_t ms) { return ms == 0 ? "none" : format_duration(Millis(ms)); }

}  // namespace

Cell pace_of(const Screen& screen, const QueueInfo& queue) {
  const QueuePolicy& policy = queue.policy;
  std::vector<std::string> parts;
  const bool held = queue.hold_until.has_value();
  if (policy.paused) parts.emplace_back("paused");
  if (held) parts.push_back("held until " + shown(screen, queue.hold_until));
  if (policy.concurrency) parts.push_back(fmt::format("{} at once", *policy.concurrency));
  if (policy.rate) {
    parts.push_back(
        fmt::format("{} in {}", policy.rate->limit, format_duration(Millis(policy.rate->per_ms))));
  }
  if (policy.interval_ms > 0) {
    parts.push_back(fmt::format("{} apart", format_duration(Millis(policy.interval_ms))));
  }
  return {fmt::format("{}", fmt::join(parts, ", ")),
          policy.paused || held ? Style::kYellow : Style::kPlain};
}

void show_queue(Screen& screen, const QueueInfo& queue) {
  if (screen.json()) return screen.line(json_of(queue));
  const QueuePolicy& policy = queue.policy;
  Card card(screen);
  card.add("queue", {queue.queue, Style::kBold});
  card.add("pace", pace_of(screen, queue));
  card.add("tasks", text_of(queue.tasks));
  card.add("running", std::to_string(queue.running));
  card.add("users", std::to_string(queue.users));
  card.add("waiting bytes", std::to_string(queue.waiting_bytes));
  card.add("oldest", queue.oldest_age_ms ? rough(Millis(*queue.oldest_age_ms)) : "");
  card.add("held until", {shown_fully(queue.hold_until), Style::kYellow});
  card.add("a minute", text_of(queue.per_minute));
  card.add("so far", text_of(queue.counters));
  card.add("retry", fmt::format("{} attempts, {} from {} by {} up to {}, jitter {}",
                                policy.retry.max_attempts, name_of(policy.retry.kind),
                                duration(policy.retry.base_ms), policy.retry.factor,
                                duration(policy.retry.max_ms), policy.retry.jitter));
  card.add("lease", duration(policy.lease_ms));
  card.add("timeout", duration(policy.timeout_ms));
  card.add("aging", policy.aging_ms == kStrictAging ? "strict" : duration(policy.aging_ms.step_ms));
  card.add("throttle hold", duration(policy.throttle_hold_ms()));
  card.add("breaker", policy.breaker ? fmt::format("after {}", policy.breaker->after) : "");
  card.add("await", policy.await_keeps_permit ? "keeps its permit" : "");
  card.add("kept",
           fmt::format("FINISHED {}, FAILED {}, CANCELED {}, {} tasks or {} bytes of each",
                       duration(policy.retention.finished_ms), duration(policy.retention.failed_ms),
                       duration(policy.retention.canceled_ms), policy.retention.max_tasks,
                       policy.retention.max_bytes));
  card.print();
}

}  // namespace retsu::cli
