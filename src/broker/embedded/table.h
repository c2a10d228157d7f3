// A kind of row in its SQL table, column by column from the table of its fields.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <forward_list>
#include <iterator>
#include <string>
#include <vector>

#include "base/sqlite.h"
#include "broker/embedded/row_values.h"
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

// What is bound to the places of a statement, and stays so: most columns of most tasks are as they
// were in the row before, and to bind a value takes as long as to write it down.
struct Bound {
  struct Value {
    ValueKind kind = ValueKind::kNull;
    std::int64_t number = 0;      // or the size of the bytes
    const char* bytes = nullptr;  // where they are: the statement has no copy of them
    bool operator==(const Value&) const = default;
  };
  std::array<Value, 64> values;
  ByteBuffer summed;  // the values of a row; its memory is used again
};

// Binds values one after the other, and then their sum. Keeps what must live until the statement
// has run.
class Binder {
 public:
  Binder(sqlite::Statement& statement, Bound& bound)
      : statement_(statement), bound_(bound.values), summed_(bound.summed) {
    summed_.clear();
  }

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
        values_.nulls(columns);
        for (std::size_t i = 0; i < columns; ++i) bind_null();
      } else {
        null();
      }
    } else if constexpr (kIsOptional<T>) {
      value ? add(*value) : null();
    } else if constexpr (std::is_same_v<T, TimePoint>) {
      value == kNever ? null() : integer(value.time_since_epoch().count());
    } else if constexpr (std::is_enum_v<T>) {
      text(name_of(value));
    } else if constexpr (std::is_integral_v<T>) {
      integer(static_cast<std::int64_t>(value));
    } else if constexpr (std::is_base_of_v<Text, T>) {
      value.view().empty() ? null() : text(value.view());
    } else if constexpr (std::is_same_v<T, std::string>) {
      text(value);
    } else if constexpr (std::is_same_v<T, engine::Waits> || kIsArray<T>) {
      Packer out;
      pack(out, T{}, value);
      const std::string& packed = kept_.emplace_front(out.view());
      values_.bytes(packed);
      statement_.bind_blob(++place_, packed);  // each time, so nobody need know of it
    } else if constexpr (kByFields<T>) {
      for_each_field<T>([&](const auto& field) { add(value.*field.member); });
    } else {
      std::string& json = kept_.emplace_front();
      append_json(json, value);
      text(json);
    }
  }

  void add_sum() { bind(sum_of(summed_.view())); }
  // None: a row that is there keeps the one that it has.
  void add_payload(const Json& payload) {
    const std::string_view bytes = payload.view();
    if (bytes.empty()) {
      bind_null();
      bind_null();
    } else {
      bind(bytes);
      bind(sum_of(bytes));
    }
  }

 private:
  void null() {
    values_.null();
    bind_null();
  }
  void integer(std::int64_t value) {
    values_.integer(value);
    bind(value);
  }
  void text(std::string_view value) {
    values_.bytes(value);
    bind(value);
  }
  void bind(std::int64_t value) {
    if (is_news({ValueKind::kInteger, value})) statement_.bind(place_, value);
  }
  void bind(std::string_view value) {
    const auto size = static_cast<std::int64_t>(value.size());
    if (is_news({ValueKind::kBytes, size, value.data()})) statement_.bind(place_, value);
  }
  void bind_null() {
    if (is_news({})) statement_.bind_null(place_);
  }
  // For the next place.
  bool is_news(const Bound::Value& value) {
    Bound::Value& bound = bound_.at(static_cast<std::size_t>(place_++));
    if (bound == value) return false;
    bound = value;
    return true;
  }

  sqlite::Statement& statement_;
  std::array<Bound::Value, 64>& bound_;
  ByteBuffer& summed_;
  ValueWriter values_{summed_};
  int place_ = 0;
  std::forward_list<std::string> kept_;
};

