#include "broker/embedded/fold.h"

#include <algorithm>

#include "base/check.h"
#include "base/prefetch.h"

namespace retsu::embedded {
namespace {

template <class Row>
std::uint32_t payload_bytes(const Latest<Row>& /*latest*/) {
  return 0;
}
std::uint32_t payload_bytes(const Latest<engine::TaskRow>& latest) {
  return latest.row() == nullptr ? 0 : static_cast<std::uint32_t>(latest.row()->payload.size());
}

// Rows that go and those that the table does not have yet come first, in turns: pages that are left
// empty are written too, unless others use them in the same slice. Of the rest, many will have gone
// when it is their turn: tasks that have ended are not kept for long.
template <class Entry>
void mix(std::vector<Entry>& order) {
  constexpr std::size_t kRowsOfTurn = 64;
  const auto is_gone = [](const Entry& entry) { return entry.latest->is_gone(); };
  const auto is_new = [](const Entry& entry) { return entry.latest->is_new(); };
  const auto come = std::ranges::stable_partition(order, is_gone).begin();
  const auto rest = std::stable_partition(come, order.end(), is_new);
  const auto gone_rows = static_cast<std::size_t>(come - order.begin());
  const auto new_rows = static_cast<std::size_t>(rest - come);
  const std::size_t turns = (gone_rows + new_rows) / kRowsOfTurn + 1;
  std::vector<Entry> mixed;
  mixed.reserve(order.size());
  const auto take = [&](auto first, std::size_t rows, std::size_t turn) {
    const auto place = [&](std::size_t of_turn) {
      return first + std::ptrdiff_t(rows * of_turn / turns);
    };
    mixed.insert(mixed.end(), place(turn), place(turn + 1));
  };
  for (std::size_t turn = 0; turn < turns; ++turn) {
    take(order.begin(), gone_rows, turn);
    take(come, new_rows, turn);
  }
  mixed.insert(mixed.end(), rest, order.end());
  order = std::move(mixed);
}

// Tasks were noted long ago, and are in no cache any more. What the next ones need is brought there
// step by step, because each step says where the next one is.
template <class Entry>
void expect(const std::vector<Entry>& order, std::size_t next, std::size_t end) {
  if constexpr (std::is_same_v<decltype(Entry::latest), Latest<engine::TaskRow>*>) {
    if (next + 2 < end) prefetch(order[next + 2].latest);
    if (next + 1 < end) prefetch(order[next + 1].latest->row());
    const engine::TaskRow* row = next < end ? order[next].latest->row() : nullptr;
    if (row == nullptr) return;
    row->id.prefetch();
    row->payload.prefetch();
    prefetch(row->line.get());
  }
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
    if (!before && !after) return;
    const Key<Row> key = key_of(after ? *after : *before);
    set<Row>(key, std::move(after), !before);
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
  std::get<Rows<StoredLine>>(rows_).young.begin(++generation_);
}

void Fold::sort() {
  for_each_kind([&]<class Row>() {
    if (kWhole<Row> != (sorted_ == Sorted::kAll)) return;
    auto& [table, young, old, order, written, chosen] = std::get<Rows<Row>>(rows_);
    order.reserve(old.size());
    old.in_order([&](const Place<Row>& place, Latest<Row>& latest) {
      order.push_back({place, &latest, payload_bytes(latest)});
    });
    mix(order);
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
      expect(rows.order, i + 1, rows.chosen);
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
      expect(rows.order, rows.written + 1, rows.chosen);
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
