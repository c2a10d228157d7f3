#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/json_lines.h"
#include "cli/paging.h"
#include "cli/task_table.h"

namespace retsu::cli {

Action add_tasks(Arguments& arguments) {
  struct Options {
    FilterOptions filter;
    ListOptions list;
  };
  auto options = std::make_shared<Options>();
  options->filter.add_to(arguments);
  options->list.add_to(arguments);
  return [options](Session& session) -> Result<int> {
    const auto filter = options->filter.read();
    if (!filter) return tl::unexpected(filter.error());
    TaskTable table(session.screen());
    return each_page(session, ListTasks{.filter = *filter}, options->list,
                     [&](const TaskPage& page) { return table.show(page.tasks); });
  };
}

}  // namespace retsu::cli
