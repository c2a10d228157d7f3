#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/write_all.h"

namespace retsu {
namespace {

tl::unexpected<std::string> failed(const std::string& what) {
  return tl::unexpected(what + ": " + std::strerror(errno));
}

}  // namespace

tl::expected<void, std::string> replace_file(const std::string& path, std::string_view bytes) {
  const std::string draft = path + ".new";
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return failed(draft);
  int error = write_all(file, bytes);
  if (error == 0 && ::fsync(file) != 0) error = errno;
  ::close(file);
  errno = error;
  if (error != 0) return failed(draft);
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
