#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/json_lines.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/task_table.h"
#include "cli/times.h"

namespace retsu::cli {
namespace {

std::string duration_of(const std::optional<std::int64_t>& ms) {
  return ms ? format_duration(Millis(*ms)) : std::string();
}

std::string dependencies_of(const Task& task) {
  std::vector<std::string> names;
  for (const Dependency& dependency : task.depends_on) {
    const bool open = std::ranges::find(task.blocked_by, dependency.id) != task.blocked_by.end();
    names.push_back(fmt::format("{}{}{}", dependency.id,
                                dependency.when == When::kSettled ? " (settled)" : "",
                                open ? ", still open" : ""));
  }
  return fmt::format("{}", fmt::join(names, "; "));
}

void show_task(Screen& screen, const Task& task) {
  Card card(screen);
  card.add("task", {task.id, Style::kBold});
  card.add("state", {state_of(task), style_of(task.state)});
  card.add("queue", task.queue);
  card.add("user", task.user);
  card.add("type", task.type);
  card.add("priority",
           fmt::format(
               "{} ({})", task.priority.value,
               kPriorityWords[static_cast<std::size_t>(std::clamp(task.priority.value, 1, 6) - 1)]
                   .name));
  card.add("attempts", fmt::format("{} of {}", task.attempts, task.max_attempts));
  card.add("payload", task.payload.str());
  card.add("result", task.result.str());
  card.add("error", {task.error.str(), Style::kRed});
  card.add("retryable", task.retryable ? (*task.retryable ? "yes" : "no") : "");
  card.add("progress", task.progress.str());
  card.add("pushed", shown_fully(task.created_at));
  card.add("run at", shown_fully(task.run_at));
  card.add("queued", shown_fully(task.queued_at));
  card.add("started", shown_fully(task.started_at));
  card.add("ended", shown_fully(task.ended_at));
  card.add("lease until", shown_fully(task.lease_until));
  card.add("expires", shown_fully(task.expires_at));
  card.add("timeout", duration_of(task.timeout_ms));
  card.add("depends on", dependencies_of(task));
  if (!task.depends_on.empty()) {
    card.add("when one fails", std::string(name_of(task.on_dependency_failure)));
    card.add("when one is canceled", std::string(name_of(task.on_dependency_cancel)));
  }
  card.add("unique key", task.unique_key);
  card.add("placement", task.placement == Placement::kFront ? "front" : "");
  card.add("tags", fmt::format("{}", fmt::join(task.tags, ", ")));
  card.add("trace", task.trace);
  card.add("claim", task.claim_id);
  card.add("worker", task.worker);
  card.add("fence", task.fence ? std::to_string(*task.fence) : "");
  card.print();
  if (task.history.empty()) return;
  screen.line("");
  Table table(screen, {">TRY", "OUTCOME", "ENDED", "WORKER", "ERROR"});
  for (const Attempt& attempt : task.history) {
    table.add({std::to_string(attempt.attempt), attempt.outcome, format_time(attempt.ended_at),
               attempt.worker, attempt.error.str()});
  }
  table.print();
}

// Until it has ended, or the time is over. One call waits for five minutes at most.
Result<Task> wait_for(Session& session, const std::string& id, Millis patience) {
  constexpr Millis kMost{5 * kMinute};
  const TimePoint end = wall_clock() + std::min(patience, Millis(365 * kDay));
  for (;;) {
    const Millis left = std::clamp(end - wall_clock(), Millis(0), kMost);
    auto task = session.ask(GetTask{.id = id, .wait_ms = left.count()});
    if (!task || is_ended(task->state) || left == Millis(0)) return task;
  }
}

}  // namespace

Action add_show(Arguments& arguments) {
  struct Options {
    std::string id;
    std::string wait;
  };
  auto options = std::make_shared<Options>();
  arguments.option("TASK", options->id, "Its id").required();
  arguments.option("--wait", options->wait, "Wait until it has ended, but no longer than this")
      .type_name("DURATION");
  return [options](Session& session) -> Result<int> {
    Millis patience{0};
    if (!options->wait.empty()) {
      const auto read = read_duration("--wait", options->wait);
      if (!read) return tl::unexpected(read.error());
      patience = *read;
    }
    const auto task = wait_for(session, options->id, patience);
    if (!task) return tl::unexpected(task.error());
    if (session.screen().json()) {
      session.screen().line(json_of(*task));
    } else {
      show_task(session.screen(), *task);
    }
    return 0;
  };
}

}  // namespace retsu::cli
