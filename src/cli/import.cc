#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/push_lines.h"
#include "model/json.h"

namespace retsu::cli {
namespace {

struct Imported {
  std::int64_t pushed = 0;
  std::int64_t existing = 0;
  std::int64_t skipped = 0;
  std::int64_t refused = 0;
};
constexpr auto fields_of(std::type_identity<Imported>) {
  return List{Field{"pushed", &Imported::pushed, kAlwaysShown},
              Field{"existing", &Imported::existing, kAlwaysShown},
              Field{"skipped", &Imported::skipped, kAlwaysShown},
              Field{"refused", &Imported::refused, kAlwaysShown}};
}

// Makes new tasks of old ones, in the order in which they were pushed.
class Renewal {
 public:
  explicit Renewal(bool all) : all_(all) {}

  [[nodiscard]] std::int64_t skipped() const { return skipped_; }

  Result<std::optional<NewTask>> read(std::string_view line) {
    auto task = from_json<Task>(line);
    if (!task) return tl::unexpected(to_error(std::move(task.error())));
    if (task->id.empty()) return refuse(ErrorCode::kInvalid, "id: is missing");
    const bool skips = is_ended(task->state) && !all_;
    if (skips || all_) seen_.emplace(task->id, task->state);
    if (!skips) return renewed(*std::move(task));
    ++skipped_;
    return std::nullopt;
  }

 private:
  [[nodiscard]] NewTask renewed(Task task) const {
    NewTask made{.id = task.id,
                 .queue = task.queue,
                 .user = task.user,
                 .type = task.type,
                 .priority = task.priority,
                 .run_at = task.run_at,
                 .on_dependency_failure = task.on_dependency_failure,
                 .on_dependency_cancel = task.on_dependency_cancel,
                 .unique_key = task.unique_key,
                 .placement = task.placement,
                 .timeout_ms = task.timeout_ms,
                 .retry = task.retry,
                 .expires_at = task.expires_at,
                 .tags = task.tags,
                 .trace = task.trace};
    if (!task.payload.empty()) made.payload = task.payload;
    if (task.max_attempts > 0) made.max_attempts = task.max_attempts;
    for (const Dependency& dependency : task.depends_on) {
      if (still_waits(task, dependency)) made.depends_on.push_back(dependency);
    }
    // One that is in the file may come later, such as a child; one that is not may be pushed again.
    made.allow_missing = !made.depends_on.empty();
    return made;
  }

  // A reference that was met would wait for ever, unless what it names is done again.
  [[nodiscard]] bool still_waits(const Task& task, const Dependency& on) const {
    const bool open = std::ranges::find(task.blocked_by, on.id) != task.blocked_by.end();
    const auto found = seen_.find(on.id);
    if (found == seen_.end()) return open;
    if (all_) return true;
    // It ended after this task was exported, and before it was itself.
    return open && found->second == State::kFailed && on.when == When::kFinished &&
           task.on_dependency_failure != OnDependencyFailure::kRun;
  }

  const bool all_;
  std::int64_t skipped_ = 0;
  std::unordered_map<std::string, State> seen_;  // those that are skipped; with `all`, every one
};

}  // namespace

Action add_import(Arguments& arguments) {
  struct Options {
    std::string file;
    bool all = false;
  };
  auto options = std::make_shared<Options>();
  arguments
      .option("FILE", options->file,
              "As retsu export writes it; - is standard input. Tasks keep their ids, their order "
              "and what their pusher said of them; attempts begin anew, and results are not "
              "taken along. A task waits again for those that it still waited for, also if they "
              "are not in the file: then until they are pushed. An id that exists changes "
              "nothing")
      .required();
  arguments.flag(
      "--all", options->all,
      "Also those that have ended, which run again, each after those in the file that it "
      "depended on; else they are skipped");
  return [options](Session& session) -> Result<int> {
    Renewal renewal(options->all);
    const auto done =
        push_lines(session, {.file = options->file,
                             .read = [&](std::string_view line) { return renewal.read(line); },
                             .partial = true});
    if (!done) return tl::unexpected(done.error());
    const Imported counts{done->created, done->existing, renewal.skipped(), done->refused};
    std::string line;
    if (session.screen().json()) {
      append_json(line, counts);
    } else {
      line = fmt::format("{} pushed, {} existing, {} skipped, {} refused", counts.pushed,
                         counts.existing, counts.skipped, counts.refused);
    }
    session.screen().line(line);
    return done->status;
  };
}

}  // namespace retsu::cli
