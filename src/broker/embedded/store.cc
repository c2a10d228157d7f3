#include "broker/embedded/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <random>
#include <system_error>

#include "broker/embedded/journal.h"
#include "broker/embedded/load.h"
#include "broker/embedded/schema.h"
#include "broker/embedded/store_files.h"
#include "broker/refusals.h"

namespace retsu::embedded {
namespace {

constexpr auto kSoon = std::chrono::milliseconds(0);
constexpr auto kLookForRoomEvery = std::chrono::milliseconds(1'000);

// For what an old log has, which goes into its file, and a little more.
bool has_room_to_start(const std::string& directory) {
  const std::int64_t bytes = (1 << 20) + file_bytes(directory + kDatabaseFile + "-wal");
  std::error_code ignored;
  return std::filesystem::space(directory, ignored).available >= static_cast<std::uintmax_t>(bytes);
}

}  // namespace

Store::Store(std::string directory, StoreSettings settings, LockFile lock)
    : directory_(std::move(directory)), settings_(settings), lock_(std::move(lock)) {}

Result<std::unique_ptr<Store>> Store::open(const std::string& directory, StoreSettings settings) {
  if (auto made = make_directory(directory); !made) return tl::unexpected(std::move(made.error()));
  auto lock = LockFile::take(directory + kLockFile);
  if (!lock) return tl::unexpected(std::move(lock.error()));
  std::error_code ignored;
  std::filesystem::remove(directory + kServerFile, ignored);  // of one that was killed
  return std::unique_ptr<Store>(new Store(directory, settings, std::move(*lock)));
}

Store::~Store() {
  end_searches();
  while (tidy(nullptr) == kSoon) continue;
  stop_reading();
  if (works() && folding_->has_all()) end_journal();
}

void Store::end_searches() {
  for (Search& search : std::exchange(searches_, {})) {
    search.done(tl::unexpected(read_anew()));
  }
}

// Only the last connection to a database takes its log away: that shall be one that writes.
void Store::stop_reading() {
  if (folding_) folding_->wait();  // it may have a word with the reader
  reader_.reset();
  payloads_.reset();
}

void Store::disconnect() {
  stop_reading();
  folding_.reset();
  journal_.reset();
}

Status Store::reopen(Engine& engine) {
  disconnect();
  lost_payload_ = false;
  end_searches();
  // The ballast comes when tables have been made: where it is, they have been.
  const bool is_new = !file_exists(directory_ + kDatabaseFile, settings_.vfs);
  if (is_new && file_exists(directory_ + kBallastFile)) {
    return tl::unexpected(store_error(
        directory_, {SQLITE_CORRUPT, "retsu.db is empty or gone, though there was a store"}));
  }
  if (!is_new) lacks_room_ = !has_room();
  if (!has_room_to_start(directory_)) lacks_room_ |= give_up_ballast();
  JournalContent content;
  auto done = connect(content);
  if (is_new && done) lacks_room_ = !has_room();
  old_log_ = OldLog::kHasToGo;  // from now on this is called after failures
  if (done) done = load(engine, content);
  if (!done) disconnect();
  return done;
}

// With what the pages say, who know the place best.
Error Store::refusal(sqlite::Failure failure, const sqlite::Done& pages) const {
  const bool is_news = !pages && pages.error().message != failure.message;
  if (failure.is_damage() && is_news) failure.message += "; " + pages.error().message;
  return store_error(directory_, failure);
}

Status Store::connect(JournalContent& content) {
  const auto refused = [&](const sqlite::Failure& failure) {
    return tl::unexpected(refusal(failure, failure.is_damage() ? check_tables() : sqlite::Done()));
  };
  const std::string tables = directory_ + kDatabaseFile;
  auto database = open_to_write(tables, settings_.vfs, old_log_);
  if (!database) return refused(database.error());
  if (auto done = prepare_schema(*database); !done) return refused(done.error());
  const auto mark = mark_of(*database);
  if (!mark) return refused(mark.error());
  if (auto done = open_journal(*database, *mark, content); !done) return refused(done.error());
  reader_ = std::make_unique<Reader>(tables, settings_.vfs);
  folding_ = std::make_unique<Folding>(std::move(*database), settings_.journal_bytes,
                                       settings_.log_pages, *reader_);
  if (auto done = folding_->prepare(); !done) return refused(done.error());
  return {};
}

// What it says goes into `content`; it is none where it is to be made.
sqlite::Done Store::open_journal(sqlite::Database& tables, const JournalMark& mark,
                                 JournalContent& content) {
  const auto take = [&](sqlite::Outcome<JournalContent> read) {
    return std::move(read).map([&](JournalContent&& all) { content = std::move(all); });
  };
  if (mark.mark == 0) {
    return check_left_over(tables, mark, directory_, settings_.vfs).and_then([&] {
      return take(read_journal_table(tables));
    });
  }
  if (has_old_journal(directory_, settings_.vfs, mark.mark)) {
    return open_to_write(directory_ + kOldJournalFile, settings_.vfs, old_log_)
        .and_then([&](sqlite::Database&& old) { return take(read_old_journal(old, mark.mark)); });
  }
  return Journal::open(directory_, settings_.vfs, mark.mark, old_log_, settings_.journal_bytes,
                       content)
      .map([&](Journal&& opened) { journal_ = std::move(opened); });
}

Status Store::load(Engine& engine, const JournalContent& content) {
  // Rows are looked at one by one; that none is missing, only the pages can tell.
  auto pages = std::async(std::launch::async, [this] { return check_tables(); });
  sqlite::Database& tables = folding_->database();
  Loader loader(tables, content, engine);
  auto done = embedded::load(loader, engine, &folding_->rows(), settings_.payload_bytes);
  const auto pages_done = pages.get();
  if (!done) return tl::unexpected(refusal(done.error(), pages_done));
  done = pages_done;
  if (done && !journal_) done = begin_journal(content);
  // A commit of the tables is in their log; only that which lets the journal forget is synced.
  if (done) done = tables.execute("PRAGMA synchronous = NORMAL");
  if (!done) return tl::unexpected(store_error(directory_, done.error()));
  next_group_ = loader.next_group();
  folding_->loaded(loader.folded(), next_group_ - 1, journal_->finished_until());
  engine.set_payload_source([this](engine::Sequence sequence) { return payload(sequence); });
  return {};
}

sqlite::Done Store::check_tables() const {
  return check_pages(directory_ + kDatabaseFile, settings_.vfs);
}

// Gives the journal its files, with the groups that were elsewhere. Until the mark is there the
// files do not count.
sqlite::Done Store::begin_journal(const JournalContent& content) {
  std::random_device random;
  const auto mark = static_cast<std::int64_t>((std::uint64_t{random()} << 31 ^ random()) | 1);
  auto made = Journal::make(directory_, settings_.vfs, mark, content, settings_.journal_bytes);
  if (!made) return tl::unexpected(made.error());
  journal_ = std::move(*made);
  auto done = folding_->database().execute(fmt::format(
      "BEGIN IMMEDIATE; UPDATE journal_file SET mark = {}; DELETE FROM journal; COMMIT", mark));
  if (done) remove_database(directory_ + kOldJournalFile, settings_.vfs);
  return done;
}

// The tables have all: they do without it.
void Store::end_journal() {
  const bool done =
      folding_->database()
          .execute(fmt::format(
              "PRAGMA synchronous = FULL; UPDATE journal_file SET mark = NULL, folded = {}",
              next_group_ - 1))
          .has_value();
  journal_.reset();
  if (done) remove_journal(directory_, settings_.vfs);
}

Json Store::payload(engine::Sequence sequence) {
  const auto read = [&]() -> sqlite::Outcome<Json> {
    if (!payloads_) {
      auto database = open_to_read(directory_ + kDatabaseFile, settings_.vfs);
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

void Store::prepare(const engine::Changes& group) {
  pack_group(group, group_);
  is_prepared_ = true;
}

Store::Kept Store::commit(const engine::Changes& group) {
  if (!std::exchange(is_prepared_, false)) pack_group(group, group_);
  if (!journal_ || !folding_) return Kept::kUnknown;
  if (std::exchange(lacks_room_, false)) return Kept::kFull;
  const auto began = std::chrono::steady_clock::now();
  const auto done = journal_->add(next_group_, group_.view(), folding_->folded_until());
  const auto took = std::chrono::steady_clock::now() - began;
  figures_->commits.add(std::chrono::floor<Histogram::Time>(took));
  if (done) return Kept::kYes;
  if (!done.error().is_full()) {
    journal_.reset();
    return Kept::kUnknown;
  }
  give_up_ballast();
  return Kept::kFull;
}

void Store::kept(Engine& engine) {
  ++next_group_;
  ++figures_->groups;
  figures_->journal_bytes += group_.view().size();
  if (!folding_) return;
  folding_->kept(group_.view().size(), journal_->finished_until());
  folded(folding_->end_slice(parking(&engine)));
}

void Store::note(engine::Changes group) {
  if (!folding_) return;
  folding_->note(std::move(group), next_group_ - 1);
  rows_fit_ = rows_fit_ || has_room_for_rows();
  if (rows_fit_) folding_->begin_slice(is_awaited());
}

bool Store::search(const ListTasks& list, std::size_t tasks, Done done) {
  if (!works() || !rows_fit_ || tasks <= settings_.searched_tasks) return false;
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
  if (searches_.empty()) return;
  const bool all = folding_->has_all();
  while (!searches_.empty() && (all || searches_.front().group <= folding_->folded_until())) {
    Search& search = searches_.front();
    reader_->search(std::move(search.list), std::move(search.done));
    searches_.pop_front();
  }
}

// What the tables have need not be in memory.
Folding::Visit Store::parking(Engine* engine) const {
  const auto is_full = [engine, most = static_cast<std::int64_t>(settings_.payload_bytes)] {
    return engine->payload_bytes() > most;
  };
  if (engine == nullptr || !is_full()) return {};
  return [engine, is_full](const engine::TaskRow& task) {
    if (is_full()) engine->park_payload(task.id, task.sequence);
  };
}

void Store::folded(const std::optional<sqlite::Done>& slice) {
  if (!slice) return begin_searches();
  rows_fit_ = *slice && has_room_for_rows();
  if (*slice) return begin_searches();
  const sqlite::Failure& failure = slice->error();
  if (failure.is_busy()) return;  // somebody else writes: later
  if (!failure.is_full()) return folding_.reset();
  end_searches();
}

std::chrono::milliseconds Store::tidy(Engine* engine) {
  if (!works()) return kNoWork;
  const bool closes = engine == nullptr;
  const auto visit = parking(engine);
  auto slice = folding_->end_slice(visit, true);
  if (!slice) {
    rows_fit_ = has_room_for_rows();
    if (!rows_fit_) {
      end_searches();
      return closes ? kNoWork : kLookForRoomEvery;
    }
    slice = folding_->slice(visit);
  }
  folded(slice);
  if (!slice) return kNoWork;
  return *slice ? kSoon : kLookForRoomEvery;
}

bool Store::give_up_ballast() {
  const bool had = has_ballast_.exchange(false);
  std::error_code ignored;
  if (had) std::filesystem::remove(directory_ + kBallastFile, ignored);
  return had;
}

bool Store::has_room() {
  has_ballast_ = settings_.ballast_bytes == 0 || make_ballast();
  if (has_ballast_) lacks_room_ = false;
  return has_ballast_;
}

// The journal has these rows, so they can wait: what is left of a disk that is nearly full is for
// groups. As much as the ballast is, so that a slice, and a log that is carried over, leave some.
bool Store::has_room_for_rows() const {
  if (!has_ballast_) return false;
  std::error_code failure;
  const auto space = std::filesystem::space(directory_, failure);
  return failure || space.available >= settings_.ballast_bytes;
}

bool Store::make_ballast() {
  const std::string path = directory_ + kBallastFile;
  std::error_code ignored;
  if (std::filesystem::file_size(path, ignored) == settings_.ballast_bytes && !ignored) return true;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool made = ::posix_fallocate(file, 0, static_cast<off_t>(settings_.ballast_bytes)) == 0;
  ::close(file);
  if (!made) std::filesystem::remove(path, ignored);
  return made;
}

}  // namespace retsu::embedded
