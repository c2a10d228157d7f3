#pragma once

#include <string>
#include <utility>

#include "model/error.h"

namespace retsu::embedded {

// A file that one process at a time has, and that names it. The kernel gives it back when the
// process ends, however it ends.
class LockFile {
 public:
  // Refused (`conflict`) while another process, or this one, has it: the message says which.
  static Result<LockFile> take(const std::string& path);

  LockFile(LockFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  LockFile& operator=(LockFile&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~LockFile();

 private:
  explicit LockFile(int file) : file_(file) {}
  int file_ = -1;
};

}  // namespace retsu::embedded
