#include "broker/embedded/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace retsu::embedded {
namespace {

// Times are milliseconds since 1970, UTC; NULL: never, or none. Rows of `journal` are newer than
// what the other tables say; they are folded in a moment later.
constexpr const char* kFirst = R"sql(
CREATE TABLE journal (number INTEGER PRIMARY KEY, changes BLOB NOT NULL);

CREATE TABLE meta (
  number INTEGER PRIMARY KEY,
  now INTEGER NOT NULL, sequence INTEGER NOT NULL, fence INTEGER NOT NULL, place INTEGER NOT NULL,
  served INTEGER NOT NULL, front INTEGER NOT NULL, claim INTEGER NOT NULL,
  cascade INTEGER NOT NULL, draining INTEGER NOT NULL, former BLOB);

CREATE TABLE queues (
  name TEXT PRIMARY KEY,
  present INTEGER NOT NULL, policy TEXT, served INTEGER NOT NULL,
  level INTEGER NOT NULL, level_at INTEGER, hold_until INTEGER, throttles INTEGER NOT NULL,
  longest_named_ms INTEGER NOT NULL, last_end INTEGER, minute INTEGER NOT NULL,
  this_minute BLOB NOT NULL, last_minute BLOB NOT NULL, counters BLOB NOT NULL) WITHOUT ROWID;

CREATE TABLE user_settings (
  queue TEXT NOT NULL, user TEXT NOT NULL, settings TEXT NOT NULL,
  PRIMARY KEY (queue, user)) WITHOUT ROWID;

CREATE TABLE lines (
  queue TEXT NOT NULL, user TEXT NOT NULL,
  place INTEGER NOT NULL, turns INTEGER NOT NULL, started INTEGER NOT NULL, waits BLOB NOT NULL,
  PRIMARY KEY (queue, user)) WITHOUT ROWID;

CREATE TABLE tasks (
  sequence INTEGER PRIMARY KEY,
  id TEXT NOT NULL, queue TEXT NOT NULL, user TEXT NOT NULL, state TEXT NOT NULL, type TEXT,
  priority INTEGER NOT NULL, payload TEXT, created_at INTEGER NOT NULL, queued_at INTEGER,
  attempts INTEGER, expired_leases INTEGER, fence INTEGER, claim_id TEXT, worker TEXT,
  run_at INTEGER, started_at INTEGER, timeout_at INTEGER, ended_at INTEGER,
  result TEXT, progress TEXT, error TEXT, reason TEXT, retryable INTEGER, history TEXT,
  unique_key TEXT, timeout_ms INTEGER, max_attempts INTEGER, retry TEXT, expires_at INTEGER,
  tags TEXT, trace TEXT, on_dependency_failure TEXT, on_dependency_cancel TEXT,
  order_key INTEGER NOT NULL, band TEXT NOT NULL, pushed_front INTEGER NOT NULL,
  to_front INTEGER NOT NULL, id_generated INTEGER NOT NULL, keeps_permit INTEGER NOT NULL,
  overdue INTEGER NOT NULL);

CREATE TABLE dependencies (
  sequence INTEGER NOT NULL, position INTEGER NOT NULL,
  task TEXT NOT NULL, depends_on TEXT NOT NULL, condition TEXT NOT NULL, met TEXT,
  missing INTEGER NOT NULL, gone INTEGER NOT NULL,
  PRIMARY KEY (sequence, position)) WITHOUT ROWID;

CREATE TABLE claims (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL, worker TEXT, claimed_at INTEGER NOT NULL, lease_ms INTEGER NOT NULL,
  lease_until INTEGER, closed_at INTEGER);

CREATE TABLE claim_tasks (
  fence INTEGER PRIMARY KEY,
  claim INTEGER NOT NULL, task TEXT NOT NULL, queue TEXT NOT NULL, user TEXT NOT NULL,
  hold TEXT NOT NULL, outcome TEXT NOT NULL, state TEXT NOT NULL);

CREATE TABLE tombstones (
  sequence INTEGER PRIMARY KEY,
  id TEXT NOT NULL, state TEXT NOT NULL, expires_at INTEGER NOT NULL);

CREATE TABLE aliases (id TEXT PRIMARY KEY, target TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE schedules (
  name TEXT PRIMARY KEY,
  spec TEXT NOT NULL, anchor INTEGER NOT NULL, next INTEGER, last_task TEXT NOT NULL,
  last_error TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE xcom (
  key TEXT PRIMARY KEY, value TEXT, expires_at INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE cascades (
  number INTEGER PRIMARY KEY,
  target TEXT NOT NULL, state TEXT NOT NULL, removed INTEGER NOT NULL, ended_at INTEGER NOT NULL,
  told INTEGER NOT NULL);

CREATE VIEW failed_jobs AS
  SELECT id, queue, user, type, payload, error, reason, retryable, attempts,
         strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
         strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch') AS failed_at
  FROM tasks WHERE state = 'FAILED';
)sql";

constexpr const char* kIdempotencyKeys = R"sql(
CREATE TABLE idempotency_keys (
  number INTEGER PRIMARY KEY,
  caller TEXT NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL,
  reply TEXT, expires_at INTEGER NOT NULL);
ALTER TABLE meta ADD COLUMN idempotency_key INTEGER NOT NULL DEFAULT 0;
)sql";

// Rows that were written before have none.
constexpr const char* kChecksums = R"sql(
ALTER TABLE meta ADD COLUMN checksum INTEGER;
ALTER TABLE queues ADD COLUMN checksum INTEGER;
ALTER TABLE user_settings ADD COLUMN checksum INTEGER;
ALTER TABLE lines ADD COLUMN checksum INTEGER;
ALTER TABLE tasks ADD COLUMN checksum INTEGER;
ALTER TABLE tasks ADD COLUMN payload_checksum INTEGER;
ALTER TABLE dependencies ADD COLUMN checksum INTEGER;
ALTER TABLE claims ADD COLUMN checksum INTEGER;
ALTER TABLE claim_tasks ADD COLUMN checksum INTEGER;
ALTER TABLE tombstones ADD COLUMN checksum INTEGER;
ALTER TABLE aliases ADD COLUMN checksum INTEGER;
ALTER TABLE schedules ADD COLUMN checksum INTEGER;
ALTER TABLE xcom ADD COLUMN checksum INTEGER;
ALTER TABLE cascades ADD COLUMN checksum INTEGER;
ALTER TABLE idempotency_keys ADD COLUMN checksum INTEGER;
)sql";

// The settled tasks that claims remember, many to a row: see claim_tasks.h.
constexpr const char* kClaimTasks = R"sql(
ALTER TABLE claim_tasks RENAME TO former_claim_tasks;
CREATE TABLE claim_tasks (place INTEGER PRIMARY KEY, tasks TEXT NOT NULL, checksum INTEGER);
INSERT INTO claim_tasks
  SELECT fence / 64,
         json_group_array(json_array(fence, claim, task, queue, user, hold, outcome, state)), NULL
  FROM (SELECT * FROM former_claim_tasks ORDER BY fence) GROUP BY fence / 64;
DROP TABLE former_claim_tasks;
)sql";

