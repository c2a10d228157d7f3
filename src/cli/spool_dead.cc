#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/spool.h"
#include "cli/times.h"
#include "spool/dead_letters.h"

namespace retsu::cli {
namespace {

struct DeadOptions {
  SpoolOption spool;
  std::vector<std::string> ids;
  bool redrive = false;
  bool purge = false;
  bool all = false;
};

Status list_dead(Screen& screen, const std::string& path, const spool::Chosen& chosen) {
  Table table(screen, {"ID", "TYPE", ">RETRIES", "MOVED", "REASON", "ERROR"});
  std::int64_t damaged = 0;
  auto done = spool::read_dead(path, [&](std::string_view line, const spool::DeadEntry* dead) {
    if (dead == nullptr) {
      ++damaged;
    } else if (!chosen(*dead)) {
      return;
    } else if (screen.json()) {
      screen.line(line);
    } else {
      table.add({dead->entry.id,
                 dead->entry.type,
                 std::to_string(dead->entry.retries),
                 shown(screen, dead->moved_at),
                 dead->reason,
                 {dead->entry.error.value_or(""), Style::kRed}});
    }
  });
  table.print();
  if (damaged > 0) screen.note(fmt::format("{} damaged lines were passed over", damaged));
  return done;
}

Result<int> dead(Session& session, const DeadOptions& options) {
  auto spool = options.spool.open();
  if (!spool) return tl::unexpected(std::move(spool.error()));
  const bool changes = options.redrive || options.purge;
  if (changes && options.ids.empty() != options.all) {
    return refuse(ErrorCode::kInvalid, "which dead letters? Name their ids, or --all");
  }
  const spool::Chosen chosen = [&](const spool::DeadEntry& each) {
    return options.ids.empty() ||
           std::ranges::find(options.ids, each.entry.id) != options.ids.end();
  };
  Screen& screen = session.screen();
  if (!changes) {
    if (auto done = list_dead(screen, spool->path(), chosen); !done) {
      return tl::unexpected(std::move(done.error()));
    }
    return 0;
  }
  const auto count = options.redrive ? spool::redrive_dead(*spool, chosen)
                                     : spool::purge_dead(spool->path(), chosen);
  if (!count) return tl::unexpected(count.error());
  if (*count == 0 && !options.ids.empty()) {
    return refuse(ErrorCode::kNotFound, "there is no such dead letter");
  }
  screen.line(screen.json()
                  ? fmt::format("{{\"{}\":{}}}", options.redrive ? "redriven" : "purged", *count)
                  : fmt::format("{} {}", *count, options.redrive ? "put back" : "removed"));
  return 0;
}

}  // namespace

Action add_spool_dead(Arguments& arguments) {
  auto options = std::make_shared<DeadOptions>();
  options->spool.add_to(arguments);
  arguments.option("ID", options->ids, "Only these");
  const Argument redrive = arguments.flag("--redrive", options->redrive,
                                          "Put them back, to be sent as if they were new");
  arguments.flag("--purge", options->purge, "Remove them for good").excludes(redrive);
  arguments.flag("--all", options->all, "All of them, with --redrive or --purge");
  return [options](Session& session) { return dead(session, *options); };
}

}  // namespace retsu::cli
