#include "broker/embedded/verify.h"

#include <fmt/format.h>

#include "broker/embedded/schema.h"
#include "cli/commands.h"
#include "cli/json_lines.h"
#include "cli/keep.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/session.h"

namespace retsu::cli {

Action add_verify(Arguments&) {
  return [](Session& session) -> Result<int> {
    Screen& screen = session.screen();
    const auto directory = session.directory();
    if (!directory) return tl::unexpected(directory.error());
    if (!embedded::has_store(*directory)) {
      return refuse(ErrorCode::kUnavailable, fmt::format("there is no store in {}", *directory));
    }
    const auto verdict = [&] {
      Progress progress("verifying");
      return embedded::verify(*directory + embedded::kDatabaseFile,
                              [&](const std::string& what, std::int64_t done, std::int64_t whole) {
                                progress.at("verifying " + what, done, whole);
                              });
    }();
    if (!verdict) return tl::unexpected(verdict.error());
    if (screen.json()) {
      screen.line(json_of(*verdict));
    } else if (verdict->problems.empty()) {
      screen.line(fmt::format("{} is whole: {}", *directory, summary_of(*verdict)));
      if (verdict->version < embedded::kSchemaVersion) {
        screen.note("its tables are of an earlier version: the rows are read at the next start");
      }
    } else {
      for (const std::string& problem : verdict->problems) {
        screen.line(screen.styled(Style::kRed, printable(problem)));
      }
      screen.flush();
      screen.note(fmt::format("{} is damaged: {} problem{}; put back a backup with retsu restore",
                              *directory, verdict->problems.size(),
                              verdict->problems.size() == 1 ? "" : "s"));
    }
    return verdict->problems.empty() ? 0 : 1;
  };
}

}  // namespace retsu::cli