// The journal has a file of its own while a store is open, known by its mark; it is the table here
// if there is no mark. `folded`: groups up to this number are in the tables.
constexpr const char* kJournalFileMark = R"sql(
CREATE TABLE journal_file (number INTEGER PRIMARY KEY, mark INTEGER, folded INTEGER NOT NULL);
INSERT INTO journal_file SELECT 1, NULL, coalesce(min(number), 1) - 1 FROM journal;
)sql";

// The journal's file is no database any more, but two files of our own: see journal_file.h. A
// program of version 5 would look for the former.
constexpr const char* kOwnJournalFiles = "";

// Step n makes version n of version n - 1. Never changed, only added to.
constexpr const char* kSteps[] = {kFirst,      kIdempotencyKeys, kChecksums,
                                  kClaimTasks, kJournalFileMark, kOwnJournalFiles};

// What SQLite itself has noted of tables and views.
sqlite::Outcome<std::set<std::string>> tables_of(sqlite::Database& database) {
  std::set<std::string> all;
  auto tables = database.prepare("SELECT name || ' ' || coalesce(sql, '') FROM sqlite_schema");
  if (!tables) return tl::unexpected(std::move(tables.error()));
  for (;;) {
    const auto more = tables->step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) return all;
    all.emplace(tables->text(0));
  }
}

