#pragma once

#include <optional>
#include <string>

#include "base/sqlite.h"

namespace retsu::embedded {

// One moment of a store, which another process may have open: connections that only read, each in a
// transaction.
struct Snapshot {
  std::int64_t version = 0;  // of the tables
  sqlite::Database tables;
  std::optional<sqlite::Database> journal;  // none: the tables' database has it, or is too old

  [[nodiscard]] sqlite::Database& groups() { return journal ? *journal : tables; }

  // Refused too: the journal's file is missing, or another one.
  static sqlite::Outcome<Snapshot> take(const std::string& database_file);
};

}  // namespace retsu::embedded
