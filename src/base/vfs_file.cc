#include "base/vfs_file.h"

#include <algorithm>
#include <filesystem>

namespace retsu::sqlite {
namespace {

constexpr std::size_t kPiece = std::size_t{64}
                               << 10;  // SQLite's own takes less than 128 KiB a call

}  // namespace

struct File::Handle {
  std::string path;  // SQLite keeps a pointer to it
  std::unique_ptr<std::byte[]> memory;

  [[nodiscard]] sqlite3_file* file() const { return reinterpret_cast<sqlite3_file*>(memory.get()); }
  [[nodiscard]] const sqlite3_io_methods& methods() const { return *file()->pMethods; }
};

void File::Close::operator()(Handle* handle) const {
  if (handle->file()->pMethods != nullptr) handle->methods().xClose(handle->file());
  delete handle;
}

Done File::done(int code) const {
  if (code == SQLITE_OK) return {};
  return tl::unexpected(Failure{code, std::filesystem::path(handle_->path).filename().string() +
                                          ": " + sqlite3_errstr(code)});
}

Outcome<File> File::open(const std::string& path, Access access, const char* vfs) {
  sqlite3_vfs* files = sqlite3_vfs_find(vfs);
  const auto bytes = static_cast<std::size_t>(files->szOsFile);
  File file(std::unique_ptr<Handle, Close>(new Handle{path, std::make_unique<std::byte[]>(bytes)}));
  // As a log: nobody locks it.
  const int flags =
      SQLITE_OPEN_WAL |
      (access == Access::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  const Handle& handle = *file.handle_;
  const auto opened =
      file.done(files->xOpen(files, handle.path.c_str(), handle.file(), flags, nullptr));
  if (!opened) return tl::unexpected(opened.error());
  return file;
}

Outcome<std::int64_t> File::size() const {
  sqlite3_int64 size = 0;
  const auto known = done(handle_->methods().xFileSize(handle_->file(), &size));
  if (!known) return tl::unexpected(known.error());
  return size;
}

Outcome<std::string> File::read() const {
  const auto size = this->size();
  if (!size) return tl::unexpected(size.error());
  std::string bytes(static_cast<std::size_t>(*size), '\0');
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    const auto piece = static_cast<int>(std::min(kPiece, bytes.size() - at));
    const int code = handle_->methods().xRead(handle_->file(), bytes.data() + at, piece,
                                              static_cast<sqlite3_int64>(at));
    // It may have become shorter meanwhile.
    if (code == SQLITE_OK || code == SQLITE_IOERR_SHORT_READ) continue;
    return tl::unexpected(done(code).error());
  }
  return bytes;
}

Done File::write(std::string_view bytes, std::int64_t at) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kPiece);
    const auto written = done(handle_->methods().xWrite(handle_->file(), piece.data(),
                                                        static_cast<int>(piece.size()), at));
    if (!written) return written;
    bytes.remove_prefix(piece.size());
    at += static_cast<std::int64_t>(piece.size());
  }
  return {};
}

Done File::truncate(std::int64_t size) {
  return done(handle_->methods().xTruncate(handle_->file(), size));
}

Done File::sync() {
  return done(handle_->methods().xSync(handle_->file(), SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY));
}

}  // namespace retsu::sqlite
