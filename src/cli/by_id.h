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

// Does something by each name, and prints the line that act(name) answers. One that is refused is
// told, and the others are done all the same; the exit status is that of the first refusal.
template <class Act>
Result<int> for_each_name(Screen& screen, const std::vector<std::string>& names, Act act) {
  int status = 0;
  for (const std::string& name : names) {
    const Result<std::string> line = act(name);
    if (line) {
      screen.line(*line);
    } else if (names.size() == 1) {
      return tl::unexpected(line.error());
    } else {
      screen.error(line.error());
      if (status == 0) status = row_of(line.error().code).exit_code;
    }
  }
  return status;
}

// Asks Op for each id and prints what the tasks are now.
template <class Op>
Result<int> for_each_id(Session& session, const std::vector<std::string>& ids) {
  Screen& screen = session.screen();
  return for_each_name(screen, ids, [&](const std::string& id) -> Result<std::string> {
    Op op;
    op.id = id;
    const auto task = session.ask(std::move(op));
    if (!task) return tl::unexpected(task.error());
    if (screen.json()) return json_of(*task);
    return printable(task->id) + " " + screen.styled(style_of(task->state), state_of(*task));
  });
}

// A command that does One to each task that is named, or Many to all that match.
template <class One, class Many>
Action by_id_or_filter(Arguments& arguments, std::string_view done) {
  struct Options {
    std::vector<std::string> ids;
    BulkOptions bulk;
  };
  auto options = std::make_shared<Options>();
  arguments.option("TASK", options->ids, "Ids; or say with options which tasks");
  options->bulk.add_to(arguments);
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
