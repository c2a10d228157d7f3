#include "broker/embedded/snapshot.h"

#include <chrono>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include "broker/embedded/journal_file.h"
#include "broker/embedded/schema.h"
#include "broker/embedded/store_files.h"

namespace retsu::embedded {
namespace {

constexpr int kTries = 100;
constexpr auto kPause = std::chrono::milliseconds(2);
constexpr std::int64_t kFirstWithMark = 5;  // version of the tables

// The journal beside a database, at this moment. Refused: it is missing, or has another mark.
sqlite::Outcome<JournalContent> journal_of(const std::string& directory, std::int64_t mark) {
  if (!has_old_journal(directory, nullptr, mark)) return read_journal(directory, nullptr, mark);
  return open_to_read(directory + kOldJournalFile).and_then([&](sqlite::Database&& old) {
    return read_old_journal(old, mark);
  });
}

// Whether it has all that tables do not have which were written up to that group.
bool goes_on_from(const JournalContent& journal, std::uint64_t folded) {
  std::uint64_t next = folded + 1;
  for (const auto& group : journal.groups) next += group.number == next ? 1 : 0;
  return next > journal.newest && (journal.groups.empty() || journal.last() >= folded);
}

// What changes while another process works.
using Moment = std::tuple<std::int64_t, std::int64_t, std::uint64_t, std::uint64_t>;

// None: the store was closed, opened or folded meanwhile. That is not so if the moment is the same
// as the last time.
sqlite::Outcome<std::optional<Snapshot>> try_to_take(const std::string& database_file, bool is_last,
                                                     Moment& last) {
  auto tables = open_to_read(database_file);
  if (!tables) return tl::unexpected(std::move(tables.error()));
  if (auto done = tables->execute("BEGIN"); !done) return tl::unexpected(std::move(done.error()));
  const auto version = schema_version(*tables);
  if (!version) return tl::unexpected(version.error());
  Snapshot taken{*version, std::move(*tables)};
  const std::string directory = directory_of(database_file);
  JournalMark mark;
  if (*version >= kFirstWithMark) {
    const auto found = mark_of(taken.tables);
    if (!found) return tl::unexpected(found.error());
    mark = *found;
  }
  taken.has_files = mark.mark != 0;
  const bool is_copy = !database_file.ends_with(kDatabaseFile);  // beside another's journal
  if (!taken.has_files && *version >= kFirstWithMark && !is_copy) {
    const auto done = check_left_over(taken.tables, mark, directory, nullptr);
    if (!done && is_last) return tl::unexpected(done.error());
    if (!done) return std::nullopt;
  }
  auto journal =
      taken.has_files ? journal_of(directory, mark.mark) : read_journal_table(taken.tables);
  if (!journal && (is_last || !taken.has_files)) return tl::unexpected(std::move(journal.error()));
  if (!journal) return std::nullopt;
  const Moment now(mark.mark, mark.folded, journal->last(), journal->newest);
  is_last |= std::exchange(last, now) == now;
  // At last, whoever reads it finds out.
  const bool goes_on = goes_on_from(*journal, static_cast<std::uint64_t>(mark.folded));
  if (taken.has_files && !goes_on && !is_last) return std::nullopt;
  taken.journal = std::move(*journal);
  return taken;
}

}  // namespace

sqlite::Outcome<Snapshot> Snapshot::take(const std::string& database_file) {
  Moment last;
  for (int i = 1;; ++i) {
    auto taken = try_to_take(database_file, i == kTries, last);
    if (!taken) return tl::unexpected(std::move(taken.error()));
    if (*taken) return std::move(**taken);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace retsu::embedded
