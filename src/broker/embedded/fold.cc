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
    Key<Row> key = key_of(after ? *after : *before);
    set<Row>(std::move(key), std::move(after));
  }};
  for (engine::AnyChange& change : changes) std::visit(note, change);
}

void Fold::commit() {
  for_each_kind([&]<class Row>() {
    auto& rows = std::get<Rows<Row>>(rows_);
    rows.committed = rows.next;
    if (rows.committed < rows.old.size()) return;
    rows.old = {};
    rows.next = rows.committed = 0;
  });
}

void Fold::roll_back() {
  for_each_kind([&]<class Row>() {
    auto& rows = std::get<Rows<Row>>(rows_);
    left_ += rows.next - rows.committed;
    rows.next = rows.committed;
  });
}

void Fold::turn() {
  RETSU_CHECK(left_ == 0);
  for_each_kind([&]<class Row>() {
    auto& rows = std::get<Rows<Row>>(rows_);
    rows.old.reserve(rows.young.size());
    for (auto& [key, row] : rows.young) rows.old.emplace_back(key, std::move(row));
    rows.young.clear();
    std::ranges::sort(
        rows.old, {}, [](const auto& entry) -> const auto& { return entry.first; });
    left_ += rows.old.size();
  });
}

bool Fold::has_young() const {
  bool any = false;
  for_each_kind([&]<class Row>() { any |= !std::get<Rows<Row>>(rows_).young.empty(); });
  return any;
}

}  // namespace retsu::embedded
