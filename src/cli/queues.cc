#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/json_lines.h"
#include "cli/paging.h"
#include "cli/queue_card.h"
#include "cli/times.h"

namespace retsu::cli {
namespace {

Cell count_of(const std::map<std::string, std::int64_t>& counts, State state) {
  const auto found = counts.find(std::string(name_of(state)));
  const std::int64_t count = found == counts.end() ? 0 : found->second;
  return {std::to_string(count), count == 0 ? Style::kDim : style_of(state)};
}

}  // namespace

Action add_queues(Arguments& arguments) {
  struct Options {
    std::vector<std::string> names;
    ListOptions list;
  };
  auto options = std::make_shared<Options>();
  arguments.option("QUEUE", options->names, "Tell all about these, instead of listing all");
  options->list.add_to(arguments);
  return [options](Session& session) -> Result<int> {
    Screen& screen = session.screen();
    for (const std::string& name : options->names) {
      const auto queue = session.ask(GetQueue{.queue = name});
      if (!queue) return tl::unexpected(queue.error());
      show_queue(screen, *queue);
    }
    if (!options->names.empty()) return 0;
    Table table(screen, {"QUEUE", ">SCHEDULED", ">DEFERRED", ">QUEUED", ">STARTED", ">FINISHED",
                         ">FAILED", ">CANCELED", ">USERS", ">OLDEST", "PACE"});
    return each_page(session, ListQueues{}, options->list, [&](const QueueList& page) {
      for (const QueueInfo& queue : page.queues) {
        if (screen.json()) {
          screen.line(json_of(queue));
          continue;
        }
        std::vector<Cell> row = {queue.queue};
        for (int state = 0; state < kStates; ++state) {
          row.push_back(count_of(queue.tasks, static_cast<State>(state)));
        }
        row.emplace_back(std::to_string(queue.users));
        row.emplace_back(queue.oldest_age_ms ? rough(Millis(*queue.oldest_age_ms)) : "");
        row.emplace_back(pace_of(screen, queue));
        table.add(std::move(row));
      }
      table.print();
      return std::ssize(page.queues);
    });
  };
}

}  // namespace retsu::cli
