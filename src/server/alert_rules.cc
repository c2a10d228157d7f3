#include "server/alert_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "model/json.h"

namespace retsu::server {
namespace {

constexpr std::int64_t kShortestMs = 10'000;
constexpr std::int64_t kLongestMs = std::int64_t{7} * 24 * 3'600'000;
constexpr std::int64_t kEnough = 20;  // events, before a share of them says anything

bool is_counted(const std::string& name) {
  return value_of<Counter>(name).has_value() ||
         std::ranges::find(kCountedByServer, name) != std::ranges::end(kCountedByServer);
}

// What is wrong with it, if anything.
std::optional<std::string> fault_of(const AlertRule& rule) {
  if (rule.gauge.empty() == rule.count.empty()) return "has either count or gauge";
  if (!rule.gauge.empty() && rule.gauge != kOldestAge && !value_of<State>(rule.gauge)) {
    return fmt::format("gauge: {} is neither a state nor {}", rule.gauge, kOldestAge);
  }
  if (!rule.gauge.empty() && !rule.of.empty()) return "of: belongs to count";
  if (rule.gauge == kOldestAge && rule.queue.empty()) {
    return fmt::format("gauge: {} needs a queue", kOldestAge);
  }
  for (const auto* names : {&rule.count, &rule.of}) {
    const auto unknown = std::ranges::find_if_not(*names, is_counted);
    if (unknown != names->end()) return fmt::format("{} is not counted", *unknown);
  }
  if (rule.above < 0) return "above: must not be negative";
  if (rule.window_ms < kShortestMs || rule.window_ms > kLongestMs) {
    return "window_ms: must be from 10 seconds to 7 days";
  }
  if (rule.from_events < 0) return "from_events: must not be negative";
  return std::nullopt;
}

}  // namespace

AlertRules default_alert_rules() {
  const auto names = [](std::initializer_list<std::string_view> all) {
    return std::vector<std::string>(all.begin(), all.end());
  };
  return {{"dead_letters", {.count = names({name_of(Counter::kFailed)}), .above = 10}},
          {"retry_failures",
           {.count = names({kRetryFailures}),
            .of = names({kRetryFailures, name_of(Counter::kRetrySucceeded)}),
            .above = 0.05,
            .from_events = kEnough}},
          {"duplicate_keys",
           {.count = names({kReplayedKeys}),
            .of = names({kKeyed}),
            .above = 0.5,
            .from_events = kEnough}},
          {"slow_start",
           {.count = names({kWaitMs}),
            .of = names({kWaits}),
            .above = 300'000,
            .from_events = kEnough}}};
}

Result<AlertRules> alert_rules(const std::map<std::string, Json>& patches) {
  AlertRules rules = default_alert_rules();
  for (const auto& [name, patch] : patches) {
    AlertRule& rule = rules[name];
    if (auto read = read_into(patch.view(), rule); !read) {
      Error error = to_error(std::move(read.error()));
      error.message = fmt::format("{}: {}", name, error.message);
      return tl::unexpected(std::move(error));
    }
    if (const auto fault = fault_of(rule)) {
      return refuse(ErrorCode::kInvalid, fmt::format("{}: {}", name, *fault));
    }
  }
  return rules;
}

}  // namespace retsu::server
