#include "broker/embedded/backup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "broker/embedded/journal_file.h"
#include "broker/embedded/lock_file.h"
#include "broker/embedded/snapshot.h"
#include "broker/embedded/store.h"

namespace retsu::embedded {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPart = "/retsu.db.part";
constexpr const char* kStoreFiles[] = {kDatabaseFile, kJournalFiles[0], kJournalFiles[1],
                                       kOldJournalFile};

tl::unexpected<Error> failed(std::string_view what, const std::string& path, int code) {
  return refuse(code == ENOSPC ? ErrorCode::kStorageFull : ErrorCode::kUnavailable,
                fmt::format("cannot {} {}: {}", what, path, std::strerror(code)));
}

Status remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed("remove", path, errno);
  return {};
}

// Takes the directory for this process alone; it is made, with those above it, and their names are
// on the disk.
Result<LockFile> take(const std::string& directory) {
  if (auto made = make_directory(directory); !made) return tl::unexpected(std::move(made.error()));
  return LockFile::take(directory + kLockFile);
}

// What the tables do not have, into the one that a copy has for groups: then it needs no other
// file.
sqlite::Done add_groups(const JournalContent& journal, sqlite::Database& copy) {
  auto add = copy.prepare("INSERT INTO journal (number, changes) VALUES (?, ?)");
  if (!add) return tl::unexpected(std::move(add.error()));
  const auto mark = mark_of(copy);
  if (!mark) return tl::unexpected(mark.error());
  auto done = copy.execute("BEGIN; UPDATE journal_file SET mark = NULL");
  for (const auto& [number, bytes] : journal.groups) {
    if (number <= static_cast<std::uint64_t>(mark->folded)) continue;
    add->bind(1, static_cast<std::int64_t>(number));
    add->bind_blob(2, bytes);
    if (done) done = add->run();
  }
  return done.and_then([&] { return copy.execute("COMMIT"); });
}

// The pages say that the database has a log, as the one that they come from: from now on it has
// none, and what was in it is in the file.
sqlite::Done do_without_log(sqlite::Database& copy) {
  const auto mode = copy.text("PRAGMA journal_mode = DELETE");
  if (!mode) return tl::unexpected(mode.error());
  if (*mode != "delete") return tl::unexpected(sqlite::Failure{SQLITE_FULL, "its log stays"});
  return {};
}

// A moment of a store as one database, not yet synced.
sqlite::Done write_copy(Snapshot& store, const std::string& part, const OnProgress& on_progress) {
  make_private_file(part);
  auto copy = sqlite::Database::open(part, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX);
  if (!copy) return tl::unexpected(std::move(copy.error()));
  return copy->execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")
      .and_then([&] {
        return store.tables.copy_into(*copy, [&](std::int64_t pages, std::int64_t whole) {
          if (on_progress) on_progress("copying", pages, whole);
        });
      })
      .and_then([&] { return store.has_files ? add_groups(store.journal, *copy) : sqlite::Done(); })
      .and_then([&] { return do_without_log(*copy); });
}

// One moment of the store in `from`, as `to`/retsu.db.part, verified and synced.
Result<Verdict> copy(const std::string& from, const std::string& to,
                     const OnProgress& on_progress) {
  const std::string part = to + kPart;
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) {  // of one that was killed
    if (auto done = remove(part + suffix); !done) return tl::unexpected(std::move(done.error()));
  }
  {
    auto store = Snapshot::take(from + kDatabaseFile);
    if (!store) return tl::unexpected(store_error(from, store.error()));
    if (const auto done = write_copy(*store, part, on_progress); !done) {
      (void)remove(part);
      if (done.error().is_full()) return failed("write", part, ENOSPC);
      return tl::unexpected(store_error(from, done.error()));
    }
  }
  auto verdict = sync_path(part).and_then([&](auto) { return verify(part, on_progress); });
  if (!verdict) return verdict;
  if (verdict->problems.empty()) return verdict;
  (void)remove(part);
  return refuse(ErrorCode::kUnavailable,
                fmt::format("the store {} is damaged: {}", from, verdict->problems.front()));
}

