// SQLite with owners and errors as values.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace retsu::sqlite {

struct Failure {
  int code = SQLITE_OK;  // SQLite's extended result code
  std::string message;

  [[nodiscard]] bool is_full() const { return (code & 0xff) == SQLITE_FULL; }
  [[nodiscard]] bool is_busy() const { return (code & 0xff) == SQLITE_BUSY; }
  [[nodiscard]] bool is_of_disk() const { return (code & 0xff) == SQLITE_IOERR; }
  [[nodiscard]] bool is_damage() const {
    return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
  }
};
template <class T>
using Outcome = tl::expected<T, Failure>;
using Done = Outcome<void>;

// For main, before anything else: SQLite counts the bytes of all memory that it takes otherwise,
// under a lock, for functions that nobody calls here. A library leaves that to its program.
void count_no_memory();

// A prepared statement: bind from 1, step until there is no more row, reset. May not outlive its
// database. One thread at a time.
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}

  // Texts and blobs must live until the statement is reset or bound anew.
  void bind(int place, std::int64_t value) { sqlite3_bind_int64(handle_.get(), place, value); }
  void bind(int place, std::string_view text) {
    sqlite3_bind_text64(handle_.get(), place, text.data() ? text.data() : "", text.size(),
                        SQLITE_STATIC, SQLITE_UTF8);
  }
  void bind_blob(int place, std::string_view bytes) {
    sqlite3_bind_blob64(handle_.get(), place, bytes.data() ? bytes.data() : "", bytes.size(),
                        SQLITE_STATIC);
  }
  void bind_null(int place) { sqlite3_bind_null(handle_.get(), place); }

  Outcome<bool> step();  // true: a row
  Done run();            // steps to the end and resets
  void reset() { sqlite3_reset(handle_.get()); }

  // SQLITE_NULL, SQLITE_INTEGER and so on.
  [[nodiscard]] int type(int column) const { return sqlite3_column_type(handle_.get(), column); }
  [[nodiscard]] bool is_null(int column) const { return type(column) == SQLITE_NULL; }
  [[nodiscard]] std::int64_t integer(int column) const {
    return sqlite3_column_int64(handle_.get(), column);
  }
  // Valid until the next step.
  [[nodiscard]] std::string_view text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

// A connection. One thread at a time.
class Database {
 public:
  // `flags` as of sqlite3_open_v2; the file system may be another one than the default.
  static Outcome<Database> open(const std::string& path, int flags, const char* vfs = nullptr);

  Done execute(const std::string& sql);  // one statement or more, rows passed over
  Outcome<Statement> prepare(std::string_view sql);
  struct Prepared {
    Statement& statement;
    std::string_view sql;
  };
  Done prepare(std::initializer_list<Prepared> statements);
  Outcome<std::int64_t> integer(std::string_view sql);  // the first column of the first row
  Outcome<std::string> text(std::string_view sql);      // likewise
  [[nodiscard]] bool in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }
  // If there is a transaction. False: nobody knows what is there.
  bool roll_back() { return !in_transaction() || execute("ROLLBACK"); }
  [[nodiscard]] Failure failure(int code) const;
  // Of the file: a header that lets nobody write is found by no check of SQLite's, and told only to
  // those who try.
  Done check_header();
  // From now on a function of two texts in SQL, false of NULL.
  void add_test(const char* name, bool (*test)(std::string_view, std::string_view));
  // While a statement runs, `tick` is called every now and then on its thread. It must not use the
  // connection, and outlives it or is taken away with a null one.
  void on_tick(const std::function<void()>* tick);

  // Every page of this database into another, which loses its own. Of one moment, if there is a
  // transaction. Tells how many pages of how many are there.
  Done copy_into(Database& copy, const std::function<void(std::int64_t, std::int64_t)>& tell);

  // From now on the caller carries the log (of WAL mode) over into the file, and SQLite does not.
  // It is long when it has so many pages.
  void keep_log(int long_log) {
    log_->long_log = log_->long_at = long_log;
    sqlite3_wal_hook(
        handle_.get(),
        [](void* log, sqlite3*, const char*, int pages) {
          static_cast<Log*>(log)->pages = pages;
          return SQLITE_OK;
        },
        log_.get());
  }
  [[nodiscard]] int log_pages() const { return log_->pages; }  // after the last commit
  // Whether it has begun to be long, or has grown by as much since it was last said to be so: while
  // somebody reads it cannot begin anew, however often it is carried over.
  bool log_is_long();
  // As far as readers allow. With `from_start`, the log is written over from its beginning next.
  Done carry_over_log(bool from_start);

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  struct Log {
    int long_log = 0;
    int pages = 0;
    int seen = 0;  // of them, when it was last asked whether it is long
    int long_at = 0;
  };
  explicit Database(sqlite3* handle) : handle_(handle) {}

  std::unique_ptr<sqlite3, Close> handle_;
  std::unique_ptr<Log> log_ = std::make_unique<Log>();
};

}  // namespace retsu::sqlite
