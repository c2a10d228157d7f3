// The file of the journal, apart from that of the tables: so that a group waits for nothing but its
// own bytes, and rows of tables are written beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/sqlite.h"
#include "broker/embedded/store_files.h"

namespace retsu::embedded {

sqlite::Failure journal_is_missing();

// What the tables say about their journal.
struct JournalMark {
  std::int64_t mark = 0;    // of the file; 0: it is a table beside them
  std::int64_t folded = 0;  // they have all groups up to this one
};
sqlite::Outcome<JournalMark> mark_of(sqlite::Database& tables);

// Of tables whose journal has no file: one that is there all the same does not count, unless it has
// groups that are nowhere else. Then it is the mark that was lost.
sqlite::Done check_left_over(sqlite::Database& tables, const JournalMark& mark,
                             const std::string& path, const char* vfs);

// visit(number, group) for each group of a database, the first first.
using VisitGroup = std::function<sqlite::Done(std::uint64_t number, std::string_view group)>;
sqlite::Done for_each_group(sqlite::Database& database, const VisitGroup& visit);

// Groups by number, synced when commit() returns. One thread at a time.
class JournalFile {
 public:
  // An empty one in place of what is there, with the groups that `fill` adds to its table.
  // `mark`: by which open() knows it; the tables have it too.
  using Fill = std::function<sqlite::Done(JournalFile&)>;
  static sqlite::Outcome<JournalFile> make(const std::string& path, const char* vfs,
                                           std::int64_t mark, const Fill& fill);
  // Refused: it is missing, or it is another one.
  static sqlite::Outcome<JournalFile> open(const std::string& path, const char* vfs,
                                           std::int64_t mark, OldLog old_log);
  // The same, of a connection that only reads.
  static sqlite::Done check(sqlite::Database& database, std::int64_t mark);

  // A transaction: what comes before commit() is there as a whole, or not at all.
  sqlite::Done begin() { return begin_.run(); }
  sqlite::Done add(std::uint64_t number, std::string_view group);
  sqlite::Done drop(std::uint64_t number);
  sqlite::Done commit() { return commit_.run(); }
  // After a failure. False: nobody knows what is there.
  [[nodiscard]] bool roll_back() { return database_.roll_back(); }

  void carry_over_log();

  [[nodiscard]] sqlite::Database& database() { return database_; }

 private:
  explicit JournalFile(sqlite::Database database) : database_(std::move(database)) {}
  sqlite::Done prepare();

  sqlite::Database database_;
  sqlite::Statement begin_;
  sqlite::Statement add_;
  sqlite::Statement drop_;
  sqlite::Statement commit_;
};

}  // namespace retsu::embedded
