// A file on SQLite's file system: what is written beside a database goes through the same seam as
// the database, and fails as it does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/sqlite.h"

namespace retsu::sqlite {

// One thread at a time. Failures have SQLite's codes, and name the file.
class File {
 public:
  enum class Access : std::uint8_t { kRead, kWrite };  // kWrite makes it if it is not there
  static Outcome<File> open(const std::string& path, Access access, const char* vfs = nullptr);

  Outcome<std::int64_t> size() const;
  Outcome<std::string> read() const;  // all of it
  Done write(std::string_view bytes, std::int64_t at);
  Done truncate(std::int64_t size);
  // Returns when the bytes are on the disk; after the first time, the file's name is too.
  Done sync();

 private:
  struct Handle;
  struct Close {
    void operator()(Handle* handle) const;
  };
  explicit File(std::unique_ptr<Handle, Close> handle) : handle_(std::move(handle)) {}
  [[nodiscard]] Done done(int code) const;

  std::unique_ptr<Handle, Close> handle_;
};

}  // namespace retsu::sqlite
