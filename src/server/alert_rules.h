// What is worth waking somebody for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace retsu::server {

// Of counts: how much they rose in the window, together; with `of`, divided by how much those rose.
// Of a gauge: its lowest value in the window. Above the threshold, the alert fires.
struct AlertRule {
  std::string queue;               // empty: of all queues together
  std::vector<std::string> count;  // see kCountedByServer, and the counters of `stats`
  std::vector<std::string> of;
  std::string gauge;  // instead of count: a state (QUEUED: how many are in it), or oldest_age_ms
  double above = 0;
  std::int64_t window_ms = 3'600'000;
  std::int64_t from_events = 0;  // not before `of`, or else `count`, rose by so much
  bool enabled = true;
};
constexpr auto fields_of(std::type_identity<AlertRule>) {
  return List{Field{"queue", &AlertRule::queue},
              Field{"count", &AlertRule::count},
              Field{"of", &AlertRule::of},
              Field{"gauge", &AlertRule::gauge},
              Field{"above", &AlertRule::above, kAlwaysShown},
              Field{"window_ms", &AlertRule::window_ms},
              Field{"from_events", &AlertRule::from_events},
              Field{"enabled", &AlertRule::enabled, kAlwaysShown}};
}
using AlertRules = std::map<std::string, AlertRule>;

// What can be counted beside the queue's own counters.
inline constexpr std::string_view kWaits = "waits";  // tasks started
inline constexpr std::string_view kWaitMs = "wait_ms";
inline constexpr std::string_view kRuns = "runs";  // runs ended
inline constexpr std::string_view kRunMs = "run_ms";
inline constexpr std::string_view kRetryFailures = "retry_failures";
inline constexpr std::string_view kKeyed = "keyed";            // requests with an idempotency key
inline constexpr std::string_view kReplayedKeys = "replayed";  // of these, absorbed
inline constexpr std::string_view kCountedByServer[] = {
    kWaits, kWaitMs, kRuns, kRunMs, kRetryFailures, kKeyed, kReplayedKeys};
inline constexpr std::string_view kOldestAge = "oldest_age_ms";

// Those that every server has: dead letters, retries that fail, duplicate keys, slow starts.
AlertRules default_alert_rules();

// The default rules, changed and added to by name. Refused: a rule that makes no sense, and why.
Result<AlertRules> alert_rules(const std::map<std::string, Json>& patches);

}  // namespace retsu::server
