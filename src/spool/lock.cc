#include "spool/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

namespace retsu::spool {
namespace {

using Steady = std::chrono::steady_clock;

std::string lock_of(const std::string& spool) { return spool + ".lock"; }

// Whoever may use the spool may hold it.
void take_after(const File& lock, const std::string& spool) {
  struct stat found {};
  struct stat own {};
  if (::stat(spool.c_str(), &found) != 0 || ::fstat(lock.number(), &own) != 0) return;
  if (own.st_mode != found.st_mode && own.st_uid == ::geteuid()) {
    (void)::fchmod(lock.number(), found.st_mode & 0666);
  }
}

}  // namespace

Result<Lock> Lock::take(const std::string& spool, What what, Millis patience,
                        const std::stop_token& stop) {
  auto file = File::open(lock_of(spool), O_RDWR | O_CREAT);
  if (!file) return tl::unexpected(std::move(file.error()));
  take_after(*file, spool);
  if (auto held = wait_for(*file, what, F_WRLCK, patience, stop); !held) {
    return tl::unexpected(std::move(held.error()));
  }
  return Lock(*std::move(file));
}

Result<Lock> Lock::share(const std::string& spool) {
  auto file = File::open(lock_of(spool), O_RDONLY);
  if (!file && file.error().code == ErrorCode::kNotFound) {
    if (::access(spool.c_str(), F_OK) != 0) return Lock(File());  // there is nothing to hold
    file = File::open(lock_of(spool), O_RDWR | O_CREAT);
  }
  if (!file && file.error().code == ErrorCode::kForbidden) return Lock(File());
  if (!file) return tl::unexpected(std::move(file.error()));
  if (auto held = wait_for(*file, What::kFile, F_RDLCK, kPatience, {}); !held) {
    return tl::unexpected(std::move(held.error()));
  }
  return Lock(*std::move(file));
}

// The lock is of the open file, not of the process: it holds between threads too. Waiting without
// end would be simpler, but a process that is stopped would stop all others.
Status Lock::wait_for(const File& file, What what, int type, Millis patience,
                      const std::stop_token& stop) {
  struct flock part {};
  part.l_type = static_cast<short>(type);
  part.l_whence = SEEK_SET;
  part.l_start = static_cast<off_t>(what);
  part.l_len = 1;
  const auto deadline = Steady::now() + patience;
  auto pause = std::chrono::microseconds(50);
  constexpr auto kLongest = std::chrono::microseconds(10'000);
  while (::fcntl(file.number(), F_OFD_SETLK, &part) != 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EACCES) return tl::unexpected(file_error(file.path(), errno));
    if (Steady::now() >= deadline || stop.stop_requested()) {
      return refuse(ErrorCode::kUnavailable, fmt::format("{}: another process has held it for {}",
                                                         file.path(), format_duration(patience)));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongest);
  }
  return {};
}

}  // namespace retsu::spool
