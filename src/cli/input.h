// What commands read: files, and standard input where `-` is named.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "model/error.h"

namespace retsu::cli {

Result<std::string> read_whole(const std::string& file);  // 64 MiB at most

// Piece by piece, in constant memory. `whole`: the bytes of the file; 0: nobody knows.
Status read_pieces(const std::string& file,
                   const std::function<Status(std::string_view piece, std::int64_t done,
                                              std::int64_t whole)>& take);

// Line by line, in constant memory.
class LineReader {
 public:
  static Result<LineReader> open(const std::string& file);
  LineReader(LineReader&& other) noexcept;
  LineReader& operator=(LineReader&& other) = delete;
  ~LineReader();

  // The next line, without its end; false: there is none. Valid until the next call. Refused: the
  // file cannot be read, or a line is longer than 4 MiB.
  Result<bool> next(std::string_view& line);

  [[nodiscard]] std::int64_t number() const { return number_; }  // of the line given last
  [[nodiscard]] std::int64_t bytes_read() const { return bytes_read_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }  // of the file; 0: nobody knows

 private:
  LineReader(int file, std::string name);

  int file_;
  std::string name_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::int64_t number_ = 0;
  std::int64_t bytes_read_ = 0;
  std::int64_t bytes_ = 0;
  bool ended_ = false;
};

}  // namespace retsu::cli
