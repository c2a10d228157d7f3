#include "broker/embedded/verify.h"

#include <fmt/format.h>

#include <filesystem>

#include "broker/embedded/load.h"
#include "broker/embedded/references.h"
#include "broker/embedded/schema.h"
#include "broker/embedded/snapshot.h"

namespace retsu::embedded {
namespace {

namespace fs = std::filesystem;

// All that is wrong with the pages of a database.
sqlite::Done check_all_pages(sqlite::Database& database, Verdict& verdict,
                             const std::function<void()>& tick) {
  const std::size_t before = verdict.problems.size();
  tick();
  database.on_tick(&tick);
  auto done = [&]() -> sqlite::Done {
    auto found = database.prepare("PRAGMA integrity_check");
    if (!found) return tl::unexpected(std::move(found.error()));
    for (;;) {
      const auto more = found->step();
      if (!more) return tl::unexpected(more.error());
      if (!*more) return {};
      for_each_problem(found->text(0),
                       [&](std::string_view line) { verdict.problems.emplace_back(line); });
    }
  }();
  database.on_tick(nullptr);
  // It may give up at a page that it has told of; the tables may still be read in part.
  if (done || !done.error().is_damage()) return done;
  if (verdict.problems.size() == before) verdict.problems.push_back(done.error().message);
  return {};
}

class Verification {
 public:
  Verification(Snapshot& store, Verdict& verdict, const OnProgress& on_progress)
      : store_(store), verdict_(verdict), on_progress_(on_progress) {}

  sqlite::Done run() {
    return check_all_pages(store_.tables, verdict_, [&] { say("pages", 0, 0); })
        .and_then([&] { return check_rows(); })
        .and_then([&] { return check_load(); });
  }

 private:
  sqlite::Done check_rows() {
    if (verdict_.version < kSchemaVersion) return {};  // the next start brings it up to date
    const auto all = store_.tables.integer("SELECT count(*) FROM tasks");
    Engine names;  // of queues and users
    Loader loader(store_.tables, store_.journal, names, [&](const std::string& place) {
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
    Loader loader(store_.tables, store_.journal, engine);
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
  std::error_code ignored;
  if (fs::exists(database_file, ignored) && !file_exists(database_file)) {
    return judge({SQLITE_CORRUPT, fs::path(database_file).filename().string() + " is empty"});
  }
  auto store = Snapshot::take(database_file);
  if (!store) {
    // The pages say where.
    auto tables = open_to_read(database_file);
    if (tables && store.error().is_damage()) {
      (void)check_all_pages(*tables, verdict, [] {});
    }
    return judge(store.error());
  }
  verdict.version = store->version;
  if (store->has_files) {
    for (const std::string& bytes : store->journal.memory) verdict.bytes += std::ssize(bytes);
  }
  if (auto done = Verification(*store, verdict, on_progress).run(); !done) {
    return judge(done.error());
  }
  return verdict;
}

}  // namespace retsu::embedded
