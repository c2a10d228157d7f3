#include <fmt/format.h>

#include <map>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/queue_card.h"
#include "cli/session.h"
#include "cli/times.h"

namespace retsu::cli {
namespace {

// JSON as it stands; for a time also 5m; else a text.
Result<std::string> value_of_setting(const std::string& key, const std::string& text) {
  if (is_json(text)) return text;
  if (key.ends_with("_ms")) {
    if (const auto duration = parse_duration(text)) return std::to_string(duration->count());
  }
  if (!is_utf8(text)) return refuse(ErrorCode::kInvalid, fmt::format("{}: is not UTF-8", key));
  std::string quoted;
  JsonWriter(quoted).string(text);
  return quoted;
}

// {"concurrency":"4","retry":{"base_ms":"500"}}, from `concurrency=4 retry.base_ms=500`.
Result<Json> patch_of(const std::vector<std::string>& settings) {
  std::map<std::string, std::string> plain;
  std::map<std::string, std::map<std::string, std::string>> nested;
  for (const std::string& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return refuse(ErrorCode::kInvalid,
                    fmt::format("{}: must be KEY=VALUE, such as concurrency=4", setting));
    }
    const std::string key = setting.substr(0, equals);
    auto value = value_of_setting(key, setting.substr(equals + 1));
    if (!value) return tl::unexpected(std::move(value.error()));
    const auto dot = key.find('.');
    auto& group = dot == std::string::npos ? plain : nested[key.substr(0, dot)];
    const std::string name = dot == std::string::npos ? key : key.substr(dot + 1);
    if (!group.emplace(name, std::move(*value)).second ||
        (dot != std::string::npos && plain.contains(key.substr(0, dot))) ||
        (dot == std::string::npos && nested.contains(key))) {
      return refuse(ErrorCode::kInvalid, fmt::format("{}: given twice", key));
    }
  }
  std::string patch;
  JsonWriter to(patch);
  const auto write = [&](const std::map<std::string, std::string>& group) {
    for (const auto& [name, value] : group) {
      to.key(name);
      to.raw(value);
    }
  };
  to.open_object();
  write(plain);
  for (const auto& [name, group] : nested) {
    to.key(name);
    to.open_object();
    write(group);
    to.close_object();
  }
  to.close_object();
  return Json(patch);
}

template <class Op>
Action add_for_each_queue(CLI::App& app) {
  auto names = std::make_shared<std::vector<std::string>>();
  app.add_option("QUEUE", *names, "Their names")->required();
  return [names](Session& session) -> Result<int> {
    for (const std::string& name : *names) {
      Op op;
      op.queue = name;
      const auto queue = session.ask(std::move(op), Session::Missing::kMake);
      if (!queue) return tl::unexpected(queue.error());
      Screen& screen = session.screen();
      if (screen.json()) {
        show_queue(screen, *queue);
      } else {
        screen.line(fmt::format("{} {}", name, queue->policy.paused ? "is paused" : "goes on"));
      }
    }
    return 0;
  };
}

}  // namespace

Action add_queue_set(CLI::App& app) {
  struct Options {
    std::string queue;
    std::vector<std::string> settings;
  };
  auto options = std::make_shared<Options>();
  app.add_option("QUEUE", options->queue, "Its name; it is made if need be")->required();
  app.add_option("KEY=VALUE", options->settings,
                 "Settings: concurrency, interval_ms, rate.limit, rate.per_ms, rate.burst, "
                 "throttle_ms, max_hold_ms, retry.kind, retry.base_ms, retry.factor, retry.max_ms, "
                 "retry.jitter, retry.max_attempts, breaker.after, lease_ms, timeout_ms, aging_ms, "
                 "paused, await_keeps_permit, retention.finished_ms, retention.failed_ms, "
                 "retention.canceled_ms, retention.max_tasks, retention.max_bytes. Times are 5m or "
                 "milliseconds; null is the default")
      ->required();
  return [options](Session& session) -> Result<int> {
    auto patch = patch_of(options->settings);
    if (!patch) return tl::unexpected(std::move(patch.error()));
    const auto queue = session.ask(PatchQueue{.queue = options->queue, .patch = std::move(*patch)},
                                   Session::Missing::kMake);
    if (!queue) return tl::unexpected(queue.error());
    show_queue(session.screen(), *queue);
    return 0;
  };
}

Action add_pause(CLI::App& app) { return add_for_each_queue<PauseQueue>(app); }
Action add_resume(CLI::App& app) { return add_for_each_queue<ResumeQueue>(app); }

}  // namespace retsu::cli
