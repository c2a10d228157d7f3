#include "broker/embedded/journal_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/embedded/schema.h"

namespace retsu::embedded {
namespace {

constexpr const char* kTables =
    "CREATE TABLE journal (number INTEGER PRIMARY KEY, changes BLOB NOT NULL);"
    "CREATE TABLE belongs_to (mark INTEGER NOT NULL);";

}  // namespace

sqlite::Failure journal_is_missing() { return {SQLITE_CORRUPT, "journal.db is missing"}; }

sqlite::Outcome<JournalMark> mark_of(sqlite::Database& tables) {
  auto row = tables.prepare("SELECT mark, folded FROM journal_file");
  if (!row) return tl::unexpected(std::move(row.error()));
  const auto found = row->step();
  if (!found) return tl::unexpected(found.error());
  if (!*found) {
    return tl::unexpected(
        sqlite::Failure{SQLITE_CORRUPT, "the row of table journal_file is missing"});
  }
  return JournalMark{row->integer(0), row->integer(1)};
}

sqlite::Done check_left_over(sqlite::Database& tables, const JournalMark& mark,
                             const std::string& path, const char* vfs) {
  constexpr const char* kNewest = "SELECT coalesce(max(number), 0) FROM journal";
  if (!file_exists(path, vfs)) return {};
  const auto known = tables.integer(kNewest);
  if (!known) return tl::unexpected(known.error());
  auto file = open_to_read(path, vfs);
  const auto newest = file ? file->integer(kNewest) : tl::unexpected(std::move(file.error()));
  if (!newest) {
    // One that was never finished has no table, or a rollback journal; one that is damaged is none.
    // Other reasons pass, and it may be worth its groups.
    const int code = newest.error().code & 0xff;
    const bool is_none =
        code == SQLITE_ERROR || code == SQLITE_READONLY || newest.error().is_damage();
    return is_none ? sqlite::Done() : tl::unexpected(newest.error());
  }
  if (*newest <= std::max(mark.folded, *known)) return {};
  return tl::unexpected(
      sqlite::Failure{SQLITE_CORRUPT, "journal.db has groups that retsu.db does not know of"});
}

sqlite::Done for_each_group(sqlite::Database& database, const VisitGroup& visit) {
  auto groups = database.prepare("SELECT number, changes FROM journal ORDER BY number");
  if (!groups) return tl::unexpected(std::move(groups.error()));
  for (;;) {
    const auto more = groups->step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) return {};
    auto done = visit(static_cast<std::uint64_t>(groups->integer(0)), groups->text(1));
    if (!done) return done;
  }
}

sqlite::Outcome<JournalFile> JournalFile::make(const std::string& path, const char* vfs,
                                               std::int64_t mark, const Fill& fill) {
  remove_database(path, vfs);
  auto database = open_to_write(path, vfs, OldLog::kMayStay);
  if (!database) return tl::unexpected(std::move(database.error()));
  JournalFile made(std::move(*database));
  const auto done =
      made.database_
          .execute(fmt::format("BEGIN IMMEDIATE; {} INSERT INTO belongs_to VALUES ({});"
                               "PRAGMA application_id = {}; PRAGMA user_version = 1;",
                               kTables, mark, kJournalId))
          .and_then([&] { return made.prepare(); })
          .and_then([&] { return fill(made); })
          .and_then([&] { return made.commit(); });
  if (!done) return tl::unexpected(done.error());
  return made;
}

sqlite::Outcome<JournalFile> JournalFile::open(const std::string& path, const char* vfs,
                                               std::int64_t mark, OldLog old_log) {
  // Opening it would make it.
  if (!file_exists(path, vfs)) return tl::unexpected(journal_is_missing());
  auto database = open_to_write(path, vfs, old_log);
  if (!database) return tl::unexpected(std::move(database.error()));
  JournalFile opened(std::move(*database));
  if (auto done = check(opened.database_, mark).and_then([&] { return opened.prepare(); }); !done) {
    return tl::unexpected(std::move(done.error()));
  }
  return opened;
}

sqlite::Done JournalFile::check(sqlite::Database& database, std::int64_t mark) {
  const auto refused = [](const char* why) {
    return tl::unexpected(sqlite::Failure{SQLITE_CORRUPT, why});
  };
  const auto tables = database.integer("SELECT count(*) FROM sqlite_schema");
  if (!tables) return tl::unexpected(tables.error());
  if (*tables == 0) return refused("journal.db is empty");
  const auto found = database.integer("SELECT mark FROM belongs_to");
  if (!found) return tl::unexpected(found.error());
  if (*found != mark) return refused("journal.db is not the one that belongs to retsu.db");
  return {};
}

sqlite::Done JournalFile::prepare() {
  return database_.prepare({{begin_, "BEGIN IMMEDIATE"},
                            {add_, "INSERT INTO journal (number, changes) VALUES (?, ?)"},
                            {drop_, "DELETE FROM journal WHERE number = ?"},
                            {commit_, "COMMIT"}});
}

sqlite::Done JournalFile::add(std::uint64_t number, std::string_view group) {
  add_.bind(1, static_cast<std::int64_t>(number));
  add_.bind_blob(2, group);
  return add_.run();
}

sqlite::Done JournalFile::drop(std::uint64_t number) {
  drop_.bind(1, static_cast<std::int64_t>(number));
  return drop_.run();
}

// A failure is none of the group's: it is in the log, synced, and will be carried over later.
void JournalFile::carry_over_log() {
  if (database_.log_is_long()) (void)database_.carry_over_log(false);
}

}  // namespace retsu::embedded
