#include "broker/embedded/store_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace retsu::embedded {

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

sqlite::Outcome<sqlite::Database> open_to_read(const std::string& path) {
  auto database = sqlite::Database::open(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  if (!database) return database;
  // Whoever has the store open holds it up for a moment when it is opened and closed.
  if (auto done = database->execute("PRAGMA busy_timeout = 10000"); !done) {
    return tl::unexpected(std::move(done.error()));
  }
  return database;
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
