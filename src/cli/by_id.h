#pragma once

#include <string>
#include <vector>

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

}  // namespace retsu::cli
