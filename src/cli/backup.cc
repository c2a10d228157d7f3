#include "broker/embedded/backup.h"

#include <fmt/format.h>

#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/json_lines.h"
#include "cli/keep.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/times.h"

namespace retsu::cli {
namespace {

embedded::OnProgress shown_by(Progress& progress) {
  return [&](const std::string& what, std::int64_t done, std::int64_t whole) {
    progress.at(what, done, whole);
  };
}

}  // namespace

Action add_backup(Arguments& arguments) {
  auto to = std::make_shared<std::string>();
  arguments.option("DEST", *to, "A new directory, which will be a store").required();
  return [to](Session& session) -> Result<int> {
    Screen& screen = session.screen();
    const auto directory = session.directory();
    if (!directory) return tl::unexpected(directory.error());
    const auto verdict = [&] {
      Progress progress("copying");
      return embedded::backup(*directory, *to, shown_by(progress));
    }();
    if (!verdict) return tl::unexpected(verdict.error());
    screen.line(screen.json() ? json_of(*verdict)
                              : fmt::format("{} holds {}", *to, summary_of(*verdict)));
    return 0;
  };
}

Action add_restore(Arguments& arguments) {
  struct Options {
    std::string from;
    bool force = false;
  };
  auto options = std::make_shared<Options>();
  arguments.option("FROM", options->from, "The directory of a backup").required();
  arguments.flag(
      "--force", options->force,
      "Even if there is a store already, which is set aside as retsu.db.before-TIME, with "
      "its journal");
  return [options](Session& session) -> Result<int> {
    Screen& screen = session.screen();
    const auto directory = session.directory();
    if (!directory) return tl::unexpected(directory.error());
    const auto restored = [&] {
      Progress progress("copying");
      return embedded::restore(options->from, *directory, options->force, wall_clock(),
                               shown_by(progress));
    }();
    if (!restored) {
      Error error = restored.error();
      // One that is held is out of reach, as for every other command.
      const bool held = error.message.find(embedded::kLockFile) != std::string::npos;
      if (held) return tl::unexpected(unreachable(std::move(error)));
      if (error.code == ErrorCode::kConflict) error.message += " (--force)";
      return tl::unexpected(std::move(error));
    }
    if (screen.json()) {
      screen.line(json_of(restored->verdict));
    } else {
      screen.line(fmt::format("{} holds {}", *directory, summary_of(restored->verdict)));
    }
    if (!restored->set_aside.empty()) {
      screen.flush();
      screen.note(fmt::format("the store that was there is {}", restored->set_aside));
    }
    return 0;
  };
}

}  // namespace retsu::cli
