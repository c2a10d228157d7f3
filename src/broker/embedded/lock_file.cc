#include "broker/embedded/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <tuple>

namespace retsu::embedded {

Result<LockFile> LockFile::take(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) {
    return refuse(ErrorCode::kUnavailable,
                  fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  }
  LockFile lock(file);
  std::array<char, 64> holder{};
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    const ssize_t read = ::pread(file, holder.data(), holder.size() - 1, 0);
    const std::string name(holder.data(), read > 0 ? static_cast<std::size_t>(read) : 0);
    return refuse(ErrorCode::kConflict,
                  fmt::format("{} is held by process {}", path, name.empty() ? "?" : name));
  }
  const std::string me = fmt::format("{}", ::getpid());
  // The name is for people; if it cannot be written the lock is held all the same.
  std::ignore = ::ftruncate(file, 0) == 0 && ::pwrite(file, me.data(), me.size(), 0) > 0;
  return lock;
}

LockFile::~LockFile() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace retsu::embedded
