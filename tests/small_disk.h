#pragma once

#include <sys/mount.h>

#include <string>

#include "base/temporary_directory.h"

namespace retsu {

// A file system in memory, no larger than this, where this process may mount one.
class SmallDisk {
 public:
  explicit SmallDisk(int mebibytes) {
    const std::string options = "size=" + std::to_string(mebibytes) + "m";
    mounted_ = ::mount("none", path().c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) ::umount2(path().c_str(), MNT_DETACH);
  }
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] const std::string& path() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
  bool mounted_ = false;
};

}  // namespace retsu
