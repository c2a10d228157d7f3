#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace retsu {
namespace {

tl::unexpected<std::string> failed(const std::string& what) {
  return tl::unexpected(what + ": " + std::strerror(errno));
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

tl::expected<void, std::string> replace_file(const std::string& path, std::string_view bytes) {
  const std::string draft = path + ".new";
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return failed(draft);
  const bool kept = write_all(file, bytes) && ::fsync(file) == 0;
  const int error = errno;
  ::close(file);
  errno = error;
  if (!kept) return failed(draft);
  if (std::rename(draft.c_str(), path.c_str()) != 0) return failed(path);
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return failed(folder);
  const bool synced = ::fsync(directory) == 0;
  ::close(directory);
  if (!synced) return failed(folder);
  return {};
}

}  // namespace retsu
