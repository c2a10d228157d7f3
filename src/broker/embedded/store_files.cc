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