// Reads the columns of a row one after the other. failed() is then the number of the first that is
// not what a Binder wrote; 0: none.
class ColumnReader {
 public:
  ColumnReader(std::string_view row, Engine& engine)
      : start_(row.data()), values_(row), engine_(engine) {}

  template <class T>
  void next(T& value) {
    if constexpr (std::is_same_v<T, boost::intrusive_ptr<engine::Line>>) {
      const std::string_view queue = text();
      value = engine_.line(queue, text());
    } else if constexpr (kIsPointer<T>) {
      next_pointer(value);
    } else if constexpr (kIsOptional<T>) {
      value.reset();
      is_null() ? null() : next(value.emplace());
    } else if constexpr (std::is_same_v<T, TimePoint>) {
      const bool never = is_null();
      if (never) null();
      value = never ? kNever : TimePoint(Millis(integer()));
    } else if constexpr (std::is_enum_v<T>) {
      const auto found = value_of<T>(text());
      if (!found) return fail();
      value = *found;
    } else if constexpr (std::is_integral_v<T>) {
      const std::int64_t number = integer();
      value = static_cast<T>(number);
      if (static_cast<std::int64_t>(value) != number) fail();
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      value = T(text());
    } else if constexpr (std::is_same_v<T, engine::Waits> || kIsArray<T>) {
      Unpacker in(text(), engine_);
      unpack(in, value);
      if (in.failed()) fail();
    } else if constexpr (kByFields<T>) {
      for_each_field<T>([&](const auto& field) { next(value.*field.member); });
    } else {
      auto read = from_json<T>(text());
      if (!read) return fail();
      value = std::move(*read);
    }
  }
  // Of all columns so far.
  void next_sum() {
    const std::string_view summed(start_, static_cast<std::size_t>(values_.place() - start_));
    ++column_;
    if (!next_is(sum_of(summed))) fail();
  }
  void next_payload(Json& payload) {
    payload = Json(text());
    if (!next_is(sum_of(payload))) fail();
  }

  [[nodiscard]] int failed() const { return failed_; }

 private:
  // A struct that is not there has NULL in all its columns.
  template <class Pointer>
  void next_pointer(Pointer& value) {
    using Pointed = std::remove_const_t<typename Pointer::element_type>;
    value = nullptr;
    if (is_null()) {
      std::size_t columns = 1;
      if constexpr (kByFields<Pointed>) {
        static const std::size_t all = columns_of<Pointed>().size();
        columns = all;
      }
      while (columns-- > 0) null();
      return;
    }
    auto* made = new Pointed();
    value = Pointer(made);
    next(*made);
  }

  // Or nothing, from a version that had no sums.
  bool next_is(std::int64_t sum) {
    const ValueKind kind = values_.kind();
    if (kind == ValueKind::kInteger) return values_.integer() == sum;
    values_.bytes();
    return kind == ValueKind::kNull;
  }
  [[nodiscard]] bool is_null() const { return values_.kind() == ValueKind::kNull; }
  void null() {
    ++column_;
    if (!is_null()) fail();
    values_.bytes();
  }
  std::int64_t integer() {
    ++column_;
    if (values_.kind() == ValueKind::kInteger) return values_.integer();
    fail();
    return values_.bytes(), 0;
  }
  // NULL is an empty one.
  std::string_view text() {
    ++column_;
    if (values_.kind() == ValueKind::kInteger) fail();
    return values_.bytes();
  }
  void fail() {
    if (failed_ == 0) failed_ = column_;
  }

  const char* start_;
  ValueReader values_;
  Engine& engine_;
  int column_ = 0;  // that was read last, from 1
  int failed_ = 0;
};

template <>
inline constexpr bool kByFields<StoredQueue> = true;
template <>
inline constexpr bool kByFields<StoredLine> = true;
template <>
inline constexpr bool kByFields<StoredMeta> = true;