Status put_in_place(const std::string& directory) {
  const std::string part = directory + kPart;
  const std::string whole = directory + kDatabaseFile;
  if (::rename(part.c_str(), whole.c_str()) != 0) return failed("rename", part, errno);
  return sync_path(directory);
}

tl::unexpected<Error> no_store(const std::string& directory) {
  return refuse(ErrorCode::kUnavailable, fmt::format("there is no store in {}", directory));
}

// The store's files under names of their own, then away from their old ones: the tables first, so
// that they are never seen without log and journal. In between they have both names, and nothing is
// lost.
Result<std::string> set_aside(const std::string& directory, TimePoint now) {
  std::string stamp = format_time(now);
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':'; });
  const auto aside = [&](const char* file) {
    return fmt::format("{}{}.before-{}", directory, file, stamp);
  };
  for (const char* file : kStoreFiles) {
    for (const char* suffix : {"", "-wal"}) {
      const std::string name = directory + file + suffix;
      if (::link(name.c_str(), (aside(file) + suffix).c_str()) != 0 && errno != ENOENT) {
        return failed("set aside", name, errno);
      }
    }
  }
  if (auto done = sync_path(directory); !done) return tl::unexpected(std::move(done.error()));
  for (const char* file : kStoreFiles) {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      auto done = remove(directory + file + suffix);
      if (!done) return tl::unexpected(std::move(done.error()));
    }
  }
  if (auto done = sync_path(directory); !done) return tl::unexpected(std::move(done.error()));
  return aside(kDatabaseFile);
}

}  // namespace

Result<Verdict> backup(const std::string& from, const std::string& to,
                       const OnProgress& on_progress) {
  if (!has_store(from)) return no_store(from);
  const auto taken = [&] {
    return refuse(ErrorCode::kConflict,
                  fmt::format("{} has a store already: name a new directory", to));
  };
  if (has_store(to)) return taken();
  const auto lock = take(to);
  if (!lock) return tl::unexpected(lock.error());
  if (has_store(to)) return taken();
  auto verdict = copy(from, to, on_progress);
  if (!verdict) return verdict;
  if (auto done = put_in_place(to); !done) return tl::unexpected(std::move(done.error()));
  return verdict;
}

Result<Restored> restore(const std::string& from, const std::string& to, bool force, TimePoint now,
                         const OnProgress& on_progress) {
  if (!has_store(from)) return no_store(from);
  std::error_code ignored;
  if (fs::equivalent(from, to, ignored)) {
    return refuse(ErrorCode::kInvalid, fmt::format("{} cannot be restored from itself", to));
  }
  Restored restored;
  {
    const auto lock = take(to);
    if (!lock) return tl::unexpected(lock.error());
    if (has_store(to) && !force) {
      return refuse(ErrorCode::kConflict,
                    fmt::format("{} has a store already, which only force sets aside", to));
    }
    auto verdict = copy(from, to, on_progress);
    if (!verdict) return tl::unexpected(std::move(verdict.error()));
    restored.verdict = std::move(*verdict);
    const bool leaves_some = file_bytes(to + kDatabaseFile + "-wal") > 0 || has_journal(to) ||
                             file_exists(to + kOldJournalFile);
    if (has_store(to) || leaves_some) {
      auto aside = set_aside(to, now);
      if (!aside) return tl::unexpected(std::move(aside.error()));
      restored.set_aside = std::move(*aside);
    }
    if (auto done = put_in_place(to); !done) return tl::unexpected(std::move(done.error()));
  }
  // As the next user will: it loads, and is ready to work.
  auto store = Store::open(to);
  if (!store) return tl::unexpected(std::move(store.error()));
  Engine engine;
  if (auto done = (*store)->reopen(engine); !done) return tl::unexpected(std::move(done.error()));
  return restored;
}

}  // namespace retsu::embedded