// The same of a database that was made just now.
const std::set<std::string>& tables_of_version(std::int64_t version) {
  static const auto all = [] {
    std::vector<std::set<std::string>> made;
    auto database = sqlite::Database::open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    for (const char* step : kSteps) {
      RETSU_CHECK(database && database->execute(step));
      made.push_back(tables_of(*database).value_or(std::set<std::string>()));
    }
    return made;
  }();
  return all.at(static_cast<std::size_t>(version - 1));
}

sqlite::Failure damaged(std::string what) { return {SQLITE_CORRUPT, std::move(what)}; }

}  // namespace

const std::int64_t kSchemaVersion = std::ssize(kSteps);

sqlite::Outcome<std::int64_t> schema_version(sqlite::Database& database) {
  const auto version = database.integer("PRAGMA user_version");
  if (!version) return tl::unexpected(version.error());
  const auto tables = database.integer("SELECT count(*) FROM sqlite_schema");
  if (!tables) return tl::unexpected(tables.error());
  const auto application = database.integer("PRAGMA application_id");
  if (!application) return tl::unexpected(application.error());
  if (*tables > 0 && *application != kApplicationId) {
    return tl::unexpected(sqlite::Failure{SQLITE_MISMATCH, "this database is not a store"});
  }
  const auto pages = database.integer("PRAGMA page_count");
  if (!pages) return tl::unexpected(pages.error());
  if (*tables == 0 && *pages > 1) return tl::unexpected(damaged("its tables are missing"));
  if (*tables > 0 && *version < 1) {
    return tl::unexpected(damaged(fmt::format("there is no version {} of the tables", *version)));
  }
  if (*version > kSchemaVersion) {
    return tl::unexpected(sqlite::Failure{
        SQLITE_MISMATCH, fmt::format("the store has version {}, this program knows {}: use a "
                                     "later program",
                                     *version, kSchemaVersion)});
  }
  if (*tables == 0) return 0;
  const auto found = tables_of(database);
  if (!found) return tl::unexpected(found.error());
  // Somebody may have added an index.
  if (!std::ranges::includes(*found, tables_of_version(*version))) {
    return tl::unexpected(damaged(fmt::format("its tables are not those of version {}", *version)));
  }
  for (std::int64_t later = *version + 1; later <= kSchemaVersion; ++later) {
    const auto& of_later = tables_of_version(later);
    if (std::ranges::includes(tables_of_version(*version), of_later)) continue;
    if (!std::ranges::includes(*found, of_later)) continue;
    return tl::unexpected(damaged(
        fmt::format("it says version {}, and has the tables of version {}", *version, later)));
  }
  return *version;
}

sqlite::Done prepare_schema(sqlite::Database& database, std::int64_t version) {
  const auto from = schema_version(database);
  if (!from) return tl::unexpected(from.error());
  if (*from == version) return {};
  std::string script = "BEGIN IMMEDIATE;";
  for (std::int64_t step = *from; step < version; ++step) script += kSteps[step];
  script += fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT;",
                        kApplicationId, version);
  auto done = database.execute(script);
  if (!done) database.roll_back();
  return done;
}

}  // namespace retsu::embedded
