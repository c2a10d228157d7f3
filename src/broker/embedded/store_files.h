// The files of a store's directory.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "base/sqlite.h"
#include "model/error.h"

namespace retsu::embedded {

inline constexpr const char* kDatabaseFile = "/retsu.db";
inline constexpr const char* kJournalFiles[] = {"/journal.1", "/journal.2"};
inline constexpr const char* kOldJournalFile = "/journal.db";  // of earlier versions
inline constexpr const char* kLockFile = "/lock";
inline constexpr const char* kBallastFile = "/ballast";
inline constexpr const char* kServerFile = "/server";  // where whoever has it open serves it

// Told now and then what is being done and how far it is; `whole` 0: nobody knows.
using OnProgress =
    std::function<void(const std::string& what, std::int64_t done, std::int64_t whole)>;

bool has_store(const std::string& directory);

// What SQLite said, for the people who own the store.
Error store_error(const std::string& directory, const sqlite::Failure& failure);

// A connection that only reads, also while another process has the store open: then it may lag
// behind that one's answers by nothing, as they are given after the commit.
sqlite::Outcome<sqlite::Database> open_to_read(const std::string& path, const char* vfs = nullptr);

// A connection that makes the file if it is not there, with what every database of a store needs:
// WAL mode, and a sync for each commit. What an old log has is carried over into the file, as far
// as readers and room allow. After a sync that failed that is not enough: the log may be there in
// memory only, so it has to go, or nothing is opened.
enum class OldLog : std::uint8_t { kMayStay, kHasToGo };
sqlite::Outcome<sqlite::Database> open_to_write(const std::string& path, const char* vfs,
                                                OldLog old_log);

// Refused: what is wrong with the pages of a database, and where.
sqlite::Done check_pages(const std::string& path, const char* vfs);

// visit(line) for each that SQLite says about the pages of a database, in one answer of its checks.
template <class Visit>
void for_each_problem(std::string_view answer, Visit visit) {
  while (!answer.empty()) {
    const std::string_view line = answer.substr(0, answer.find('\n'));
    // The first says which database.
    if (line != "ok" && !line.starts_with("***")) visit(line);
    answer.remove_prefix(std::min(line.size() + 1, answer.size()));
  }
}

std::string directory_of(const std::string& database_file);

// Whether it has a byte: for SQLite a file without any is none.
bool file_exists(const std::string& path, const char* vfs = nullptr);

// The file and what SQLite keeps beside it. The file system may be another one than the default.
void remove_database(const std::string& path, const char* vfs);
void remove_file(const std::string& path, const char* vfs);

// Makes the directory, and those above it, if it is not there; their names are on the disk then.
Status make_directory(const std::string& directory);

// Makes an empty file, if it is not there, that its owner alone may read: payloads are nobody
// else's business. SQLite gives the files that it makes beside a database the mode of that.
void make_private_file(const std::string& path);

// Returns when the bytes of the file, or the names in the directory, are on the disk.
Status sync_path(const std::string& path);

// The bytes of the file; 0: there is none.
std::int64_t file_bytes(const std::string& path);

}  // namespace retsu::embedded
