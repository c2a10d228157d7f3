#include "broker/embedded/store_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

namespace retsu::embedded {
namespace {

// Pages of 8 KiB: half the system calls of SQLite's own 4 for large groups, no more time for small
// ones. EXTRA, and before the mode is changed: a rollback journal that comes back with the power,
// because its folder was not synced, would take the whole store back to its first moment.
constexpr const char* kSetUp =
    "PRAGMA busy_timeout = 10000; PRAGMA page_size = 8192; PRAGMA synchronous = EXTRA; PRAGMA "
    "journal_mode = WAL; PRAGMA "
    "secure_delete = OFF;"
    "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; PRAGMA busy_timeout = 0;";

}  // namespace

bool has_store(const std::string& directory) {
  std::error_code ignored;
  return std::filesystem::exists(directory + kDatabaseFile, ignored);
}

Error store_error(const std::string& directory, const sqlite::Failure& failure) {
  if (failure.is_damage()) {
    return {ErrorCode::kUnavailable, fmt::format("the store {} is damaged: {}; put back a backup",
                                                 directory, failure.message)};
  }
  return {ErrorCode::kUnavailable,
          fmt::format("the store {} cannot be used: {}", directory, failure.message)};
}

sqlite::Outcome<sqlite::Database> open_to_read(const std::string& path, const char* vfs) {
  auto database = sqlite::Database::open(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, vfs);
  if (!database) return database;
  // Whoever has the store open holds it up for a moment when it is opened and closed.
  auto done = database->check_header().and_then(
      [&] { return database->execute("PRAGMA busy_timeout = 10000"); });
  if (!done) return tl::unexpected(std::move(done.error()));
  return database;
}

sqlite::Outcome<sqlite::Database> open_to_write(const std::string& path, const char* vfs,
                                                OldLog old_log) {
  if (vfs == nullptr) make_private_file(path);
  auto database = sqlite::Database::open(
      path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, vfs);
  if (!database) return database;
  if (auto done = database->check_header().and_then([&] { return database->execute(kSetUp); });
      !done) {
    return tl::unexpected(std::move(done.error()));
  }
  if (database->text("PRAGMA journal_mode").value_or("") != "wal") {
    return tl::unexpected(sqlite::Failure{
        SQLITE_CANTOPEN, "its file system has no shared memory, which SQLite's WAL needs"});
  }
  const auto stays = database->integer("PRAGMA wal_checkpoint(TRUNCATE)");
  const bool may_stay = old_log == OldLog::kMayStay;
  if (!stays && !(may_stay && stays.error().is_full())) return tl::unexpected(stays.error());
  if (stays && *stays != 0 && !may_stay) {
    return tl::unexpected(sqlite::Failure{
        SQLITE_BUSY, "a sync failed, and another process that reads it keeps its log"});
  }
  return database;
}

sqlite::Done check_pages(const std::string& path, const char* vfs) {
  auto database = open_to_read(path, vfs);
  if (!database) return tl::unexpected(std::move(database.error()));
  const auto answer = database->text("PRAGMA quick_check(1)");
  if (!answer) return tl::unexpected(answer.error());
  sqlite::Done done;
  for_each_problem(*answer, [&](std::string_view line) {
    done = tl::unexpected(sqlite::Failure{
        SQLITE_CORRUPT,
        fmt::format("{}: {}", std::filesystem::path(path).filename().string(), line)});
  });
  return done;
}

std::string directory_of(const std::string& database_file) {
  const std::string directory = std::filesystem::path(database_file).parent_path().string();
  return directory.empty() ? "." : directory;
}

bool file_exists(const std::string& path, const char* vfs) {
  sqlite3_vfs* files = sqlite3_vfs_find(vfs);
  int exists = 0;
  return files->xAccess(files, path.c_str(), SQLITE_ACCESS_EXISTS, &exists) == SQLITE_OK &&
         exists != 0;
}

void remove_database(const std::string& path, const char* vfs) {
  for (const char* suffix : {"-wal", "-shm", "-journal", ""}) remove_file(path + suffix, vfs);
}

void remove_file(const std::string& path, const char* vfs) {
  sqlite3_vfs* files = sqlite3_vfs_find(vfs);
  (void)files->xDelete(files, path.c_str(), 0);
}

Status make_directory(const std::string& directory) {
  namespace fs = std::filesystem;
  fs::path made = fs::absolute(directory).lexically_normal();
  if (!made.has_filename()) made = made.parent_path();
  std::error_code failure;
  std::vector<fs::path> changed;  // those that get a new name
  for (fs::path at = made; !fs::exists(at, failure) && at != at.parent_path();) {
    at = at.parent_path();
    changed.push_back(at);
  }
  fs::create_directories(made, failure);
  if (failure) {
    return refuse(ErrorCode::kUnavailable,
                  fmt::format("cannot make the directory {}: {}", directory, failure.message()));
  }
  for (const fs::path& each : changed) {
    if (auto synced = sync_path(each.string()); !synced) return synced;
  }
  return {};
}

void make_private_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0) ::close(file);
}

Status sync_path(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  const int failure = errno;
  if (file >= 0) ::close(file);
  if (synced) return {};
  return refuse(ErrorCode::kUnavailable,
                fmt::format("cannot sync {}: {}", path, std::strerror(failure)));
}

std::int64_t file_bytes(const std::string& path) {
  std::error_code failure;
  const auto bytes = std::filesystem::file_size(path, failure);
  return failure ? 0 : static_cast<std::int64_t>(bytes);
}

}  // namespace retsu::embedded
