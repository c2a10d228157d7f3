// Carries what the journal says over into the tables, each row once in its latest state.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "broker/embedded/table.h"

namespace retsu::embedded {

// Rows that the journal has and the tables have not, in two generations: those that are being
// written, in the order of their keys, and those changed since. A row that goes in the meantime is
// not written any more, so one that came and went costs nothing. One that changes is: what the
// journal says about it later is a difference from what it was.
//
// While the chosen rows are being written, on any thread, others may be added.
class Fold {
 public:
  sqlite::Done prepare(sqlite::Database& database);

  // The row is so now; none: it is gone.
  template <class Row>
  void set(Key<Row> key, std::optional<Row> row) {
    std::unique_ptr<Row>& young = std::get<Rows<Row>>(rows_).young[std::move(key)];
    if (!row) {
      young.reset();
    } else if (young) {
      *young = std::move(*row);
    } else {
      young = std::make_unique<Row>(std::move(*row));
    }
  }
  void add(engine::Changes changes);

  // Makes the young generation the old one. Only when the old one is written.
  void turn();
  // The next rows of the old generation, so many or all that are left.
  void choose(std::size_t most);
  // Writes those that were chosen. They are in the tables when the transaction is committed; if it
  // is not, roll_back().
  sqlite::Done write();
  // visit(task) for each task that the tables have now and that is as it was.
  void commit(const std::function<void(const engine::TaskRow&)>& visit = {});
  void roll_back();

  [[nodiscard]] std::size_t left() const { return left_; }  // of the old generation, not chosen
  [[nodiscard]] bool has_young() const;

 private:
  template <class Row>
  struct Entry {
    Key<Row> key;
    std::unique_ptr<Row> row;  // none: it is to be removed
    bool dropped = false;      // it has gone since
  };
  template <class Row>
  struct Rows {
    Table<Row> table;
    boost::unordered_flat_map<Key<Row>, std::unique_ptr<Row>, KeyHash> young;
    std::vector<Entry<Row>> old;
    std::size_t written = 0;  // of the old, for good
    std::size_t chosen = 0;   // up to here
  };

  OfEachKind<Rows> rows_;
  std::size_t left_ = 0;
};

}  // namespace retsu::embedded
