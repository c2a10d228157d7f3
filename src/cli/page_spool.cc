#include "cli/page_spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/write_all.h"

namespace retsu::cli {

tl::unexpected<Error> unwritable(const std::string& name, int code) {
  const bool full = code == ENOSPC || code == EDQUOT || code == EFBIG;
  return refuse(full ? ErrorCode::kStorageFull : ErrorCode::kInvalid,
                fmt::format("cannot write {}: {}", name, std::strerror(code)));
}

Result<PageSpool> PageSpool::open(const std::string& directory) {
  std::string name = directory + "/.retsu-XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) return unwritable("to " + directory, errno);
  ::unlink(name.c_str());
  return PageSpool(file, directory);
}

PageSpool::PageSpool(int file, std::string directory)
    : file_(file), directory_(std::move(directory)) {}

PageSpool::PageSpool(PageSpool&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      directory_(std::move(other.directory_)),
      ends_(std::move(other.ends_)) {}

PageSpool::~PageSpool() {
  if (file_ >= 0) ::close(file_);
}

Status PageSpool::add(std::string_view page) {
  if (const int failure = write_all(file_, page); failure != 0) {
    return unwritable("to " + directory_, failure);
  }
  ends_.push_back(ends_.back() + page.size());
  return {};
}

Status PageSpool::take_back(const std::function<Status(std::string_view page)>& take) const {
  std::string page;
  for (std::size_t i = ends_.size() - 1; i > 0; --i) {
    page.resize(ends_[i] - ends_[i - 1]);
    for (std::size_t read = 0; read < page.size();) {
      const ssize_t some = ::pread(file_, page.data() + read, page.size() - read,
                                   static_cast<off_t>(ends_[i - 1] + read));
      if (some < 0 && errno == EINTR) continue;
      if (some <= 0) {
        return refuse(ErrorCode::kInvalid, fmt::format("cannot read in {}: {}", directory_,
                                                       std::strerror(some < 0 ? errno : EIO)));
      }
      read += static_cast<std::size_t>(some);
    }
    if (auto taken = take(page); !taken) return taken;
  }
  return {};
}

}  // namespace retsu::cli
