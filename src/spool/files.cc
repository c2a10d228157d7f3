#include "spool/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/write_all.h"

namespace retsu::spool {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;

struct ErrorRow {
  int error;
  ErrorCode code;
};
constexpr ErrorRow kErrors[] = {
    {ENOSPC, ErrorCode::kStorageFull}, {EDQUOT, ErrorCode::kStorageFull},
    {EFBIG, ErrorCode::kStorageFull},  {EACCES, ErrorCode::kForbidden},
    {EPERM, ErrorCode::kForbidden},    {EROFS, ErrorCode::kForbidden},
    {ENOENT, ErrorCode::kNotFound},    {EISDIR, ErrorCode::kInvalid},
    {ENOTDIR, ErrorCode::kInvalid},
};

File::Mark mark_in(const struct stat& found) { return {found.st_dev, found.st_ino, found.st_size}; }

}  // namespace

Error file_error(const std::string& path, int error) {
  const auto* const row =
      std::ranges::find_if(kErrors, [&](const ErrorRow& each) { return each.error == error; });
  return {row == std::end(kErrors) ? ErrorCode::kUnavailable : row->code,
          fmt::format("{}: {}", path, std::strerror(error))};
}

Result<File> File::open(const std::string& path, int flags) {
  File opened;
  opened.path_ = path;
  do {
    opened.file_ = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0600);
  } while (opened.file_ < 0 && errno == EINTR);
  struct stat found {};
  if (opened.file_ < 0 || ::fstat(opened.file_, &found) != 0) {
    return tl::unexpected(file_error(path, errno));
  }
  if (!S_ISREG(found.st_mode) && (flags & O_DIRECTORY) == 0) {
    return refuse(ErrorCode::kInvalid, path + ": not a file");
  }
  return opened;
}

File::~File() {
  if (file_ >= 0) ::close(file_);
}

Result<File::Mark> File::mark() const {
  struct stat found {};
  if (::fstat(file_, &found) != 0) return tl::unexpected(file_error(path_, errno));
  return mark_in(found);
}

Result<File::Mark> mark_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return tl::unexpected(file_error(path, errno));
  return mark_in(found);
}

Status File::sync() const {
  while (::fsync(file_) != 0) {
    if (errno != EINTR) return tl::unexpected(file_error(path_, errno));
  }
  return {};
}

Result<std::string> File::read(std::int64_t offset, std::int64_t length) const {
  std::string bytes(static_cast<std::size_t>(length), '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::pread(file_, bytes.data() + size, bytes.size() - size,
                                offset + static_cast<std::int64_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(file_error(path_, errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

Status sync_folder_of(const std::string& path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  const auto opened = File::open(folder, O_RDONLY | O_DIRECTORY);
  return opened ? opened->sync() : tl::unexpected(opened.error());
}

Status Writer::add(std::string_view bytes) {
  buffer_ += bytes;
  return buffer_.size() < kPiece ? Status() : flush();
}

Status Writer::flush() {
  const int error = write_all(file_.number(), buffer_);
  buffer_.clear();
  if (error != 0) return tl::unexpected(file_error(file_.path(), error));
  return {};
}

Status Writer::copy(const File& from, std::int64_t offset, std::int64_t length) {
  for (const std::int64_t end = offset + length; offset < end;) {
    const auto bytes = from.read(offset, std::min<std::int64_t>(kPiece, end - offset));
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->empty()) break;
    if (auto done = add(*bytes); !done) return done;
    offset += std::ssize(*bytes);
  }
  return {};
}

std::string draft_file_of(const std::string& path) { return path + ".tmp"; }

namespace {

void take_after(const File& draft, const File& old) {
  struct stat found {};
  if (!old || ::fstat(old.number(), &found) != 0) return;
  (void)::fchmod(draft.number(), found.st_mode & 07777);
  if (found.st_uid != ::geteuid() || found.st_gid != ::getegid()) {
    (void)!::fchown(draft.number(), found.st_uid, found.st_gid);
  }
}

}  // namespace

Status replace_file(const std::string& path, const File& old,
                    const std::function<Status(Writer&)>& write) {
  const std::string draft_path = draft_file_of(path);
  (void)::unlink(draft_path.c_str());  // of one who died, or a link to who knows what
  const auto draft = File::open(draft_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (!draft) return tl::unexpected(draft.error());
  take_after(*draft, old);
  Writer writer(*draft);
  auto done = write(writer);
  if (done) done = writer.flush();
  if (done) done = draft->sync();
  if (done && std::rename(draft_path.c_str(), path.c_str()) != 0) {
    done = tl::unexpected(file_error(path, errno));
  }
  if (!done) {
    (void)::unlink(draft_path.c_str());
    return done;
  }
  return sync_folder_of(path);
}

Result<bool> LineWalk::fill() {
  const std::int64_t wanted = std::min<std::int64_t>(kPiece, to_ - read_);
  if (wanted <= 0) return false;
  buffer_.erase(0, std::exchange(begin_, 0));
  auto piece = file_.read(read_, wanted);
  if (!piece) return tl::unexpected(std::move(piece.error()));
  read_ += std::ssize(*piece);
  buffer_ += *piece;
  return !piece->empty();
}

Result<bool> LineWalk::next(RawLine& line) {
  line = {.offset = at_};
  std::size_t looked = 0;  // no end so far, from begin_ on
  for (;;) {
    const auto end = buffer_.find('\n', begin_ + looked);
    if (end != std::string::npos) {
      line.text = std::string_view(buffer_).substr(begin_, end - begin_);
      line.has_end = true;
      begin_ = end + 1;
      break;
    }
    looked = buffer_.size() - begin_;
    if (static_cast<std::int64_t>(looked) > kLongestLine + std::int64_t{kPiece}) {
      // Its beginning is enough.
      const std::size_t more = buffer_.size() - begin_ - static_cast<std::size_t>(kLongestLine);
      buffer_.erase(begin_ + static_cast<std::size_t>(kLongestLine), more);
      line.length += static_cast<std::int64_t>(more);
      looked = static_cast<std::size_t>(kLongestLine);
    }
    const auto filled = fill();
    if (!filled) return tl::unexpected(filled.error());
    if (*filled) continue;
    line.text = std::string_view(buffer_).substr(begin_);
    begin_ = buffer_.size();
    break;
  }
  line.length += std::ssize(line.text);
  line.text = line.text.substr(0, static_cast<std::size_t>(kLongestLine));
  at_ += line.length + (line.has_end ? 1 : 0);
  return line.has_end || line.length > 0;
}

}  // namespace retsu::spool
