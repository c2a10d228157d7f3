#include "apps/database.h"

#include <fmt/format.h>

#include <filesystem>

#include "broker/embedded/store_files.h"

namespace retsu::apps {
namespace {

// Another process that reads or copies the file may be in the way for a moment. EXTRA, and before
// the mode is changed: a rollback journal that came back with the power would undo everything.
constexpr const char* kSettings =
    "PRAGMA busy_timeout = 5000; PRAGMA synchronous = EXTRA; PRAGMA journal_mode = WAL;"
    "PRAGMA wal_autocheckpoint = 8000; PRAGMA foreign_keys = ON; PRAGMA cache_size = -131072;"
    "PRAGMA temp_store = MEMORY;";

}  // namespace

bool Rows::next() {
  if (statement_ == nullptr || failure_) return false;
  const auto row = statement_->step();
  if (row) return *row;
  failure_ = row.error();
  return false;
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, int application_id,
                                                 std::span<const std::string_view> versions,
                                                 const char* vfs) {
  const auto folder = std::filesystem::path(path).parent_path();
  if (auto made = embedded::make_directory(folder); !made) return tl::unexpected(made.error());
  auto lock = embedded::LockFile::take(path + ".lock");
  if (!lock) return tl::unexpected(std::move(lock.error()));
  if (vfs == nullptr) embedded::make_private_file(path);
  auto opened = sqlite::Database::open(
      path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, vfs);
  if (!opened) {
    return refuse(ErrorCode::kUnavailable, fmt::format("{}: {}", path, opened.error().message));
  }
  auto made = std::unique_ptr<Database>(new Database(path, *std::move(lock), *std::move(opened)));
  if (auto set = made->database_.execute(kSettings); !set) {
    return tl::unexpected(made->to_error(set.error()));
  }
  if (auto ready = made->migrate(versions, application_id); !ready) {
    return tl::unexpected(std::move(ready.error()));
  }
  return made;
}

Status Database::migrate(std::span<const std::string_view> versions, int application_id) {
  return write([&]() -> Status {
    const auto version = database_.integer("PRAGMA user_version");
    const auto program = database_.integer("PRAGMA application_id");
    const auto tables = database_.integer("SELECT count(*) FROM sqlite_schema");
    for (const auto* each : {&version, &program, &tables}) {
      if (!*each) return tl::unexpected(to_error(each->error()));
    }
    if (*tables > 0 && *program != application_id) {
      return refuse(ErrorCode::kInvalid, fmt::format("{}: belongs to another program", path_));
    }
    const auto newest = static_cast<std::int64_t>(versions.size());
    if (*version < 0 || *version > newest) {
      return refuse(ErrorCode::kInvalid,
                    fmt::format("{}: has version {}, and this program knows up to {}", path_,
                                *version, newest));
    }
    if (*version == newest) return {};
    std::string sql = fmt::format("PRAGMA application_id = {};", application_id);
    for (const std::string_view step : versions.subspan(static_cast<std::size_t>(*version))) {
      sql += step;
    }
    sql += fmt::format("PRAGMA user_version = {};", newest);
    if (auto done = database_.execute(sql); !done) return tl::unexpected(to_error(done.error()));
    return {};
  });
}

std::int64_t Database::last_number() {
  Rows rows = query("SELECT last_insert_rowid()");
  return rows.next() ? rows.integer(0) : 0;
}

std::int64_t Database::changed() {
  Rows rows = query("SELECT changes()");
  return rows.next() ? rows.integer(0) : 0;
}

sqlite::Statement* Database::prepared(std::string_view sql) {
  if (failure_) return nullptr;
  if (const auto found = statements_.find(sql); found != statements_.end()) return &found->second;
  auto made = database_.prepare(sql);
  if (made) return &statements_.emplace(sql, *std::move(made)).first->second;
  failure_ = made.error();
  return nullptr;
}

Status Database::begin() {
  if (is_unsure_) {
    return refuse(ErrorCode::kUnavailable,
                  fmt::format("{}: a sync failed; start again to see what was kept", path_));
  }
  failure_.reset();
  if (auto began = database_.execute("BEGIN IMMEDIATE"); !began) {
    return tl::unexpected(to_error(began.error()));
  }
  return {};
}

Status Database::end(bool keep) {
  auto failed = take_failure();
  if (keep && !failed) {
    const auto committed = database_.execute("COMMIT");
    if (committed) return {};
    failed = to_error(committed.error());
    // The pages may be on the disk or not, and a second sync that succeeds would prove nothing.
    is_unsure_ = committed.error().is_of_disk();
    if (is_unsure_) failed->code = ErrorCode::kOutcomeUnknown;
  }
  database_.roll_back();
  if (failed) return tl::unexpected(*std::move(failed));
  return {};
}

std::optional<Error> Database::take_failure() {
  if (!failure_) return std::nullopt;
  const Error error = to_error(*failure_);
  failure_.reset();
  return error;
}

Error Database::to_error(const sqlite::Failure& failure) const {
  return {failure.is_full() ? ErrorCode::kStorageFull : ErrorCode::kUnavailable,
          fmt::format("{}: {}", path_, failure.message)};
}

}  // namespace retsu::apps
