// The system calls that can touch files, and which of their arguments say what.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

#if defined(__x86_64__)  // elsewhere some of them do not exist

namespace retsu::file_calls {

// An argument that names a file.
struct NamesFile {
  enum class Kind : std::uint8_t { kNothing, kDescriptor, kPath, kPathAt };
  Kind kind = Kind::kNothing;
  int argument = 0;
};
constexpr NamesFile fd(int argument) { return {NamesFile::Kind::kDescriptor, argument}; }
constexpr NamesFile path(int argument) { return {NamesFile::Kind::kPath, argument}; }
// Which begins at the folder that this argument says; the next one is the path.
constexpr NamesFile at(int argument) { return {NamesFile::Kind::kPathAt, argument}; }

// What the argument counts that says how much is written.
enum class Written : std::uint8_t { kNone, kBytes, kPieces };

struct Row {
  std::uint64_t number;
  const char* name;
  NamesFile file;
  NamesFile other = {};
  Written written = Written::kNone;
  int length = 0;  // the argument
};

inline constexpr Row kRows[] = {
    {SYS_open, "open", path(0)},
    {SYS_openat, "openat", at(0)},
    {SYS_creat, "creat", path(0)},
    {SYS_read, "read", fd(0)},
    {SYS_pread64, "pread64", fd(0)},
    {SYS_readv, "readv", fd(0)},
    {SYS_preadv, "preadv", fd(0)},
    {SYS_write, "write", fd(0), {}, Written::kBytes, 2},
    {SYS_pwrite64, "pwrite64", fd(0), {}, Written::kBytes, 2},
    {SYS_writev, "writev", fd(0), {}, Written::kPieces, 2},
    {SYS_pwritev, "pwritev", fd(0), {}, Written::kPieces, 2},
    {SYS_lseek, "lseek", fd(0)},
    {SYS_fsync, "fsync", fd(0)},
    {SYS_fdatasync, "fdatasync", fd(0)},
    {SYS_ftruncate, "ftruncate", fd(0)},
    {SYS_truncate, "truncate", path(0)},
    {SYS_rename, "rename", path(0), path(1)},
    {SYS_renameat, "renameat", at(0), at(2)},
    {SYS_renameat2, "renameat2", at(0), at(2)},
    {SYS_unlink, "unlink", path(0)},
    {SYS_unlinkat, "unlinkat", at(0)},
    {SYS_link, "link", path(0), path(1)},
    {SYS_linkat, "linkat", at(0), at(2)},
    {SYS_flock, "flock", fd(0)},
    {SYS_fcntl, "fcntl", fd(0)},
    {SYS_mkdir, "mkdir", path(0)},
    {SYS_mkdirat, "mkdirat", at(0)},
    {SYS_rmdir, "rmdir", path(0)},
    {SYS_fchmod, "fchmod", fd(0)},
    {SYS_fchown, "fchown", fd(0)},
    {SYS_close, "close", fd(0)},
    {SYS_fallocate, "fallocate", fd(0)},
    {SYS_copy_file_range, "copy_file_range", fd(2), fd(0), Written::kBytes, 4},
    {SYS_sendfile, "sendfile", fd(0), fd(1), Written::kBytes, 3},
};

}  // namespace retsu::file_calls

#endif
