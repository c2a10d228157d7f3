#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/check.h"

namespace retsu {

// A new directory in `parent`, which goes with all that is in it.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path())
      : path_((parent / "retsu.XXXXXX").string()) {
    RETSU_CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace retsu
