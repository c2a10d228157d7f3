#include "cli/bulk.h"
#include "cli/commands.h"
#include "cli/json_lines.h"
#include "cli/paging.h"
#include "cli/task_table.h"
#include "cli/times.h"

namespace retsu::cli {
namespace {

template <class Op>
Action add_bulk(Arguments& arguments, const char* done) {
  auto options = std::make_shared<BulkOptions>();
  options->add_to(arguments);
  return [options, done](Session& session) { return do_bulk<Op>(session, *options, done); };
}

void show_groups(Screen& screen, const std::vector<DeadGroup>& groups) {
  Table table(screen, {">COUNT", "REASON", "NEWEST", "EXAMPLE", "ERROR"});
  for (const DeadGroup& group : groups) {
    if (screen.json()) {
      screen.line(json_of(group));
      continue;
    }
    table.add({std::to_string(group.count),
               std::string(name_of(group.reason)),
               shown(screen, group.newest),
               group.example,
               {group.error, Style::kRed}});
  }
  table.print();
}

}  // namespace

Action add_dead(Arguments& arguments) {
  struct Options {
    FilterOptions filter;
    ListOptions list;
    std::string group;
  };
  auto options = std::make_shared<Options>();
  arguments.option("--group", options->group, "Count them by error, the largest group first")
      .type_name("error")
      .one_of({"error"});
  options->filter.add_to(arguments);
  options->list.add_to(arguments);
  return [options](Session& session) -> Result<int> {
    const auto filter = options->filter.read();
    if (!filter) return tl::unexpected(filter.error());
    ListDead list{.filter = *filter};
    if (!options->group.empty()) {
      list.group = DeadGroupBy::kError;
      list.limit = options->list.all ? 1'000 : std::min<std::int64_t>(options->list.limit, 1'000);
      const auto page = session.ask(list);
      if (!page) return tl::unexpected(page.error());
      show_groups(session.screen(), page->groups.value_or(std::vector<DeadGroup>()));
      return 0;
    }
    TaskTable table(session.screen());
    return each_page(session, list, options->list,
                     [&](const DeadPage& page) { return table.show(page.tasks); });
  };
}

Action add_dead_redrive(Arguments& arguments) {
  return add_bulk<RedriveDead>(arguments, "queued again");
}
Action add_dead_purge(Arguments& arguments) { return add_bulk<PurgeDead>(arguments, "removed"); }

}  // namespace retsu::cli
