// What rows have become since their table was written.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "broker/embedded/claim_tasks.h"

namespace retsu::embedded {

// Of the rows at one place of a table: here one.
template <class Row>
class Latest {
 public:
  // `is_new`: the table has none.
  void set(const Key<Row>& /*key*/, std::optional<Row> row, bool is_new) {
    is_new_ |= is_new;
    if (!row) {
      row_.reset();
    } else if (row_) {
      *row_ = std::move(*row);
    } else {
      row_ = std::make_unique<Row>(std::move(*row));
    }
  }

  [[nodiscard]] const Row* row() const { return row_.get(); }
  [[nodiscard]] bool is_new() const { return is_new_; }  // the table has none
  [[nodiscard]] bool is_gone() const { return !row_; }
  // The table need not be told.
  [[nodiscard]] bool came_and_went() const { return is_new_ && !row_; }

  sqlite::Done write(Table<Row>& table, const Key<Row>& place) const {
    return row_ ? table.put(*row_) : table.remove(place);
  }

 private:
  std::unique_ptr<Row> row_;  // none: it is to be removed
  bool is_new_ = false;
};

template <>
class Latest<StoredLine> {
 public:
  void set(const engine::LineRow& row, bool is_new) {
    is_new_ |= is_new;
    row_ = row;
  }

  [[nodiscard]] bool is_new() const { return is_new_; }
  [[nodiscard]] bool is_gone() const { return row_ == engine::LineRow{}; }
  [[nodiscard]] bool came_and_went() const { return is_new_ && is_gone(); }

  sqlite::Done write(Table<StoredLine>& table, const engine::Line* line) const {
    return is_gone() ? table.remove({line->queue->name, line->user})
                     : table.put({line->queue->name, line->user, row_});
  }

 private:
  engine::LineRow row_;
  bool is_new_ = false;
};

template <>
class Latest<engine::MemberRow> {
 public:
  void set(const Key<engine::MemberRow>& key, std::optional<engine::MemberRow> row,
           bool /*is_new*/) {
    const std::int64_t fence = std::get<0>(key);
    auto at = changes_.end();
    if (!changes_.empty() && changes_.back().fence >= fence) {
      at = std::ranges::lower_bound(changes_, fence, {}, &MemberChange::fence);
    }
    if (at != changes_.end() && at->fence == fence) {
      at->row = std::move(row);
    } else {
      changes_.insert(at, {fence, std::move(row)});
    }
  }

  // Whether others are at this place too, only the table knows.
  [[nodiscard]] bool is_new() const { return false; }
  [[nodiscard]] bool is_gone() const { return false; }
  [[nodiscard]] bool came_and_went() const { return false; }

  sqlite::Done write(Table<engine::MemberRow>& table, const Key<engine::MemberRow>& place) const {
    return table.write(std::get<0>(place), changes_);
  }

 private:
  MemberChanges changes_;
};

}  // namespace retsu::embedded
