#include <fmt/format.h>

#include "broker/codec.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/table.h"

namespace retsu::cli {

Action add_stats(Arguments&) {
  return [](Session& session) -> Result<int> {
    Screen& screen = session.screen();
    const auto stats = session.ask(Stats{});
    if (!stats) return tl::unexpected(stats.error());
    if (screen.json()) {
      screen.line(to_json(Reply(*stats)));
      return 0;
    }
    Table now(screen, {"NOW", ">COUNT"});
    for (const auto& row : names_of(std::type_identity<State>{})) {
      const auto found = stats->tasks.find(std::string(row.name));
      const std::int64_t count = found == stats->tasks.end() ? 0 : found->second;
      now.add({{std::string(row.name), style_of(row.value)}, std::to_string(count)});
    }
    const std::pair<const char*, std::int64_t> others[] = {
        {"queues", stats->queues},
        {"users", stats->users},
        {"claims", stats->claims},
        {"schedules", stats->schedules},
        {"shared values", stats->xcom},
        {"open references", stats->edges},
        {"remembered ids", stats->remembered_ids},
        {"idempotency keys", stats->idempotency_keys}};
    for (const auto& [name, count] : others) now.add({std::string(name), std::to_string(count)});
    now.print();
    screen.line("");
    Table ever(screen, {"SO FAR", ">COUNT"});
    for (const auto& row : names_of(std::type_identity<Counter>{})) {
      const auto found = stats->counters.find(std::string(row.name));
      if (found == stats->counters.end() || found->second == 0) continue;
      ever.add({found->first, std::to_string(found->second)});
    }
    ever.print();
    if (stats->draining) screen.line(screen.styled(Style::kYellow, "draining"));
    return 0;
  };
}

}  // namespace retsu::cli
