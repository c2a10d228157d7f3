#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bulk.h"
#include "cli/commands.h"
#include "cli/json_lines.h"
#include "cli/session.h"
#include "cli/task_table.h"

namespace retsu::cli {

// Asks Op for each id and prints what the tasks are now. One that is refused is told, and the
// others are done all the same; the exit status is that of the first refusal.
template <class Op>
Result<int> for_each_id(Session& session, const std::vector<std::string>& ids) {
  int status = 0;
  for (const std::string& id : ids) {
    Op op;
    op.id = id;
    const auto task = session.ask(std::move(op));
    if (!task && ids.size() == 1) return tl::unexpected(task.error());
    if (!task) {
      session.screen().error(task.error());
      if (status == 0) status = row_of(task.error().code).exit_code;
      continue;
    }
    Screen& screen = session.screen();
    screen.line(screen.json() ? json_of(*task)
                              : printable(task->id) + " " +
                                    screen.styled(style_of(task->state), state_of(*task)));
  }
  return status;
}

// A command that does One to each task that is named, or Many to all that match.
template <class One, class Many>
Action by_id_or_filter(CLI::App& app, std::string_view done) {
  struct Options {
    std::vector<std::string> ids;
    BulkOptions bulk;
  };
  auto options = std::make_shared<Options>();
  app.add_option("TASK", options->ids, "Ids; or say with options which tasks");
  options->bulk.add_to(app);
  return [options, done](Session& session) -> Result<int> {
    const bool by_filter =
        options->bulk.filter.given() || options->bulk.expect || options->bulk.dry_run;
    if (options->ids.empty() == !by_filter) {
      return refuse(ErrorCode::kInvalid,
                    "name tasks by their ids, or with options such as --queue, but not both");
    }
    if (by_filter) return do_bulk<Many>(session, options->bulk, done);
    return for_each_id<One>(session, options->ids);
  };
}

}  // namespace retsu::cli
