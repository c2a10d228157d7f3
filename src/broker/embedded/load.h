// Reading a store: the rows of its tables, with what the journal says about them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sqlite.h"
#include "broker/embedded/claim_tasks.h"
#include "broker/embedded/journal.h"
#include "broker/embedded/journal_file.h"
#include "broker/embedded/row_stream.h"
#include "broker/embedded/table.h"

namespace retsu::embedded {

class Fold;

// Reads any connection to a store, also a read-only one; inside one transaction, if somebody else
// may write. One thread at a time.
class Loader {
 public:
  // Is told every place that is damaged. True: read on, as far as that goes.
  using OnDamage = std::function<bool(const std::string& place)>;

  // Queues and lines that rows refer to are those of the engine. The journal's content outlives the
  // loader.
  Loader(sqlite::Database& tables, const JournalContent& journal, Engine& engine,
         OnDamage on_damage = nullptr)
      : tables_(tables), journal_(journal), engine_(engine), on_damage_(std::move(on_damage)) {}

  [[nodiscard]] sqlite::Outcome<std::size_t> tasks() const;  // in the tables

  // First this, then for_each_row. Fails with SQLITE_CORRUPT at damage that is not to be passed
  // over.
  sqlite::Done read_journal();

  // visit(row, key, from_journal) for each row, kind by kind in the order in which an engine can
  // restore them, by key within a kind, those that only the journal has after the others. `row` is
  // std::optional<Row>: none, a row of the tables that the journal removes.
  template <class Visit>
  sqlite::Done for_each_row(Visit&& visit) {
    sqlite::Done done;
    for_each_kind([&]<class Row>() {
      if (done) done = read_kind<Row>(visit);
    });
    return done;
  }

  // The tables have all groups up to this one; those that they have not:
  [[nodiscard]] std::uint64_t folded() const { return folded_; }
  [[nodiscard]] std::uint64_t next_group() const { return next_group_; }
  [[nodiscard]] std::size_t groups() const { return groups_; }
  [[nodiscard]] std::size_t journal_bytes() const { return journal_bytes_; }

 private:
  template <class Row, class Visit>
  sqlite::Done read_kind(Visit& visit);
  sqlite::Done damaged(const std::string& place) const;
  // What reading a table ends with: with damage, the rest of it is passed over.
  sqlite::Done failed(const char* table, const sqlite::Failure& failure) const;

  sqlite::Database& tables_;
  const JournalContent& journal_;
  Engine& engine_;
  const OnDamage on_damage_;
  Overlay overlay_;
  std::uint64_t folded_ = 0;
  std::uint64_t next_group_ = 1;
  std::size_t groups_ = 0;
  std::size_t journal_bytes_ = 0;
};

// All rows into an empty engine. Refused too: rows that do not fit together. What the journal has
// of them, and the tables have not, goes into the fold too, if there is one. Payloads beyond so
// many bytes are parked.
sqlite::Done load(Loader& loader, Engine& engine, Fold* fold = nullptr,
                  std::size_t payload_bytes = SIZE_MAX);

template <class Row, class Visit>
sqlite::Done Loader::read_kind(Visit& visit) {
  const auto damage = [&](std::string_view what) {
    return damaged(fmt::format("{} of table {}", what, Kind<Row>::kTable));
  };
  auto& steps = overlay_.template steps<Row>();
  const std::vector<std::string> columns = Table<Row>::columns();
  auto select = tables_.prepare(Table<Row>::select());
  if (!select) return failed(Kind<Row>::kTable, select.error());
  RowStream rows(std::move(*select), static_cast<int>(columns.size()));
  std::optional<Key<Row>> last;
  sqlite::Done done;
  const auto see = [&](std::optional<Row> row, std::int64_t place) {
    if (!done) return;
    const Key<Row> key = key_of(*row);
    if (last && !(*last < key)) {
      done = damage(fmt::format("row {}, column {}", place, columns.front()));
      return;
    }
    last = key;
    bool in_journal = false;
    if (const auto found = steps.find(key); found != steps.end()) {
      in_journal = true;
      if (!Overlay::apply(key, found->second, row, engine_)) {
        done = damage(fmt::format("a change of row {}", place));
        row.reset();
      }
      steps.erase(found);
    }
    if (done) visit(std::move(row), key, in_journal);
  };
  for (std::int64_t place = 1; done; ++place) {
    const auto values = rows.next();
    if (!values && !rows.done()) return failed(Kind<Row>::kTable, rows.done().error());
    if (!values) break;
    const int damaged_column = Table<Row>::read(
        *values, engine_, [&](std::optional<Row> row) { see(std::move(row), place); });
    if (done && damaged_column != 0) {
      done = damage(fmt::format("row {}, column {}", place, columns[damaged_column - 1]));
    }
  }
  if (!done) return done;

  std::vector<const Key<Row>*> rest;
  for (const auto& entry : steps) rest.push_back(&entry.first);
  std::ranges::sort(rest, [](const auto* a, const auto* b) { return *a < *b; });
  for (const Key<Row>* key : rest) {
    std::optional<Row> row;
    if (!Overlay::apply(*key, steps.find(*key)->second, row, engine_)) {
      if (done = damage("a change of a row that only the journal has"); !done) return done;
      row.reset();
    }
    visit(std::move(row), *key, true);
  }
  return {};
}

}  // namespace retsu::embedded
