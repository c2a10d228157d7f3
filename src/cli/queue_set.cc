#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/queue_card.h"
#include "cli/session.h"
#include "cli/settings.h"

namespace retsu::cli {
namespace {

template <class Op>
Action add_for_each_queue(Arguments& arguments) {
  auto names = std::make_shared<std::vector<std::string>>();
  arguments.option("QUEUE", *names, "Their names").required();
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

Action add_queue_set(Arguments& arguments) {
  struct Options {
    std::string queue;
    std::vector<std::string> settings;
  };
  auto options = std::make_shared<Options>();
  arguments.option("QUEUE", options->queue, "Its name; it is made if need be").required();
  arguments
      .option("KEY=VALUE", options->settings,
              "Settings: concurrency, interval_ms, rate.limit, rate.per_ms, rate.burst, "
              "throttle_ms, max_hold_ms, retry.kind, retry.base_ms, retry.factor, retry.max_ms, "
              "retry.jitter, retry.max_attempts, breaker.after, lease_ms, timeout_ms, aging_ms, "
              "paused, await_keeps_permit, retention.finished_ms, retention.failed_ms, "
              "retention.canceled_ms, retention.max_tasks, retention.max_bytes. Times are 5m or "
              "milliseconds; null is the default")
      .required();
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

Action add_pause(Arguments& arguments) { return add_for_each_queue<PauseQueue>(arguments); }
Action add_resume(Arguments& arguments) { return add_for_each_queue<ResumeQueue>(arguments); }

}  // namespace retsu::cli
