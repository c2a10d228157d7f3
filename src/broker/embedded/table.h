// A kind of row in its SQL table, column by column from the table of its fields.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>
#include <string>
#include <vector>

#include "base/sqlite.h"
#include "broker/embedded/stored.h"

namespace retsu::embedded {

template <class T>
void add_columns(std::vector<std::string>& names) {
  for_each_field<T>([&](const auto& field) {
    using Member = std::remove_cvref_t<decltype(std::declval<T>().*field.member)>;
    if constexpr (std::is_same_v<Member, boost::intrusive_ptr<engine::Line>>) {
      names.insert(names.end(), {"queue", "user"});
    } else if constexpr (kIsPointer<Member>) {
      using Pointed = std::remove_const_t<typename Member::element_type>;
      if constexpr (kByFields<Pointed>) {
        add_columns<Pointed>(names);
      } else {
        names.emplace_back(field.name);
      }
    } else if constexpr (kByFields<Member> && !std::is_same_v<Member, engine::Waits>) {
      add_columns<Member>(names);
    } else {
      names.emplace_back(field.name);
    }
  });
}
template <class Row>
std::vector<std::string> columns_of() {
  std::vector<std::string> names;
  add_columns<Row>(names);
  return names;
}

// Binds values one after the other. Keeps what must live until the statement has run.
class Binder {
 public:
  explicit Binder(sqlite::Statement& statement) : statement_(statement) {}

  template <class T>
  void add(const T& value) {
    if constexpr (std::is_same_v<T, boost::intrusive_ptr<engine::Line>>) {
      add(value->queue->name);
      add(value->user);
    } else if constexpr (kIsPointer<T>) {
      using Pointed = std::remove_const_t<typename T::element_type>;
      if (value) {
        add(*value);
      } else if constexpr (kByFields<Pointed>) {
        static const std::size_t columns = columns_of<Pointed>().size();
        for (std::size_t i = 0; i < columns; ++i) statement_.bind_null(++place_);
      } else {
        statement_.bind_null(++place_);
      }
    } else if constexpr (kIsOptional<T>) {
      value ? add(*value) : statement_.bind_null(++place_);
    } else if constexpr (std::is_same_v<T, TimePoint>) {
      value == kNever ? statement_.bind_null(++place_)
                      : statement_.bind(++place_, std::int64_t{value.time_since_epoch().count()});
    } else if constexpr (std::is_enum_v<T>) {
      statement_.bind(++place_, name_of(value));
    } else if constexpr (std::is_integral_v<T>) {
      statement_.bind(++place_, static_cast<std::int64_t>(value));
    } else if constexpr (std::is_base_of_v<Text, T>) {
      value.view().empty() ? statement_.bind_null(++place_)
                           : statement_.bind(++place_, value.view());
    } else if constexpr (std::is_same_v<T, std::string>) {
      statement_.bind(++place_, std::string_view(value));
    } else if constexpr (std::is_same_v<T, engine::Waits> || kIsArray<T>) {
      std::string& text = kept_.emplace_back();
      Packer out(text);
      pack(out, T{}, value);
      statement_.bind_blob(++place_, text);
    } else if constexpr (kByFields<T>) {
      for_each_field<T>([&](const auto& field) { add(value.*field.member); });
    } else {
      std::string& text = kept_.emplace_back();
      append_json(text, value);
      statement_.bind(++place_, std::string_view(text));
    }
  }

 private:
  sqlite::Statement& statement_;
  int place_ = 0;
  std::deque<std::string> kept_;
};

// Reads columns one after the other. After a value that is not what a Binder wrote, failed() is the
// number of its column; 0: none.
class ColumnReader {
 public:
  ColumnReader(const sqlite::Statement& statement, Engine& engine)
      : statement_(statement), engine_(engine) {}

