// Carries what the journal says over into the tables, each row once in its latest state.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "broker/embedded/table.h"

namespace retsu::embedded {

// Rows that the journal has and the tables have not, in two generations: those that are being
// written, in the order of their keys, and those changed since. A row that goes in the meantime is
// not written any more, so one that came and went costs nothing. One that changes is: what the
// journal says about it later is a difference from what it was.
class Fold {
 public:
  sqlite::Done prepare(sqlite::Database& database);

  // The row is so now; none: it is gone.
  template <class Row>
  void set(Key<Row> key, std::optional<Row> row) {
    auto& rows = std::get<Rows<Row>>(rows_);
    rows.young.insert_or_assign(std::move(key), std::move(row));
  }
  void add(engine::Changes changes);

  // Makes the young generation the old one. Only when the old one is written.
  void turn();
  // Writes rows of the old generation until `enough()`, which is asked after each. They are written
  // when the transaction is committed; if it is not, roll_back().
  template <class Enough>
  sqlite::Done write(Enough enough);
  void commit();
  void roll_back();

  [[nodiscard]] std::size_t left() const { return left_; }  // of the old generation
  [[nodiscard]] bool has_young() const;

 private:
  template <class Row>
  struct Rows {
    Table<Row> table;
    boost::unordered_flat_map<Key<Row>, std::optional<Row>, KeyHash> young;
    std::vector<std::pair<Key<Row>, std::optional<Row>>> old;
    std::size_t next = 0;       // of the old, to be written
    std::size_t committed = 0;  // of the old
  };

  template <class Row>
  sqlite::Done write_next(Rows<Row>& rows);

  OfEachKind<Rows> rows_;
  std::size_t left_ = 0;
};

template <class Row>
sqlite::Done Fold::write_next(Rows<Row>& rows) {
  auto& [key, row] = rows.old[rows.next];
  ++rows.next;
  --left_;
  if (const auto later = rows.young.find(key); later != rows.young.end() && !later->second) {
    return {};
  }
  return row ? rows.table.put(*row) : rows.table.remove(key);
}

template <class Enough>
sqlite::Done Fold::write(Enough enough) {
  sqlite::Done done;
  bool go_on = left_ > 0;
  for_each_kind([&]<class Row>() {
    auto& rows = std::get<Rows<Row>>(rows_);
    while (go_on && rows.next < rows.old.size()) {
      done = write_next(rows);
      go_on = done && !enough();
    }
  });
  return done;
}

}  // namespace retsu::embedded
