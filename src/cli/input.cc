#include "cli/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace retsu::cli {
namespace {

constexpr std::size_t kPiece = 256 << 10;
constexpr std::size_t kLargestFile = 64 << 20;
constexpr std::size_t kLongestLine = kLargestFile;  // what no push takes is the queue's to say

tl::unexpected<Error> unreadable(const std::string& name, int code) {
  return refuse(ErrorCode::kInvalid, fmt::format("cannot read {}: {}", name, std::strerror(code)));
}

int open_file(const std::string& file) {
  return file == "-" ? ::dup(STDIN_FILENO) : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
}

// Appends a piece; 0: the end.
ssize_t read_piece(int file, std::string& to) {
  const std::size_t before = to.size();
  to.resize(before + kPiece);
  ssize_t read = 0;
  do {
    read = ::read(file, to.data() + before, kPiece);
  } while (read < 0 && errno == EINTR);
  to.resize(before + static_cast<std::size_t>(read > 0 ? read : 0));
  return read;
}

}  // namespace

Result<std::string> read_whole(const std::string& file) {
  const int opened = open_file(file);
  if (opened < 0) return unreadable(file, errno);
  std::string text;
  ssize_t read = 1;
  int failure = 0;
  while (read > 0 && text.size() <= kLargestFile) {
    read = read_piece(opened, text);
    if (read < 0) failure = errno;
  }
  ::close(opened);
  if (failure != 0) return unreadable(file, failure);
  if (text.size() > kLargestFile) {
    return refuse(ErrorCode::kTooLarge, fmt::format("{} is larger than 64 MiB", file));
  }
  return text;
}

Status read_pieces(const std::string& file,
                   const std::function<Status(std::string_view piece, std::int64_t done,
                                              std::int64_t whole)>& take) {
  const int opened = open_file(file);
  if (opened < 0) return unreadable(file, errno);
  struct stat about {};
  const bool is_known = ::fstat(opened, &about) == 0 && S_ISREG(about.st_mode);
  const std::int64_t whole = is_known ? about.st_size : 0;
  Status status;
  std::string piece;
  for (std::int64_t done = 0; status;) {
    piece.clear();
    const ssize_t read = read_piece(opened, piece);
    if (read == 0) break;
    if (read < 0) {
      status = unreadable(file, errno);
      break;
    }
    done += read;
    status = take(piece, done, whole);
  }
  ::close(opened);
  return status;
}

Result<LineReader> LineReader::open(const std::string& file) {
  const int opened = open_file(file);
  if (opened < 0) return unreadable(file, errno);
  return LineReader(opened, file);
}

LineReader::LineReader(int file, std::string name) : file_(file), name_(std::move(name)) {
  struct stat about {};
  if (::fstat(file_, &about) == 0 && S_ISREG(about.st_mode)) bytes_ = about.st_size;
}

LineReader::LineReader(LineReader&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      name_(std::move(other.name_)),
      buffer_(std::move(other.buffer_)),
      at_(other.at_),
      number_(other.number_),
      bytes_read_(other.bytes_read_),
      bytes_(other.bytes_),
      ended_(other.ended_) {}

LineReader::~LineReader() {
  if (file_ >= 0) ::close(file_);
}

Result<bool> LineReader::next(std::string_view& line) {
  for (std::size_t looked = at_;;) {
    auto end = buffer_.find('\n', looked);
    if (end == std::string::npos && ended_) end = buffer_.size();
    if (end != std::string::npos) {
      if (end == buffer_.size() && at_ == end) return false;
      line = std::string_view(buffer_).substr(at_, end - at_);
      if (line.ends_with('\r')) line.remove_suffix(1);
      bytes_read_ += static_cast<std::int64_t>(end - at_ + 1);
      at_ = std::min(end + 1, buffer_.size());
      ++number_;
      return true;
    }
    buffer_.erase(0, at_);
    at_ = 0;
    looked = buffer_.size();
    if (looked > kLongestLine) {
      return refuse(ErrorCode::kTooLarge,
                    fmt::format("line {}: is longer than 4 MiB", number_ + 1));
    }
    const ssize_t read = read_piece(file_, buffer_);
    if (read < 0) return unreadable(name_, errno);
    ended_ = read == 0;
  }
}

}  // namespace retsu::cli
