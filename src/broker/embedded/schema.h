// The tables of a store, and how an older store becomes a newer one.
#pragma once

#include "base/sqlite.h"

namespace retsu::embedded {

// 'rtsu': `file` and other tools can tell a store from any other SQLite file.
inline constexpr std::int64_t kApplicationId = 0x72747375;

extern const std::int64_t kSchemaVersion;  // of the tables that this program makes

// The version of the tables; 0: the database is empty. Refused: a database that is somebody else's,
// or from a later version of this program.
sqlite::Outcome<std::int64_t> schema_version(sqlite::Database& database);

// Makes the tables, or brings them up to date, in one transaction. Refused as by
// schema_version. An earlier version is made for tests.
sqlite::Done prepare_schema(sqlite::Database& database, std::int64_t version = kSchemaVersion);

}  // namespace retsu::embedded