template <class Row>
inline constexpr bool kHasPayload = std::is_same_v<Row, engine::TaskRow>;

// visit(value) for each field of a row but its payload.
template <class Row, class Visit>
void for_each_summed(Row& row, Visit visit) {
  using Fields = std::remove_const_t<Row>;
  for_each_field<Fields>([&](const auto& field) {
    auto& value = row.*field.member;
    if constexpr (!kHasPayload<Fields> ||
                  !std::is_base_of_v<Json, std::remove_cvref_t<decltype(value)>>) {
      visit(value);
    }
  });
}

// The statements that a kind of row needs.
template <class Row>
class Table {
 public:
  // In the order of reading and writing: the sum comes behind what it is of.
  static std::vector<std::string> columns() {
    std::vector<std::string> names = columns_of<Row>();
    std::erase(names, kHasPayload<Row> ? "payload" : "");
    names.emplace_back("checksum");
    if (kHasPayload<Row>) names.insert(names.end(), {"payload", "payload_checksum"});
    return names;
  }

  sqlite::Done prepare(sqlite::Database& database) {
    const std::vector<std::string> names = columns();
    const auto first = names.begin();
    const std::vector<std::string> keys(first, first + Kind<Row>::kKeys);
    // A payload that is parked is there already.
    std::vector<std::string> changes;
    for (auto name = first + Kind<Row>::kKeys; name != names.end(); ++name) {
      const bool stays = kHasPayload<Row> && name->starts_with("payload");
      changes.push_back(fmt::format(
          fmt::runtime(stays ? "{0} = coalesce(excluded.{0}, {0})" : "{0} = excluded.{0}"), *name));
    }
    const std::string put =
        fmt::format("INSERT INTO {} ({}) VALUES (?{}) ON CONFLICT ({}) DO UPDATE SET {}",
                    Kind<Row>::kTable, fmt::join(names, ", "), repeated(", ?", names.size() - 1),
                    fmt::join(keys, ", "), fmt::join(changes, ", "));
    const std::string remove =
        fmt::format("DELETE FROM {} WHERE {} = ?", Kind<Row>::kTable, fmt::join(keys, " = ? AND "));
    return database.prepare({{put_, put}, {remove_, remove}});
  }

  sqlite::Done put(const Row& row) {
    Binder binder(put_, put_bound_);
    for_each_summed(row, [&](const auto& value) { binder.add(value); });
    binder.add_sum();
    if constexpr (kHasPayload<Row>) binder.add_payload(row.payload);
    return put_.run();
  }
  sqlite::Done remove(const Key<Row>& key) {
    Binder binder(remove_, remove_bound_);
    std::apply([&](const auto&... part) { (binder.add(part), ...); }, key);
    return remove_.run();
  }

  static std::string select() {
    const std::vector<std::string> names = columns();
    const auto first = names.begin();
    return fmt::format("SELECT {} FROM {} ORDER BY {}", fmt::join(names, ", "), Kind<Row>::kTable,
                       fmt::join(first, first + Kind<Row>::kKeys, ", "));
  }
  // visit(row), an optional<Row> that is there, for a row of a RowStream. The number of the first
  // column that is damaged, and none is visited; 0: none.
  template <class Visit>
  static int read(std::string_view values, Engine& engine, Visit visit) {
    ColumnReader in(values, engine);
    std::optional<Row> row(std::in_place);
    for_each_summed(*row, [&](auto& value) { in.next(value); });
    in.next_sum();
    if constexpr (kHasPayload<Row>) in.next_payload(row->payload);
    if (in.failed() == 0) visit(std::move(row));
    return in.failed();
  }

 private:
  static std::string repeated(std::string_view text, std::size_t times) {
    std::string all;
    while (times-- > 0) all += text;
    return all;
  }

  sqlite::Statement put_;
  sqlite::Statement remove_;
  Bound put_bound_;
  Bound remove_bound_;
};

}  // namespace retsu::embedded
