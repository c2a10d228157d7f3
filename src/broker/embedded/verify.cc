#include "broker/embedded/verify.h"

#include <fmt/format.h>

#include "broker/embedded/load.h"
#include "broker/embedded/references.h"
#include "broker/embedded/schema.h"
#include "broker/embedded/snapshot.h"

namespace retsu::embedded {
namespace {

class Verification {
 public:
  Verification(Snapshot& store, Verdict& verdict, const OnProgress& on_progress)
      : store_(store), verdict_(verdict), on_progress_(on_progress) {}

  sqlite::Done run() {
    return check_pages(store_.tables, "")
        .and_then([&] {
          return store_.journal ? check_pages(*store_.journal, "journal.db: ") : sqlite::Done();
        })
        .and_then([&] { return check_rows(); })
        .and_then([&] { return check_load(); });
  }

 private:
  sqlite::Done check_pages(sqlite::Database& database, const char* where) {
    const std::size_t before = verdict_.problems.size();
    say("pages", 0, 0);
    const std::function<void()> tick = [&] { say("pages", 0, 0); };
    database.on_tick(&tick);
    auto done = [&]() -> sqlite::Done {
      auto found = database.prepare("PRAGMA integrity_check");
      if (!found) return tl::unexpected(std::move(found.error()));
      for (;;) {
        const auto more = found->step();
        if (!more) return tl::unexpected(more.error());
        if (!*more) return {};
        add_lines(where, found->text(0));
      }
    }();
    database.on_tick(nullptr);
    // It may give up at a page that it has told of; the tables may still be read in part.
    if (done || !done.error().is_damage()) return done;
    if (verdict_.problems.size() == before) {
      verdict_.problems.push_back(where + done.error().message);
    }
    return {};
  }

  // One answer of SQLite may hold several lines; the first says which database.
  void add_lines(const char* where, std::string_view text) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      if (line != "ok" && !line.starts_with("***")) {
        verdict_.problems.push_back(fmt::format("{}{}", where, line));
      }
      text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
  }

  sqlite::Done check_rows() {
    if (verdict_.version < kSchemaVersion) return {};  // the next start brings it up to date
    const auto all = store_.tables.integer("SELECT count(*) FROM tasks");
    Engine names;  // of queues and users
    Loader loader(store_.tables, store_.groups(), names, [&](const std::string& place) {
      verdict_.problems.push_back(place);
      return true;
    });
    References references(References::Care::kAll);
    std::int64_t seen = 0;
    auto done = loader.read_journal().and_then([&] {
      return loader.for_each_row([&]<class Row>(std::optional<Row> row, const Key<Row>&, bool) {
        if (!row) return;
        ++verdict_.rows[Kind<Row>::kTable];
        references.see(*row);
        if constexpr (std::is_same_v<Row, engine::TaskRow>) {
          ++verdict_.tasks[std::string(name_of(row->state))];
          if (++seen % 1'000 == 0) say("rows", seen, all.value_or(0));
        }
      });
    });
    verdict_.groups = static_cast<std::int64_t>(loader.groups());
    verdict_.journal_bytes = static_cast<std::int64_t>(loader.journal_bytes());
    // A row that could not be read is missed by others: that is no news.
    if (done && verdict_.problems.empty()) verdict_.problems = std::move(references).problems();
    return done;
  }

  sqlite::Done check_load() {
    if (!verdict_.problems.empty() || verdict_.version < kSchemaVersion) return {};
    say("loading", 0, 0);
    Engine engine;
    Loader loader(store_.tables, store_.groups(), engine);
    return load(loader, engine);
  }

  void say(const std::string& what, std::int64_t done, std::int64_t whole) const {
    if (on_progress_) on_progress_(what, done, whole);
  }

  Snapshot& store_;
  Verdict& verdict_;
  const OnProgress& on_progress_;
};

}  // namespace

Result<Verdict> verify(const std::string& database_file, const OnProgress& on_progress) {
  Verdict verdict;
  verdict.bytes = file_bytes(database_file) + file_bytes(database_file + "-wal");
  // Damage is what we are here to tell; anything else means that nobody can look.
  const auto judge = [&](const sqlite::Failure& failure) -> Result<Verdict> {
    if (!failure.is_damage()) return tl::unexpected(store_error(database_file, failure));
    verdict.problems.push_back(failure.message);
    return std::move(verdict);
  };
  auto store = Snapshot::take(database_file);
  if (!store) return judge(store.error());
  verdict.version = store->version;
  if (store->journal) {
    const std::string journal = journal_beside(database_file);
    verdict.bytes += file_bytes(journal) + file_bytes(journal + "-wal");
  }
  if (auto done = Verification(*store, verdict, on_progress).run(); !done) {
    return judge(done.error());
  }
  return verdict;
}

}  // namespace retsu::embedded
