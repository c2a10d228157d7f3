#include <fmt/format.h>

#include <map>

#include "cli/commands.h"
#include "cli/keep.h"
#include "cli/spool.h"
#include "model/json.h"
#include "spool/dead_letters.h"

namespace retsu::cli {
namespace {

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

Action add_spool_check(Arguments& arguments) {
  struct Options {
    SpoolOption spool;
    bool fix = false;
  };
  auto options = std::make_shared<Options>();
  options->spool.add_to(arguments);
  arguments.flag("--fix", options->fix,
                 "Set damaged lines aside, and move what is over the limits to the dead letters");
  return [options](Session& session) { return check(session, options->spool, options->fix); };
}

}  // namespace retsu::cli
