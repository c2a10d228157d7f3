// What a store keeps: the engine's rows, each kind with the name of its table and the fields that
// are its key.
#pragma once

#include <boost/container_hash/hash.hpp>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "broker/embedded/pack.h"
#include "engine/row_fields.h"

namespace retsu::embedded {

// Rows that the engine keys by an object, under names.
struct StoredQueue {
  Text name;
  engine::QueueRow row;
};
struct StoredLine {
  Text queue;
  Text user;
  engine::LineRow row;
};
struct StoredMeta {
  std::int64_t number = 1;  // there is one
  engine::MetaRow row;
};
constexpr auto fields_of(std::type_identity<StoredQueue>) {
  return List{Field{"name", &StoredQueue::name}, Field{"row", &StoredQueue::row}};
}
constexpr auto fields_of(std::type_identity<StoredLine>) {
  return List{Field{"queue", &StoredLine::queue}, Field{"user", &StoredLine::user},
              Field{"row", &StoredLine::row}};
}
constexpr auto fields_of(std::type_identity<StoredMeta>) {
  return List{Field{"number", &StoredMeta::number}, Field{"row", &StoredMeta::row}};
}
template <>
inline constexpr bool kByFields<engine::QueueRow> = true;
template <>
inline constexpr bool kByFields<engine::LineRow> = true;
template <>
inline constexpr bool kByFields<engine::MetaRow> = true;

// The numbers are part of the journal's format: they are never used for another kind.
template <class Row>
struct Kind;
#define RETSU_STORED(row_type, its_number, its_table, its_keys) \
  template <>                                                   \
  struct Kind<row_type> {                                       \
    static constexpr unsigned kNumber = its_number;             \
    static constexpr const char* kTable = its_table;            \
    static constexpr std::size_t kKeys = its_keys;              \
  }
RETSU_STORED(StoredMeta, 0, "meta", 1);
RETSU_STORED(StoredQueue, 1, "queues", 1);
RETSU_STORED(engine::SettingsRow, 2, "user_settings", 2);
RETSU_STORED(StoredLine, 3, "lines", 2);
RETSU_STORED(engine::TaskRow, 4, "tasks", 1);
RETSU_STORED(engine::EdgeRow, 5, "dependencies", 2);
RETSU_STORED(engine::ClaimRow, 6, "claims", 1);
RETSU_STORED(engine::MemberRow, 7, "claim_tasks", 1);
RETSU_STORED(engine::TombstoneRow, 8, "tombstones", 1);
RETSU_STORED(engine::AliasRow, 9, "aliases", 1);
RETSU_STORED(engine::ScheduleRow, 10, "schedules", 1);
RETSU_STORED(engine::XcomRow, 11, "xcom", 1);
RETSU_STORED(engine::CascadeRow, 12, "cascades", 1);
RETSU_STORED(engine::KeyRow, 13, "idempotency_keys", 1);
#undef RETSU_STORED

// The kinds in the order in which they can be restored. A line lives by its tasks, so it comes
// after them.
template <template <class> class Holder>
using OfEachKind =
    std::tuple<Holder<StoredMeta>, Holder<StoredQueue>, Holder<engine::SettingsRow>,
               Holder<engine::TaskRow>, Holder<engine::EdgeRow>, Holder<StoredLine>,
               Holder<engine::ClaimRow>, Holder<engine::MemberRow>, Holder<engine::TombstoneRow>,
               Holder<engine::AliasRow>, Holder<engine::ScheduleRow>, Holder<engine::XcomRow>,
               Holder<engine::CascadeRow>, Holder<engine::KeyRow>>;

// Calls visit.template operator()<Row>() for each kind, in order.
template <class Visit>
void for_each_kind(Visit&& visit) {
  const auto call = [&]<class... Rows>(std::type_identity<std::tuple<Rows...>>) {
    (visit.template operator()<typename Rows::type>(), ...);
  };
  call(std::type_identity<OfEachKind<std::type_identity>>{});
}

// The key of a row, as a tuple of the values of its first fields.
template <class Row, std::size_t... i>
auto key_of(const Row& row, std::index_sequence<i...>) {
  constexpr auto fields = fields_of(std::type_identity<Row>{});
  return std::tuple(row.*item<i>(fields).member...);
}
template <class Row>
auto key_of(const Row& row) {
  return key_of(row, std::make_index_sequence<Kind<Row>::kKeys>{});
}
template <class Row>
using Key = decltype(key_of(std::declval<const Row&>()));

// So many rows of a kind, whose keys are next to each other, stand together in one row of its
// table. Claims remember a million settled tasks, and nobody looks for one of them in the tables.
template <class Row>
inline constexpr std::int64_t kTogether = 1;
template <>
inline constexpr std::int64_t kTogether<engine::MemberRow> = 64;

// Rows that the journal has whole, not as a difference from what they were: those of which most
// change in each generation. One that has changed again need not be in the tables.
template <class Row>
inline constexpr bool kWhole = std::is_same_v<Row, StoredLine>;

// Where in its table a row stands. Lines are known by their objects, which are quicker to find.
template <class Row>
struct PlaceOf {
  using Type = Key<Row>;
};
template <>
struct PlaceOf<StoredLine> {
  using Type = engine::Line*;
};
template <class Row>
using Place = typename PlaceOf<Row>::Type;

template <class Row>
Key<Row> place_of(Key<Row> key) {
  if constexpr (kTogether < Row >> 1) std::get<0>(key) /= kTogether<Row>;
  return key;
}

template <class Row, std::size_t... i>
void set_key(Row& row, const Key<Row>& key, std::index_sequence<i...>) {
  constexpr auto fields = fields_of(std::type_identity<Row>{});
  ((row.*item<i>(fields).member = std::get<i>(key)), ...);
}
// A row that has nothing but its key.
template <class Row>
Row blank(const Key<Row>& key) {
  Row row;
  set_key(row, key, std::make_index_sequence<Kind<Row>::kKeys>{});
  return row;
}

struct KeyHash {
  template <class... Parts>
  std::size_t operator()(const std::tuple<Parts...>& key) const {
    std::size_t seed = 0;
    std::apply([&](const auto&... part) { (combine(seed, part), ...); }, key);
    return seed;
  }

