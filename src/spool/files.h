// Files as the spool uses them: each failure is an error that names the file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "model/error.h"

namespace retsu::spool {

Error file_error(const std::string& path, int error);  // of errno

class File {
 public:
  // New ones are their owner's alone.
  static Result<File> open(const std::string& path, int flags);

  File() = default;
  File(File&& other) noexcept
      : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~File();

  [[nodiscard]] explicit operator bool() const { return file_ >= 0; }
  [[nodiscard]] int number() const { return file_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  // Which file it is, whatever its name is now, and how long.
  struct Mark {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    bool operator==(const Mark&) const = default;
    [[nodiscard]] bool is_same_file(const Mark& other) const {
      return device == other.device && inode == other.inode;
    }
  };
  [[nodiscard]] Result<Mark> mark() const;

  [[nodiscard]] Status sync() const;
  // Bytes from this place on, as many as there are.
  [[nodiscard]] Result<std::string> read(std::int64_t offset, std::int64_t length) const;

 private:
  std::string path_;
  int file_ = -1;
};

// The directory that holds it, so that its name is durable too.
Status sync_folder_of(const std::string& path);

Result<File::Mark> mark_of(const std::string& path);  // of whatever has this name now

// Gathers what is written.
class Writer {
 public:
  explicit Writer(const File& file) : file_(file) {}
  Status add(std::string_view bytes);
  Status copy(const File& from, std::int64_t offset, std::int64_t length);
  Status flush();

 private:
  const File& file_;
  std::string buffer_;
};

// Puts a file of its own making in the place of the one at `path`, by way of a draft beside it;
// whoever may read `old`, if there is one, may read the new one. Durable when it returns; a failure
// leaves everything as it was.
Status replace_file(const std::string& path, const File& old,
                    const std::function<Status(Writer&)>& write);
std::string draft_file_of(const std::string& path);  // queue.jsonl.tmp

// A line of a file. It may be longer than anybody would write: of such a one only the beginning is
// given.
struct RawLine {
  std::int64_t offset = 0;
  std::int64_t length = 0;  // without its end
  std::string_view text;    // at most kLongestLine bytes
  bool has_end = false;     // else it is the last, and torn or written by hand
};
inline constexpr std::int64_t kLongestLine = std::int64_t{4} << 20;

// Reads [from, to) of the file line by line, in little memory. A line's text is valid until the
// next one.
class LineWalk {
 public:
  LineWalk(const File& file, std::int64_t from, std::int64_t to)
      : file_(file), at_(from), read_(from), to_(to) {}
  // False: there are no more.
  Result<bool> next(RawLine& line);

 private:
  Result<bool> fill();

  const File& file_;
  std::int64_t at_;    // where the next line begins
  std::int64_t read_;  // up to where the file has been read
  const std::int64_t to_;
  std::string buffer_;     // what was read and is not over
  std::size_t begin_ = 0;  // of the next line, in the buffer
};

}  // namespace retsu::spool
