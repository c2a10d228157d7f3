#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/commands.h"
#include "cli/keep.h"
#include "cli/options.h"
#include "cli/spool.h"
#include "cli/times.h"
#include "model/json.h"
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

// ----------------------------------------------------------------------------------------- check

struct Found {
  std::int64_t tasks = 0;
  std::int64_t bytes = 0;
  std::int64_t damaged = 0;
  std::map<std::string, std::int64_t> dead;  // by reason
  std::int64_t dead_damaged = 0;
};
constexpr auto fields_of(std::type_identity<Found>) {
  return List{
      Field{"tasks", &Found::tasks, kAlwaysShown}, Field{"bytes", &Found::bytes, kAlwaysShown},
      Field{"damaged", &Found::damaged, kAlwaysShown}, Field{"dead", &Found::dead, kAlwaysShown},
      Field{"dead_damaged", &Found::dead_damaged, kAlwaysShown}};
}

Result<int> check(Session& session, const SpoolOption& option, bool fix) {
  auto spool = option.open();
  if (!spool) return tl::unexpected(std::move(spool.error()));
  Screen& screen = session.screen();
  if (fix) {
    const auto dropped = spool->tidy();
    if (!dropped) return tl::unexpected(dropped.error());
    for (const spool::Dropped& each : *dropped) show_dropped(screen, each);
  }
  const auto contents = spool->read();
  if (!contents) return tl::unexpected(contents.error());
  Found found{.tasks = std::ssize(contents->in_order()),
              .bytes = contents->mark().size,
              .damaged = contents->damaged()};
  auto read = spool::read_dead(spool->path(), [&](std::string_view, const spool::DeadEntry* dead) {
    dead == nullptr ? ++found.dead_damaged : ++found.dead[dead->reason];
  });
  if (!read) return tl::unexpected(std::move(read.error()));
  note_damage(screen, *contents);
  if (screen.json()) {
    std::string json;
    append_json(json, found);
    screen.line(json);
  } else {
    Card card(screen);
    card.add("tasks", std::to_string(found.tasks));
    card.add("size", size_of(found.bytes));
    card.add("damaged", std::to_string(found.damaged));
    for (const auto& [reason, count] : found.dead) {
      card.add("dead: " + printable(reason), std::to_string(count));
    }
    if (found.dead_damaged > 0) card.add("dead: damaged", std::to_string(found.dead_damaged));
    card.print();
  }
  if (found.damaged == 0) return 0;
  return refuse(ErrorCode::kConflict,
                fmt::format("{}: damaged lines; retsu spool check --fix sets them aside in {}",
                            spool->path(), spool::corrupt_file_of(spool->path())));
}

}  // namespace

Action add_spool_dead(CLI::App& app) {
  auto options = std::make_shared<DeadOptions>();
  options->spool.add_to(app);
  app.add_option("ID", options->ids, "Only these");
  auto* redrive =
      app.add_flag("--redrive", options->redrive, "Put them back, to be sent as if they were new");
  app.add_flag("--purge", options->purge, "Remove them for good")->excludes(redrive);
  app.add_flag("--all", options->all, "All of them, with --redrive or --purge");
  return [options](Session& session) { return dead(session, *options); };
}

Action add_spool_check(CLI::App& app) {
  struct Options {
    SpoolOption spool;
    bool fix = false;
  };
  auto options = std::make_shared<Options>();
  options->spool.add_to(app);
  app.add_flag("--fix", options->fix,
               "Set damaged lines aside, and move what is over the limits to the dead letters");
  return [options](Session& session) { return check(session, options->spool, options->fix); };
}

}  // namespace retsu::cli
