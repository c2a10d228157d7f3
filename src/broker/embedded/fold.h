// Carries what the journal says over into the tables, each row once in its latest state.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "broker/embedded/young_rows.h"

namespace retsu::embedded {

// Rows that the journal has and the tables have not, in two generations: those that are being
// written, in an order that is kind to tables, and those changed since. A row that goes in the
// meantime is not written any more, so one that came and went costs nothing. One that changes is:
// what the journal says about it later is a difference from what it was. But lines are not: the
// journal has them whole.
//
// While the chosen rows are being written, on any thread, others may be added.
class Fold {
 public:
  Fold() { std::get<Rows<StoredLine>>(rows_).young.begin(generation_); }

  sqlite::Done prepare(sqlite::Database& database);

  // The row is so now; none: it is gone. `is_new`: there was none before.
  template <class Row>
  requires(!kWhole<Row>) void set(const Key<Row>& key, std::optional<Row> row, bool is_new) {
    auto& young = std::get<Rows<Row>>(rows_).young;
    const Key<Row> place = place_of<Row>(key);
    const std::size_t before = young.size();
    Latest<Row>& latest = young[place];
    latest.set(key, std::move(row), is_new && young.size() > before);
    if (latest.came_and_went()) young.erase(place);
  }
  void set(engine::Line& line, const engine::LineRow& row, bool is_new);
  void add(engine::Changes changes);

  // Makes the young generation the old one. Only when the old one is written.
  void turn();
  // Before rows are chosen, those that come next are to be put in order: begin_sort, and then, on
  // any thread, sort.
  [[nodiscard]] bool needs_sort() const {
    return left_ > 0 &&
           (sorted_ == Sorted::kNone || (sorted_ == Sorted::kMost && left_ == lines_left()));
  }
  void begin_sort() { sorted_ = sorted_ == Sorted::kNone ? Sorted::kMost : Sorted::kAll; }
  void sort();
  // The next rows of the old generation: so many, or with so many bytes of payload, or all.
  void choose(std::size_t most, std::size_t most_bytes = SIZE_MAX);
  // Writes those that were chosen. They are in the tables when the transaction is committed; if it
  // is not, roll_back().
  sqlite::Done write();
  // visit(task) for each task that the tables have now and that is as it was.
  void commit(const std::function<void(const engine::TaskRow&)>& visit = {});
  void roll_back();

  // Of the old generation, not chosen. Rows that stand together count for what they cost.
  [[nodiscard]] std::size_t left() const { return left_; }
  [[nodiscard]] bool has_young() const;

 private:
  template <class Row>
  static constexpr std::size_t kCost = (kTogether<Row> + 3) / 4;  // of one place
  template <class Row>
  struct Entry {
    Place<Row> place;
    Latest<Row>* latest;
    std::uint32_t bytes = 0;  // of payload
    bool dropped = false;     // it has gone since
  };
  template <class Row>
  struct Rows {
    Table<Row> table;
    YoungRows<Row> young;
    YoungRows<Row> old;
    std::vector<Entry<Row>> order;  // in which the old are written
    std::size_t written = 0;        // of them, for good
    std::size_t chosen = 0;         // up to here
  };

  [[nodiscard]] std::size_t lines_left() const {  // that are not sorted yet
    return std::get<Rows<StoredLine>>(rows_).old.size() * kCost<StoredLine>;
  }

  // Of the old generation. Lines come last, for most of them leave it before that.
  enum class Sorted : std::uint8_t { kNone, kMost, kAll };

  OfEachKind<Rows> rows_;
  std::uint32_t generation_ = 1;  // the young one
  std::size_t left_ = 0;
  Sorted sorted_ = Sorted::kNone;
};

}  // namespace retsu::embedded
