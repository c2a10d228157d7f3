#include "broker/embedded/load.h"

#include <fmt/format.h>

#include <algorithm>

#include "broker/embedded/fold.h"
#include "broker/embedded/references.h"

namespace retsu::embedded {
namespace {

constexpr std::size_t kRestoredAtOnce = 1'000;  // rows

template <class Row>
void note(Fold& fold, const Key<Row>& key, const std::optional<Row>& row, Engine& engine) {
  if constexpr (kWhole<Row>) {
    const auto& [queue, user] = key;
    fold.set(*engine.line(queue, user), row ? row->row : engine::LineRow{}, false);
  } else {
    fold.set<Row>(key, row, false);
  }
}

}  // namespace

sqlite::Done Loader::damaged(const std::string& place) const {
  if (on_damage_ && on_damage_(place)) return {};
  return tl::unexpected(sqlite::Failure{SQLITE_CORRUPT, place});
}

sqlite::Done Loader::failed(const char* table, const sqlite::Failure& failure) const {
  if (!failure.is_damage() || !on_damage_) return tl::unexpected(failure);
  return damaged(fmt::format("table {}: {}", table, failure.message));
}

sqlite::Outcome<std::size_t> Loader::tasks() const {
  return tables_.integer("SELECT count(*) FROM tasks").map([](std::int64_t tasks) {
    return static_cast<std::size_t>(tasks);
  });
}

sqlite::Done Loader::read_journal() {
  const auto mark = mark_of(tables_);
  if (!mark) return failed("journal_file", mark.error());
  folded_ = static_cast<std::uint64_t>(mark->folded);
  next_group_ = folded_ + 1;
  const auto missing = [&](std::uint64_t number) {
    return damaged(fmt::format("group {} is missing", number));
  };
  sqlite::Done done;
  for (const auto& [number, bytes] : journal_.groups) {
    if (number <= folded_) continue;
    const std::uint64_t expected = std::exchange(next_group_, number + 1);
    if (number != expected) done = missing(expected);
    if (done && !overlay_.add(bytes, engine_)) {
      done = damaged(fmt::format("journal group {}", number));
    }
    if (!done) return done;
    ++groups_;
    journal_bytes_ += bytes.size();
  }
  // A journal keeps its newest group: one without any has never had one.
  if (!journal_.groups.empty() && journal_.last() < folded_) done = missing(folded_);
  if (done && journal_.newest >= next_group_) {
    done = damaged(fmt::format("journal group {}, which later ones stand upon", next_group_));
  }
  return done;
}

sqlite::Done load(Loader& loader, Engine& engine, Fold* fold, std::size_t payload_bytes) {
  engine::Changes ready;
  References references(References::Care::kEnough);
  const auto restore = [&] {
    engine.restore(ready);
    ready.clear();
  };
  if (const auto tasks = loader.tasks()) {
    engine.expect(*tasks);
    references.expect(*tasks);
  }
  auto done = loader.read_journal().and_then([&] {
    return loader.for_each_row(
        [&]<class Row>(std::optional<Row> row, const Key<Row>& key, bool from_journal) {
          if (fold != nullptr && from_journal) note(*fold, key, row, engine);
          if (!row) return;
          references.see(*row);
          if (!references.fit()) return;  // the engine would look for what is not there
          if constexpr (std::is_same_v<Row, engine::TaskRow>) {
            if (!from_journal && static_cast<std::size_t>(engine.payload_bytes()) > payload_bytes) {
              row->payload = Json::parked(row->payload.size(), row->sequence);
            }
          }
          ready.push_back(making(engine, std::move(*row)));
          if (ready.size() >= kRestoredAtOnce) restore();
        });
  });
  if (!done) return done;
  const std::vector<std::string> problems = std::move(references).problems();
  if (!problems.empty()) {
    return tl::unexpected(sqlite::Failure{SQLITE_CORRUPT, problems.front()});
  }
  restore();
  return {};
}

}  // namespace retsu::embedded