  template <class T>
  void next(T& value) {
    if constexpr (std::is_same_v<T, boost::intrusive_ptr<engine::Line>>) {
      const std::string_view queue = statement_.text(column_++);
      value = engine_.line(queue, statement_.text(column_++));
    } else if constexpr (kIsPointer<T>) {
      next_pointer(value);
    } else if constexpr (kIsOptional<T>) {
      if (is_null()) {
        ++column_;
        value.reset();
      } else {
        next(value.emplace());
      }
    } else if constexpr (std::is_same_v<T, TimePoint>) {
      const bool never = is_null();
      const bool fits = never || statement_.is_integer(column_);
      value = never ? kNever : TimePoint(Millis(statement_.integer(column_)));
      ++column_;
      if (!fits) fail();
    } else if constexpr (std::is_enum_v<T>) {
      const auto found = value_of<T>(statement_.text(column_++));
      if (!found) return fail();
      value = *found;
    } else if constexpr (std::is_integral_v<T>) {
      const bool fits = statement_.is_integer(column_);
      const std::int64_t number = statement_.integer(column_++);
      value = static_cast<T>(number);
      if (!fits || static_cast<std::int64_t>(value) != number) fail();
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      value = T(statement_.text(column_++));
    } else if constexpr (std::is_same_v<T, engine::Waits> || kIsArray<T>) {
      Unpacker in(statement_.text(column_++), engine_);
      unpack(in, value);
      if (in.failed()) fail();
    } else if constexpr (kByFields<T>) {
      for_each_field<T>([&](const auto& field) { next(value.*field.member); });
    } else {
      auto read = from_json<T>(statement_.text(column_++));
      if (!read) return fail();
      value = std::move(*read);
    }
  }

  [[nodiscard]] int failed() const { return failed_; }

 private:
  // A struct that is not there has NULL in its first column.
  template <class Pointer>
  void next_pointer(Pointer& value) {
    using Pointed = std::remove_const_t<typename Pointer::element_type>;
    const bool absent = is_null();
    if constexpr (kByFields<Pointed>) {
      static const auto columns = static_cast<int>(columns_of<Pointed>().size());
      if (absent) column_ += columns;
    } else if (absent) {
      ++column_;
    }
    value = nullptr;
    if (absent) return;
    auto* made = new Pointed();
    value = Pointer(made);
    next(*made);
  }
  [[nodiscard]] bool is_null() const { return statement_.is_null(column_); }
  void fail() {
    if (failed_ == 0) failed_ = column_;
  }

  const sqlite::Statement& statement_;
  Engine& engine_;
  int column_ = 0;
  int failed_ = 0;
};

template <>
inline constexpr bool kByFields<StoredQueue> = true;
template <>
inline constexpr bool kByFields<StoredLine> = true;
template <>
inline constexpr bool kByFields<StoredMeta> = true;

// The statements that a kind of row needs.
template <class Row>
class Table {
 public:
  sqlite::Done prepare(sqlite::Database& database) {
    const std::vector<std::string> columns = columns_of<Row>();
    const auto first = columns.begin();
    const std::vector<std::string> keys(first, first + Kind<Row>::kKeys);
    // A payload that is parked is there already.
    std::vector<std::string> changes;
    for (auto column = first + Kind<Row>::kKeys; column != columns.end(); ++column) {
      changes.push_back(*column == "payload"
                            ? std::string("payload = coalesce(excluded.payload, payload)")
                            : fmt::format("{0} = excluded.{0}", *column));
    }
    const std::string put = fmt::format(
        "INSERT INTO {} ({}) VALUES (?{}) ON CONFLICT ({}) DO UPDATE SET {}", Kind<Row>::kTable,
        fmt::join(columns, ", "), repeated(", ?", columns.size() - 1), fmt::join(keys, ", "),
        fmt::join(changes, ", "));
    const std::string remove =
        fmt::format("DELETE FROM {} WHERE {} = ?", Kind<Row>::kTable, fmt::join(keys, " = ? AND "));
    return take(put_, database.prepare(put)).and_then([&] {
      return take(remove_, database.prepare(remove));
    });
  }

  sqlite::Done put(const Row& row) {
    Binder binder(put_);
    for_each_field<Row>([&](const auto& field) { binder.add(row.*field.member); });
    return put_.run();
  }
  sqlite::Done remove(const Key<Row>& key) {
    Binder binder(remove_);
    std::apply([&](const auto&... part) { (binder.add(part), ...); }, key);
    return remove_.run();
  }

  static std::string select() {
    const std::vector<std::string> columns = columns_of<Row>();
    const auto first = columns.begin();
    return fmt::format("SELECT {} FROM {} ORDER BY {}", fmt::join(columns, ", "), Kind<Row>::kTable,
                       fmt::join(first, first + Kind<Row>::kKeys, ", "));
  }

 private:
  static std::string repeated(std::string_view text, std::size_t times) {
    std::string all;
    while (times-- > 0) all += text;
    return all;
  }
  static sqlite::Done take(sqlite::Statement& to, sqlite::Outcome<sqlite::Statement> made) {
    if (!made) return tl::unexpected(std::move(made.error()));
    to = std::move(*made);
    return {};
  }

  sqlite::Statement put_;
  sqlite::Statement remove_;
};

}  // namespace retsu::embedded
