#include "cli/spool.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/uuid.h"
#include "base/wall_clock.h"
#include "broker/remote/spooled_push.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/task_options.h"
#include "cli/times.h"
#include "model/json.h"

namespace retsu::cli {
namespace {

using spool::Entry;
using spool::Spool;

// What take and peek answer if there is nothing.
int nothing_due(Session& session, const Spool& spool) {
  std::string when;
  if (const auto contents = spool.read()) {
    std::optional<TimePoint> next;
    const TimePoint now = wall_clock();
    for (const spool::Line& line : contents->in_order()) {
      if (line.due > now) next = std::min(next.value_or(TimePoint::max()), line.due);
    }
    if (next) when = fmt::format("; the next one is: {}", age(*next, wall_clock()));
  }
  session.screen().note("nothing is due" + when);
  return row_of(ErrorCode::kNotFound).exit_code;
}

void show(Screen& screen, const Entry& entry) {
  const std::string line = line_of(entry);
  screen.line(screen.is_terminal() ? printable(line) : line);
}

struct AddOptions {
  SpoolOption spool;
  std::string type;
  std::string urgency;
  std::string id;
  std::string payload;
  bool text = false;
  bool task = false;
};

Result<Entry> read_entry(const AddOptions& options) {
  auto payload = read_value("PAYLOAD", options.payload, options.text);
  if (!payload) return tl::unexpected(std::move(payload.error()));
  const TimePoint now = wall_clock();
  const std::string new_id = UuidSource().next(now);
  if (options.task) {
    auto task = from_json<NewTask>(payload->view());
    if (!task) return tl::unexpected(to_error(std::move(task.error())));
    const auto key = options.id.empty() ? std::nullopt : std::optional(options.id);
    const SpoolablePush push(*std::move(task), key, new_id);
    if (auto valid = push.check(); !valid) return tl::unexpected(std::move(valid.error()));
    return push.entry(now);
  }
  if (options.type.empty()) {
    return refuse(ErrorCode::kInvalid,
                  "--type: say what it is, such as upload, download or sync; or --task, if it is a "
                  "task as POST /v1/tasks takes it");
  }
  Entry entry{.id = options.id.empty() ? new_id : options.id,
              .type = options.type,
              .payload = *std::move(payload),
              .created_at = now};
  auto urgency = read_word("--priority", options.urgency, entry.priority);
  if (!urgency) return tl::unexpected(std::move(urgency.error()));
  return entry;
}

// An id that was chosen by hand may be there already.
Result<bool> has_entry(const Spool& spool, const std::string& id) {
  auto contents = spool::Contents::open(spool.path(), spool::Contents::Locked::kNo);
  if (!contents) return tl::unexpected(std::move(contents.error()));
  bool found = false;
  auto read = contents->read_lines([&](const spool::Line&, std::string_view, const Entry* entry) {
    found = found || (entry != nullptr && entry->id == id);
  });
  if (!read) return tl::unexpected(std::move(read.error()));
  return found;
}

Result<int> add_entry(Session& session, const AddOptions& options) {
  auto spool = options.spool.open(Session::Missing::kMake);
  if (!spool) return tl::unexpected(std::move(spool.error()));
  const auto entry = read_entry(options);
  if (!entry) return tl::unexpected(entry.error());
  Screen& screen = session.screen();
  if (!options.id.empty()) {
    const auto known = has_entry(*spool, options.id);
    if (!known) return tl::unexpected(known.error());
    if (*known) {
      screen.note(fmt::format("{} is in the spool already: nothing new was added", options.id));
      screen.line(printable(options.id));
      return 0;
    }
  }
  const auto added = spool->add(*entry);
  if (!added) return tl::unexpected(added.error());
  show_added(screen, *added);
  if (screen.json()) {
    show(screen, *entry);
  } else {
    screen.line(printable(entry->id));
  }
  return 0;
}

}  // namespace

void SpoolOption::add_to(Arguments& arguments) {
  arguments.option("--file", file, "The spool, one task a line [RETSU_SPOOL]").type_name("FILE");
}

Result<spool::Spool> SpoolOption::open(Session::Missing missing) const {
  const char* const variable = std::getenv("RETSU_SPOOL");
  const std::string path = !file.empty() || variable == nullptr ? file : variable;
  if (path.empty()) {
    return refuse(ErrorCode::kInvalid,
                  "which spool? Name its file with --file, or once for all commands: export "
                  "RETSU_SPOOL=queue.jsonl");
  }
  std::error_code failure;
  if (missing == Session::Missing::kRefuse && !std::filesystem::exists(path, failure)) {
    return refuse(ErrorCode::kNotFound,
                  fmt::format("there is no spool {}; retsu spool add makes one", path));
  }
  return Spool(path);
}

void show_dropped(Screen& screen, const spool::Dropped& dropped) {
  screen.note(fmt::format("{} went to the dead letters: {}{}", printable(dropped.id),
                          name_of(dropped.reason),
                          dropped.error.empty() ? "" : ": " + printable(dropped.error)));
}

void show_added(Screen& screen, const Spool::Added& added) {
  for (const spool::Dropped& each : added.dropped) show_dropped(screen, each);
  if (added.limits_failed) screen.error(*added.limits_failed);
}

void note_damage(Screen& screen, const spool::Contents& contents) {
  for (const spool::Damage& each : contents.damage()) {
    screen.note(fmt::format("line {} is damaged and was passed over: {}", each.number,
                            printable(each.problem)));
  }
  const auto more = contents.damaged() - std::ssize(contents.damage());
  if (more > 0) screen.note(fmt::format("{} more lines are damaged", more));
}

Action add_spool_add(Arguments& arguments) {
  auto options = std::make_shared<AddOptions>();
  options->spool.add_to(arguments);
  arguments
      .option("--type", options->type,
              "What it is: upload, download, sync, or a type of task of your own")
      .type_name("TYPE");
  arguments.option("--priority", options->urgency, "high, normal or low [normal]")
      .type_name("WORD");
  arguments
      .option("--id", options->id,
              "Its id, and its idempotency key when it is sent; one that is there already "
              "changes nothing [a new one]")
      .type_name("ID");
  arguments.flag("--text", options->text, "PAYLOAD is a text, not JSON");
  arguments.flag("--task", options->task, "PAYLOAD is a task, as POST /v1/tasks takes it")
      .excludes("--type")
      .excludes("--priority")
      .excludes("--text");
  arguments.option("PAYLOAD", options->payload, "JSON; - is standard input").required();
  return [options](Session& session) { return add_entry(session, *options); };
}

Action add_spool_list(Arguments& arguments) {
  auto options = std::make_shared<SpoolOption>();
  options->add_to(arguments);
  return [options](Session& session) -> Result<int> {
    const auto spool = options->open();
    if (!spool) return tl::unexpected(spool.error());
    const auto contents = spool->read();
    if (!contents) return tl::unexpected(contents.error());
    Screen& screen = session.screen();
    Table table(screen, {"ID", "TYPE", "PRIORITY", ">RETRIES", "CREATED", "NOT BEFORE", "ERROR"});
    constexpr std::size_t kPage = 1'000;
    std::size_t rows = 0;
    for (const spool::Line& line : contents->in_order()) {
      const auto entry = contents->entry_of(line);
      if (!entry) return tl::unexpected(entry.error());
      if (screen.json()) {
        screen.line(line_of(*entry));
        continue;
      }
      table.add({entry->id,
                 entry->type,
                 std::string(name_of(entry->priority)),
                 std::to_string(entry->retries),
                 shown(screen, entry->created_at),
                 shown(screen, entry->next_retry_at),
                 {entry->error.value_or(""), Style::kRed}});
      if (++rows % kPage == 0) table.print();
    }
    table.print();
    note_damage(screen, *contents);
    return 0;
  };
}

Action add_spool_peek(Arguments& arguments) {
  auto options = std::make_shared<SpoolOption>();
  options->add_to(arguments);
  return [options](Session& session) -> Result<int> {
    const auto spool = options->open();
    if (!spool) return tl::unexpected(spool.error());
    const auto entry = spool->peek();
    if (!entry) return tl::unexpected(entry.error());
    if (!*entry) return nothing_due(session, *spool);
    show(session.screen(), **entry);
    return 0;
  };
}

Action add_spool_take(Arguments& arguments) {
  auto options = std::make_shared<SpoolOption>();
  options->add_to(arguments);
  return [options](Session& session) -> Result<int> {
    auto spool = options->open();
    if (!spool) return tl::unexpected(std::move(spool.error()));
    const auto taken = spool->take();
    if (!taken) return tl::unexpected(taken.error());
    for (const spool::Dropped& each : taken->dropped) show_dropped(session.screen(), each);
    if (!taken->entry) return nothing_due(session, *spool);
    show(session.screen(), *taken->entry);
    return 0;
  };
}

Action add_spool_done(Arguments& arguments) {
  struct Options {
    SpoolOption spool;
    std::string id;
  };
  auto options = std::make_shared<Options>();
  options->spool.add_to(arguments);
  arguments.option("ID", options->id, "The entry").required();
  return [options](Session&) -> Result<int> {
    auto spool = options->spool.open();
    if (!spool) return tl::unexpected(std::move(spool.error()));
    if (auto done = spool->done(options->id); !done) return tl::unexpected(std::move(done.error()));
    return 0;
  };
}

Action add_spool_fail(Arguments& arguments) {
  struct Options {
    SpoolOption spool;
    std::string id;
    std::string error;
  };
  auto options = std::make_shared<Options>();
  options->spool.add_to(arguments);
  arguments.option("ID", options->id, "The entry").required();
  arguments.option("ERROR", options->error, "What went wrong").required();
  return [options](Session& session) -> Result<int> {
    auto spool = options->spool.open();
    if (!spool) return tl::unexpected(std::move(spool.error()));
    const auto failed = spool->fail(options->id, options->error);
    if (!failed) return tl::unexpected(failed.error());
    const Entry& entry = failed->entry;
    Screen& screen = session.screen();
    if (failed->is_dead) {
      show_dropped(screen, {entry.id, spool::Reason::kMaxRetries, options->error});
    }
    if (screen.json()) {
      show(screen, entry);
    } else if (!failed->is_dead) {
      screen.line(fmt::format("failed {} time{}; again {}", entry.retries,
                              entry.retries == 1 ? "" : "s",
                              age(*entry.next_retry_at, wall_clock())));
    }
    return 0;
  };
}

}  // namespace retsu::cli
