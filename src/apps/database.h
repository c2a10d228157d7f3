// The tables of an application, in an SQLite file of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/sqlite.h"
#include "base/time.h"
#include "broker/embedded/lock_file.h"
#include "model/error.h"

namespace retsu::apps {

// The rows of one query. Its statement is free again when it goes.
class Rows {
 public:
  explicit Rows(sqlite::Statement* statement, std::optional<sqlite::Failure>& failure)
      : statement_(statement), failure_(failure) {}
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  ~Rows() {
    if (statement_ != nullptr) statement_->reset();
  }

  bool next();  // false: no more, or a failure, which the database remembers
  [[nodiscard]] std::int64_t integer(int column) const { return statement_->integer(column); }
  [[nodiscard]] std::string text(int column) const { return std::string(statement_->text(column)); }
  [[nodiscard]] TimePoint time(int column) const { return TimePoint(Millis(integer(column))); }
  [[nodiscard]] bool is_null(int column) const { return statement_->is_null(column); }
  template <class T>
  [[nodiscard]] std::optional<T> maybe(int column) const {
    if (is_null(column)) return std::nullopt;
    if constexpr (std::is_same_v<T, std::string>) return text(column);
    if constexpr (std::is_same_v<T, std::int64_t>) return integer(column);
    if constexpr (std::is_same_v<T, TimePoint>) return time(column);
  }

 private:
  sqlite::Statement* const statement_;
  std::optional<sqlite::Failure>& failure_;
};

// A connection that commits durably. The first failure sticks until the transaction ends, which
// tells of it: what is done in between need not look. One thread at a time.
class Database {
 public:
  // Makes the file, or brings its tables up to date: `versions[n]` leads from version n to n + 1.
  // Refused: the file is of a later version, of another program, damaged, or in use.
  static Result<std::unique_ptr<Database>> open(const std::string& path, int application_id,
                                                std::span<const std::string_view> versions,
                                                const char* vfs = nullptr);

  // Values are int64, bool, texts, TimePoint, and std::optional of these. The text of a statement
  // lives as long as the program.
  template <class... Values>
  Rows query(std::string_view sql, const Values&... values) {
    sqlite::Statement* const statement = prepared(sql);
    if (statement != nullptr) {
      int place = 0;
      (bind(*statement, ++place, values), ...);
    }
    return Rows(statement, failure_);
  }
  template <class... Values>
  void run(std::string_view sql, const Values&... values) {
    Rows rows = query(sql, values...);
    while (rows.next()) continue;
  }
  std::int64_t last_number();  // of the row inserted last
  std::int64_t changed();      // rows by the last statement

  // All of `call` or nothing, synced when it returns. `call` answers a Result; a refusal undoes
  // everything. Not inside another one.
  template <class Call>
  auto write(Call call) -> decltype(call()) {
    if (auto began = begin(); !began) return tl::unexpected(std::move(began.error()));
    auto result = call();
    if (auto ended = end(result.has_value()); !ended)
      return tl::unexpected(std::move(ended.error()));
    return result;
  }
  // What reads found, at one moment, or why they could not.
  template <class Call>
  auto read(Call call) -> Result<decltype(call())> {
    // Outside a transaction each statement would lock the file by itself.
    const bool is_first = !database_.in_transaction();
    if (is_first) run("BEGIN");
    auto found = call();
    if (is_first) run("COMMIT");
    if (auto failed = take_failure()) {
      if (is_first) database_.roll_back();
      return tl::unexpected(*std::move(failed));
    }
    return found;
  }

 private:
  Database(std::string path, embedded::LockFile lock, sqlite::Database database)
      : path_(std::move(path)), lock_(std::move(lock)), database_(std::move(database)) {}

  static void bind(sqlite::Statement& to, int place, std::int64_t value) { to.bind(place, value); }
  static void bind(sqlite::Statement& to, int place, bool value) { to.bind(place, value ? 1 : 0); }
  static void bind(sqlite::Statement& to, int place, std::string_view value) {
    to.bind(place, value);
  }
  static void bind(sqlite::Statement& to, int place, const std::string& value) {
    to.bind(place, std::string_view(value));
  }
  static void bind(sqlite::Statement& to, int place, const char* value) {
    to.bind(place, std::string_view(value));
  }
  static void bind(sqlite::Statement& to, int place, TimePoint value) {
    to.bind(place, value.time_since_epoch().count());
  }
  template <class T>
  static void bind(sqlite::Statement& to, int place, const std::optional<T>& value) {
    value ? bind(to, place, *value) : to.bind_null(place);
  }

  sqlite::Statement* prepared(std::string_view sql);
  Status begin();
  Status end(bool keep);
  Status migrate(std::span<const std::string_view> versions, int application_id);
  std::optional<Error> take_failure();
  [[nodiscard]] Error to_error(const sqlite::Failure& failure) const;

  const std::string path_;
  const embedded::LockFile lock_;
  sqlite::Database database_;
  std::unordered_map<std::string_view, sqlite::Statement> statements_;
  std::optional<sqlite::Failure> failure_;
  bool is_unsure_ = false;  // a commit failed: what is on the disk is not known any more
};

}  // namespace retsu::apps
