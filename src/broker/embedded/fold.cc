#include "broker/embedded/fold.h"

#include <algorithm>

#include "base/check.h"

namespace retsu::embedded {

sqlite::Done Fold::prepare(sqlite::Database& database) {
  sqlite::Done done;
  for_each_kind([&]<class Row>() {
    if (done) done = std::get<Rows<Row>>(rows_).table.prepare(database);
  });
  return done;
}

void Fold::add(engine::Changes changes) {
  const AsStored note{[&]<class Row>(std::optional<Row>& before, std::optional<Row>& after) {
    if (!before && !after) return;
    const Key<Row> key = key_of(after ? *after : *before);
    set<Row>(key, std::move(after), !before);
  }};
  for (engine::AnyChange& change : changes) std::visit(note, change);
}

void Fold::turn() {
  RETSU_CHECK(left_ == 0);
  for_each_kind([&]<class Row>() {
    auto& rows = std::get<Rows<Row>>(rows_);
    rows.old.reserve(rows.young.size());
    rows.young.take([&](const Key<Row>& place, Latest<Row> latest) {
      rows.old.push_back({place, std::move(latest)});
    });
    // What the table does not have yet comes first. Of the others, many will have gone when it is
    // their turn: tasks that have ended are not kept for long.
    std::ranges::sort(rows.old, [](const Entry<Row>& a, const Entry<Row>& b) {
      if (a.latest.is_new() != b.latest.is_new()) return a.latest.is_new();
      return a.place < b.place;
    });
    left_ += rows.old.size() * kCost<Row>;
  });
}

void Fold::choose(std::size_t most) {
  const auto choose_of = [&]<class Row>() {
    auto& rows = std::get<Rows<Row>>(rows_);
    for (; most > 0 && rows.chosen < rows.old.size(); ++rows.chosen) {
      most -= std::min(most, kCost<Row>);
      left_ -= kCost<Row>;
      Entry<Row>& entry = rows.old[rows.chosen];
      const Latest<Row>* later = rows.young.find(entry.place);
      entry.dropped = later != nullptr && later->is_gone();
    }
  };
  // Tasks last, for the same reason as above.
  for_each_kind([&]<class Row>() {
    if constexpr (!std::is_same_v<Row, engine::TaskRow>) choose_of.template operator()<Row>();
  });
  choose_of.operator()<engine::TaskRow>();
}

sqlite::Done Fold::write() {
  sqlite::Done done;
  for_each_kind([&]<class Row>() {
    auto& rows = std::get<Rows<Row>>(rows_);
    for (std::size_t i = rows.written; done && i < rows.chosen; ++i) {
      const Entry<Row>& entry = rows.old[i];
      if (entry.dropped) continue;
      done = entry.latest.write(rows.table, entry.place);
    }
  });
  return done;
}

void Fold::commit(const std::function<void(const engine::TaskRow&)>& visit) {
  const auto& tasks = std::get<Rows<engine::TaskRow>>(rows_);
  for (std::size_t i = tasks.written; visit && i < tasks.chosen; ++i) {
    const engine::TaskRow* row = tasks.old[i].latest.row();
    if (row != nullptr && !tasks.old[i].dropped) visit(*row);
  }
  for_each_kind([&]<class Row>() {
    auto& rows = std::get<Rows<Row>>(rows_);
    rows.written = rows.chosen;
    if (rows.written < rows.old.size()) return;
    rows.old = std::vector<Entry<Row>>();
    rows.written = rows.chosen = 0;
  });
}

void Fold::roll_back() {
  for_each_kind([&]<class Row>() {
    auto& rows = std::get<Rows<Row>>(rows_);
    left_ += (rows.chosen - rows.written) * kCost<Row>;
    rows.chosen = rows.written;
  });
}

bool Fold::has_young() const {
  bool any = false;
  for_each_kind([&]<class Row>() { any |= std::get<Rows<Row>>(rows_).young.size() > 0; });
  return any;
}

}  // namespace retsu::embedded
