#include "broker/embedded/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <system_error>

#include "base/check.h"
#include "broker/embedded/journal.h"
#include "broker/embedded/load.h"
#include "broker/embedded/schema.h"
#include "broker/embedded/store_files.h"
#include "broker/refusals.h"

namespace retsu::embedded {
namespace {

constexpr std::uint64_t kForgottenAtOnce = 4;  // groups: more than the one that comes
constexpr std::size_t kTidiedRows = 400;       // at once: about 2 ms
constexpr auto kSoon = std::chrono::milliseconds(0);

// As SQLite itself: a short log that is written over and over syncs fastest.
constexpr int kLogPages = 1'000;
constexpr int kMostLogPages = 8'000;  // then readers wait until it is carried over

// Pages of 8 KiB: half the system calls of SQLite's own 4 for large groups, no more time for small
// ones. EXTRA, and before the mode is changed: a rollback journal that comes back with the power,
// because its folder was not synced, would take the whole store back to its first moment.
constexpr const char* kSetUp =
    "PRAGMA page_size = 8192; PRAGMA synchronous = EXTRA; PRAGMA journal_mode = WAL; PRAGMA "
    "secure_delete = OFF;"
    "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;";

}  // namespace

Store::Store(std::string directory, StoreSettings settings, LockFile lock)
    : directory_(std::move(directory)), settings_(settings), lock_(std::move(lock)) {}

Result<std::unique_ptr<Store>> Store::open(const std::string& directory, StoreSettings settings) {
  if (auto made = make_directory(directory); !made) return tl::unexpected(std::move(made.error()));
  auto lock = LockFile::take(directory + kLockFile);
  if (!lock) return tl::unexpected(std::move(lock.error()));
  return std::unique_ptr<Store>(new Store(directory, settings, std::move(*lock)));
}

Store::~Store() {
  end_searches();
  while (tidy(nullptr) == kSoon) continue;
}

void Store::end_searches() {
  for (Search& search : std::exchange(searches_, {})) {
    search.done(tl::unexpected(read_anew()));
  }
}

Status Store::connect() {
  if (settings_.vfs == nullptr) make_private_file(directory_ + kDatabaseFile);
  auto database = sqlite::Database::open(
      directory_ + kDatabaseFile, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
      settings_.vfs);
  const auto refused = [&](const sqlite::Failure& failure) {
    return tl::unexpected(store_error(directory_, failure));
  };
  if (!database) return refused(database.error());
  auto made = std::make_unique<Connection>(Connection{std::move(*database), {}, {}, {}, {}});
  if (auto done = made->database.execute(kSetUp); !done) return refused(done.error());
  if (made->database.text("PRAGMA journal_mode").value_or("") != "wal") {
    return refused(
        {SQLITE_CANTOPEN, "its file system has no shared memory, which SQLite's WAL needs"});
  }
  if (auto done = prepare_schema(made->database); !done) return refused(done.error());
  made->database.keep_log();
  const std::pair<sqlite::Statement*, const char*> statements[] = {
      {&made->begin, "BEGIN IMMEDIATE"},
      {&made->commit, "COMMIT"},
      {&made->add_group, "INSERT INTO journal (number, changes) VALUES (?, ?)"},
      {&made->drop_group, "DELETE FROM journal WHERE number = ?"}};
  for (const auto& [statement, sql] : statements) {
    auto prepared = made->database.prepare(sql);
    if (!prepared) return refused(prepared.error());
    *statement = std::move(*prepared);
  }
  fold_ = Fold();
  if (auto done = fold_.prepare(made->database); !done) return refused(done.error());
  connection_ = std::move(made);
  reader_ = std::make_unique<Reader>(directory_ + kDatabaseFile, settings_.vfs);
  return {};
}

Status Store::reopen(Engine& engine) {
  fold_ = Fold();
  reader_.reset();
  payloads_.reset();
  lost_payload_ = false;
  connection_.reset();
  end_searches();
  has_ballast_ = has_room();
  auto done = connect();
  if (done) done = load(engine);
  if (!done) {
    fold_ = Fold();
    connection_.reset();
  }
  return done;
}

Status Store::load(Engine& engine) {
  // Rows are looked at one by one; that none is missing, only the pages can tell.
  auto pages = std::async(std::launch::async, [this] { return check_pages(); });
  Loader loader(connection_->database, engine);
  auto done = embedded::load(loader, engine, &fold_, settings_.payload_bytes);
  const auto pages_done = pages.get();
  if (done) done = pages_done;
  if (!done) return tl::unexpected(store_error(directory_, done.error()));
  first_group_ = loader.first_group();
  next_group_ = loader.next_group();
  young_bytes_ = loader.journal_bytes();
  folding_until_ = folded_until_ = first_group_ - 1;
  noted_until_ = next_group_ - 1;
  unfolded_bytes_ = 0;
  engine.set_payload_source([this](engine::Sequence sequence) { return payload(sequence); });
  return {};
}

sqlite::Done Store::check_pages() const {
  auto database = sqlite::Database::open(directory_ + kDatabaseFile,
                                         SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, settings_.vfs);
  if (!database) return tl::unexpected(database.error());
  const auto found = database->text("PRAGMA quick_check(1)");
  if (!found) return tl::unexpected(found.error());
  if (*found != "ok") return tl::unexpected(sqlite::Failure{SQLITE_CORRUPT, *found});
  return {};
}

Json Store::payload(engine::Sequence sequence) {
  const auto read = [&]() -> sqlite::Outcome<Json> {
    if (!payloads_) {
      auto database = sqlite::Database::open(
          directory_ + kDatabaseFile, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, settings_.vfs);
      if (!database) return tl::unexpected(database.error());
      auto select =
          database->prepare("SELECT payload, payload_checksum FROM tasks WHERE sequence = ?");
      if (!select) return tl::unexpected(select.error());
      payloads_.emplace(Payloads{std::move(*database), std::move(*select)});
    }
    sqlite::Statement& select = payloads_->select;
    select.bind(1, static_cast<std::int64_t>(sequence));
    const auto row = select.step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return tl::unexpected(sqlite::Failure{SQLITE_CORRUPT, "a row is missing"});
    Json payload(select.text(0));
    const bool fits = select.is_null(1) || select.integer(1) == sum_of(payload);
    select.reset();
    if (!fits) return tl::unexpected(sqlite::Failure{SQLITE_CORRUPT, "a payload has changed"});
    return payload;
  };
  auto payload = read();
  if (payload) return *std::move(payload);
  payloads_.reset();
  lost_payload_ = true;
  return {};
}

void Store::prepare() {
  if (fold_.left() == 0 && (is_awaited() || young_bytes_ >= settings_.journal_bytes)) turn();
  // The old generation is written when the young one is as large as that was, or a little sooner.
  const std::size_t bytes = std::exchange(unfolded_bytes_, 0);
  const std::size_t rows = turned_rows_ * (bytes + bytes / 4) / settings_.journal_bytes + 1;
  fold_.choose(is_awaited() ? std::max(rows, kTidiedRows) : rows);
}

Store::Kept Store::commit(const engine::Changes& group) {
  if (!connection_) return Kept::kUnknown;
  group_ = pack_group(group);
  const auto done = write_journal()
                        .and_then([&] { return fold_.write(); })
                        .and_then([&] { return forget_folded(kForgottenAtOnce); })
                        .and_then([&] { return timed_commit(); });
  if (!done) return failed(done.error());
  carry_over_log();
  return Kept::kYes;
}

sqlite::Done Store::timed_commit() {
  const auto began = std::chrono::steady_clock::now();
  auto done = connection_->commit.run();
  const auto took = std::chrono::steady_clock::now() - began;
  figures_->commits.add(std::chrono::floor<Histogram::Time>(took));
  return done;
}

// A failure is none of the group's: it is in the log, and will be carried over later.
void Store::carry_over_log() {
  sqlite::Database& database = connection_->database;
  const int pages = database.log_pages();
  if (pages < std::exchange(log_pages_, pages)) carry_over_at_ = kLogPages;  // it began anew
  if (pages < carry_over_at_) return;
  carry_over_at_ = pages + kLogPages;  // while somebody reads it cannot begin anew: not each time
  if (pages < kMostLogPages) return database.carry_over_log(false);
  const Reader::Pause alone(*reader_);
  database.carry_over_log(true);
}

void Store::kept(Engine& engine) {
  ++next_group_;
  young_bytes_ += group_.size();
  unfolded_bytes_ += group_.size();
  ++figures_->groups;
  figures_->journal_bytes += group_.size();
  fold_committed(&engine);
}

void Store::note(engine::Changes group) {
  fold_.add(std::move(group));
  noted_until_ = next_group_ - 1;
}

sqlite::Done Store::write_journal() {
  return connection_->begin.run().and_then([&] {
    connection_->add_group.bind(1, static_cast<std::int64_t>(next_group_));
    connection_->add_group.bind_blob(2, group_);
    return connection_->add_group.run();
  });
}

bool Store::search(const ListTasks& list, std::size_t tasks, Done done) {
  if (!connection_ || tasks <= settings_.searched_tasks) return false;
  if (goes_on(list)) {
    reader_->search(list, std::move(done));
    return true;
  }
  searches_.push_back({next_group_ - 1, list, [this, done = std::move(done)](Result<Found> found) {
                         if (found && found->next_cursor) {
                           began_until_ =
                               std::max(began_until_.load(), *parsed_cursor(*found->next_cursor));
                         }
                         done(std::move(found));
                       }});
  begin_searches();
  return true;
}

// A later page of a list by what never changes about a task: what it may show has been in the
// tables since its first page. Who pages through everything shall not keep others waiting.
bool Store::goes_on(const ListTasks& list) const {
  if (list.filter.state || !list.filter.q.empty()) return false;
  const auto cursor = parsed_cursor(list.cursor);
  return cursor && *cursor <= began_until_;
}

void Store::begin_searches() {
  const bool all_folded = fold_.left() == 0 && !fold_.has_young();
  while (!searches_.empty() && (all_folded || searches_.front().group <= folded_until_)) {
    Search& search = searches_.front();
    reader_->search(std::move(search.list), std::move(search.done));
    searches_.pop_front();
  }
}

// Groups all of whose rows are in the tables, the oldest first. Reading them again does no harm.
sqlite::Done Store::forget_folded(std::uint64_t most) {
  sqlite::Done done;
  for (; done && most > 0 && first_group_ <= folded_until_; --most) {
    connection_->drop_group.bind(1, static_cast<std::int64_t>(first_group_));
    done = connection_->drop_group.run();
    if (done) ++first_group_;
  }
  return done;
}

// What the journal has now is what is folded next.
void Store::turn() {
  fold_.turn();
  folding_until_ = noted_until_;
  young_bytes_ = 0;
  turned_rows_ = fold_.left();
}

void Store::fold_committed(Engine* engine) {
  // What the tables have now need not be in memory.
  fold_.commit([&](const engine::TaskRow& task) {
    if (engine != nullptr &&
        engine->payload_bytes() > static_cast<std::int64_t>(settings_.payload_bytes)) {
      engine->park_payload(task.id, task.sequence);
    }
  });
  if (fold_.left() == 0) folded_until_ = folding_until_;
  begin_searches();
}

Store::Kept Store::failed(const sqlite::Failure& failure) {
  fold_.roll_back();
  const bool undone =
      !connection_->database.in_transaction() || connection_->database.execute("ROLLBACK");
  // Groups that were to go are still there, or not: both are right.
  if (undone && failure.is_full()) {
    if (auto first = connection_->database.integer("SELECT min(number) FROM journal"); first) {
      first_group_ = *first > 0 ? static_cast<std::uint64_t>(*first) : next_group_;
      give_up_ballast();
      return Kept::kFull;
    }
  }
  connection_.reset();
  return Kept::kUnknown;
}

std::chrono::milliseconds Store::tidy(Engine* engine) {
  if (!connection_) return kNoWork;
  if (fold_.left() == 0 && first_group_ > folded_until_) {
    if (!fold_.has_young()) return kNoWork;
    turn();
  }
  fold_.choose(kTidiedRows);
  const auto done = connection_->begin.run()
                        .and_then([&] { return fold_.write(); })
                        .and_then([&] { return forget_folded(64); })
                        .and_then([&] { return connection_->commit.run(); });
  if (!done) {
    failed(done.error());
    return std::chrono::seconds(1);
  }
  carry_over_log();
  fold_committed(engine);
  return kSoon;
}

bool Store::give_up_ballast() {
  if (!has_ballast_) return false;
  has_ballast_ = false;
  std::error_code ignored;
  return std::filesystem::remove(directory_ + kBallastFile, ignored);
}

bool Store::has_room() {
  const std::string path = directory_ + kBallastFile;
  std::error_code ignored;
  if (std::filesystem::file_size(path, ignored) == settings_.ballast_bytes && !ignored) return true;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return false;
  has_ballast_ = ::posix_fallocate(file, 0, static_cast<off_t>(settings_.ballast_bytes)) == 0;
  ::close(file);
  if (!has_ballast_) std::filesystem::remove(path, ignored);
  return has_ballast_;
}

}  // namespace retsu::embedded
