#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace retsu {

// 0, or why not all of it could be written.
inline int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace retsu
