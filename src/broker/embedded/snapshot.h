#pragma once

#include <string>

#include "base/sqlite.h"
#include "broker/embedded/journal_file.h"

namespace retsu::embedded {

// One moment of a store, which another process may have open: a connection that only reads, in a
// transaction, and what the journal said then.
struct Snapshot {
  std::int64_t version = 0;  // of the tables
  sqlite::Database tables;
  JournalContent journal = {};
  bool has_files = false;  // of the journal; else it is a table

  // Refused too: a file of the journal is missing, or another one's.
  static sqlite::Outcome<Snapshot> take(const std::string& database_file);
};

}  // namespace retsu::embedded