 private:
  template <class Part>
  static void combine(std::size_t& seed, const Part& part) {
    boost::hash_combine(seed, std::hash<Part>()(part));
  }
};

// A change of the engine, or the sum of several from the first to the last, as one of stored rows:
// visit(before, after), each optional<Row>&.
template <class Visit>
struct AsStored {
  Visit visit;

  template <class Change>
  void operator()(const std::unique_ptr<Change>& change) const {
    (*this)(*change, *change);
  }
  template <class Row>
  void operator()(engine::Change<Row>& first, engine::Change<Row>& last) const {
    visit(first.before, last.after);
  }
  void operator()(const engine::QueueChange& first, const engine::QueueChange& last) const {
    pair(first.before, last.after, [&](const engine::QueueRow& row) {
      return row.exists ? std::optional(StoredQueue{first.queue->name, row}) : std::nullopt;
    });
  }
  // Lines are looked at as they are, by their objects.
  void operator()(const engine::LineChange&, const engine::LineChange&) const {
    RETSU_CHECK(false);
  }
  void operator()(const engine::MetaChange& first, const engine::MetaChange& last) const {
    pair(first.before, last.after, [](const engine::MetaRow& row) {
      return row != engine::MetaRow{} ? std::optional(StoredMeta{1, row}) : std::nullopt;
    });
  }

 private:
  template <class Row, class Stored>
  void pair(const Row& before, const Row& after, Stored stored) const {
    auto from = stored(before);
    auto to = stored(after);
    visit(from, to);
  }
};
template <class Visit>
AsStored(Visit) -> AsStored<Visit>;

// A stored row as a change that makes it.
template <class Row>
engine::AnyChange making(Engine&, Row row) {
  return std::make_unique<engine::Change<Row>>(engine::Change<Row>{std::nullopt, std::move(row)});
}
inline engine::AnyChange making(Engine& engine, StoredQueue stored) {
  return std::make_unique<engine::QueueChange>(
      engine::QueueChange{engine.queue(stored.name), {}, std::move(stored.row)});
}
inline engine::AnyChange making(Engine& engine, StoredLine stored) {
  return std::make_unique<engine::LineChange>(
      engine::LineChange{engine.line(stored.queue, stored.user), {}, stored.row});
}
inline engine::AnyChange making(Engine&, StoredMeta stored) {
  return std::make_unique<engine::MetaChange>(engine::MetaChange{{}, std::move(stored.row)});
}

}  // namespace retsu::embedded
