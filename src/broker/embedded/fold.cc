#include "broker/embedded/fold.h"

#include <algorithm>

#include "base/check.h"

namespace retsu::embedded {
namespace {

template <class Row>
std::uint32_t payload_bytes(const Latest<Row>& /*latest*/) {
  return 0;
}
std::uint32_t payload_bytes(const Latest<engine::TaskRow>& latest) {
  return latest.row() == nullptr ? 0 : static_cast<std::uint32_t>(latest.row()->payload.size());
}

}  // namespace

sqlite::Done Fold::prepare(sqlite::Database& database) {
  sqlite::Done done;
  for_each_kind([&]<class Row>() {
    if (done) done = std::get<Rows<Row>>(rows_).table.prepare(database);
  });
  return done;
}

void Fold::set(engine::Line& line, const engine::LineRow& row, bool is_new) {
  auto& [table, young, old, order, written, chosen] = std::get<Rows<StoredLine>>(rows_);
  if (sorted_ != Sorted::kAll) {
    // The journal has it whole from now on, and the table is as it was.
    if (const Latest<StoredLine>* before = old.find(&line)) {
      is_new = before->is_new();
      old.erase(&line);
      left_ -= kCost<StoredLine>;
    }
  }
  const std::size_t before = young.size();
  Latest<StoredLine>& latest = young[&line];
  latest.set(row, is_new && young.size() > before);
  if (latest.came_and_went()) young.erase(&line);
}

void Fold::add(engine::Changes changes) {
  const AsStored note{[&]<class Row>(std::optional<Row>& before, std::optional<Row>& after) {
    if constexpr (!kWhole<Row>) {
      if (!before && !after) return;
      const Key<Row> key = key_of(after ? *after : *before);
      set<Row>(key, std::move(after), !before);
    }
  }};
  for (engine::AnyChange& change : changes) {
    if (const auto* of_line = std::get_if<std::unique_ptr<engine::LineChange>>(&change)) {
      const auto& [line, before, after] = **of_line;
      set(*line, after, before == engine::LineRow{});
    } else {
      std::visit(note, change);
    }
  }
}

void Fold::turn() {
  RETSU_CHECK(left_ == 0);
  sorted_ = Sorted::kNone;
  for_each_kind([&]<class Row>() {
    auto& rows = std::get<Rows<Row>>(rows_);
    std::swap(rows.old, rows.young);
    left_ += rows.old.size() * kCost<Row>;
  });
}

void Fold::sort() {
  for_each_kind([&]<class Row>() {
    if (kWhole<Row> != (sorted_ == Sorted::kAll)) return;
    auto& [table, young, old, order, written, chosen] = std::get<Rows<Row>>(rows_);
    order.reserve(old.size());
    old.in_order([&](const Place<Row>& place, Latest<Row>& latest) {
      order.push_back({place, &latest, payload_bytes(latest)});
    });
    // What the table does not have yet comes first. Of the others, many will have gone when it is
    // their turn: tasks that have ended are not kept for long.
    std::ranges::stable_partition(order,
                                  [](const Entry<Row>& entry) { return entry.latest->is_new(); });
  });
}

void Fold::choose(std::size_t most, std::size_t most_bytes) {
  const auto choose_of = [&]<class Row>() {
    auto& rows = std::get<Rows<Row>>(rows_);
    for (; most > 0 && rows.chosen < rows.order.size(); ++rows.chosen) {
      Entry<Row>& entry = rows.order[rows.chosen];
      most -= std::min(most, kCost<Row>);
      left_ -= kCost<Row>;
      if (entry.bytes >= most_bytes) most = 0;
      most_bytes -= std::min<std::size_t>(most_bytes, entry.bytes);
      const Latest<Row>* later = rows.young.find(entry.place);
      if (later == nullptr || !later->is_gone()) continue;
      entry.dropped = true;
      // A table that never had it need not be told that it went.
      if (entry.latest->is_new()) rows.young.erase(entry.place);
    }
  };
  // Tasks late, for the same reason as above; lines are sorted when there is nothing else left.
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
      const Entry<Row>& entry = rows.order[i];
      if (entry.dropped) continue;
      done = entry.latest->write(rows.table, entry.place);
    }
  });
  return done;
}

void Fold::commit(const std::function<void(const engine::TaskRow&)>& visit) {
  const auto& tasks = std::get<Rows<engine::TaskRow>>(rows_);
  for (std::size_t i = tasks.written; visit && i < tasks.chosen; ++i) {
    const engine::TaskRow* row = tasks.order[i].latest->row();
    if (row != nullptr && !tasks.order[i].dropped) visit(*row);
  }
  for_each_kind([&]<class Row>() {
    auto& rows = std::get<Rows<Row>>(rows_);
    if (kWhole<Row> && sorted_ != Sorted::kAll) return;
    // Now, and not all at once when the last is written: nobody shall wait for that.
    for (; rows.written < rows.chosen; ++rows.written) {
      *rows.order[rows.written].latest = Latest<Row>();
    }
    if (rows.written < rows.order.size()) return;
    rows.order = {};
    rows.old.clear();
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
