#include "broker/embedded/snapshot.h"

#include <chrono>
#include <thread>

#include "broker/embedded/journal_file.h"
#include "broker/embedded/schema.h"
#include "broker/embedded/store_files.h"

namespace retsu::embedded {
namespace {

constexpr int kTries = 100;
constexpr auto kPause = std::chrono::milliseconds(2);
constexpr std::int64_t kFirstWithMark = 5;  // version of the tables

// The journal beside a database, at this moment, in a transaction. Refused: it is missing, or has
// another mark.
sqlite::Outcome<sqlite::Database> journal_of(const std::string& database_file, std::int64_t mark) {
  const std::string path = journal_beside(database_file);
  if (!file_exists(path)) return tl::unexpected(journal_is_missing());
  auto journal = open_to_read(path);
  if (!journal) return journal;
  const auto done =
      journal->execute("BEGIN").and_then([&] { return JournalFile::check(*journal, mark); });
  if (!done) return tl::unexpected(done.error());
  return journal;
}

// Whether it still has all that tables do not have which were written up to that group. A store
// keeps its newest group: one without any has never had one.
sqlite::Outcome<bool> goes_on_from(sqlite::Database& journal, std::int64_t folded) {
  const auto first = journal.integer("SELECT coalesce(min(number), 0) FROM journal");
  if (!first) return tl::unexpected(first.error());
  return *first <= folded + 1;
}

// None: the store was closed, opened or folded meanwhile.
sqlite::Outcome<std::optional<Snapshot>> try_to_take(const std::string& database_file,
                                                     bool is_last) {
  auto tables = open_to_read(database_file);
  if (!tables) return tl::unexpected(std::move(tables.error()));
  if (auto done = tables->execute("BEGIN"); !done) return tl::unexpected(std::move(done.error()));
  const auto version = schema_version(*tables);
  if (!version) return tl::unexpected(version.error());
  Snapshot taken{*version, std::move(*tables), std::nullopt};
  if (*version < kFirstWithMark) return taken;
  const auto mark = mark_of(taken.tables);
  if (!mark) return tl::unexpected(mark.error());
  if (mark->mark == 0) {
    const bool is_copy = !database_file.ends_with(kDatabaseFile);  // beside another's journal
    const auto done =
        is_copy ? sqlite::Done()
                : check_left_over(taken.tables, *mark, journal_beside(database_file), nullptr);
    if (done) return taken;
    if (is_last) return tl::unexpected(done.error());
    return std::nullopt;
  }
  auto journal = journal_of(database_file, mark->mark);
  if (!journal && is_last) return tl::unexpected(std::move(journal.error()));
  if (!journal) return std::nullopt;
  const auto goes_on = goes_on_from(*journal, mark->folded);
  if (!goes_on) return tl::unexpected(goes_on.error());
  if (!*goes_on && !is_last) return std::nullopt;  // at last, whoever reads it finds out
  taken.journal = std::move(*journal);
  return taken;
}

}  // namespace

sqlite::Outcome<Snapshot> Snapshot::take(const std::string& database_file) {
  for (int i = 1;; ++i) {
    auto taken = try_to_take(database_file, i == kTries);
    if (!taken) return tl::unexpected(std::move(taken.error()));
    if (*taken) return std::move(**taken);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace retsu::embedded
