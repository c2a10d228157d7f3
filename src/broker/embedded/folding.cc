#include "broker/embedded/folding.h"

#include <algorithm>
#include <utility>

namespace retsu::embedded {
namespace {

constexpr std::size_t kSliceRows = 400;       // when there is time: about 2 ms
constexpr std::size_t kHurriedRows = 8'000;   // when somebody waits: few groups meet a slice
constexpr std::size_t kSliceBytes = 2 << 20;  // of payloads: a slice takes that much of the disk
constexpr std::size_t kSlicesOfGeneration = 256;  // about: each costs a transaction
constexpr std::size_t kFewestSlices = 16;         // of one, too

constexpr int kMostLogs = 8;  // times a long log: then readers wait until it is carried over

}  // namespace

Folding::Folding(sqlite::Database database, std::size_t generation_bytes, int log_pages,
                 Reader& reader)
    : database_(std::move(database)),
      generation_bytes_(generation_bytes),
      log_pages_(log_pages),
      reader_(reader) {
  database_.keep_log(log_pages_);
}

sqlite::Done Folding::prepare() {
  return database_
      .prepare({{begin_, "BEGIN IMMEDIATE"},
                {set_folded_, "UPDATE journal_file SET folded = ?"},
                {commit_, "COMMIT"}})
      .and_then([&] { return fold_.prepare(database_); });
}

void Folding::loaded(std::uint64_t folded_until, std::uint64_t last_group,
                     std::uint64_t finished_until) {
  folding_until_ = folded_until_ = folded_until;
  noted_until_ = last_group;
  finished_until_ = finished_until;
}

void Folding::kept(std::size_t bytes, std::uint64_t finished_until) {
  unfolded_bytes_ += bytes;
  finished_until_ = finished_until;
}

void Folding::note(engine::Changes group, std::uint64_t number) {
  fold_.add(std::move(group));
  noted_until_ = number;
}

bool Folding::has_all() const { return !is_writing_ && fold_.left() == 0 && !fold_.has_young(); }

void Folding::turn() {
  fold_.turn();
  folding_until_ = noted_until_;
  turned_rows_ = fold_.left();
  is_last_ = false;
}

void Folding::begin_slice(bool hurry) {
  if (is_writing_ || background_.is_busy()) return;
  if (fold_.left() == 0 && folded_until_ == folding_until_) {
    unfolded_bytes_ = 0;
    const bool is_due = finished_until_ > folded_until_ && finished_until_ <= noted_until_;
    if (!is_due && !(hurry && fold_.has_young())) return;
    turn();
  }
  if (fold_.needs_sort()) {
    // With 100,000 rows that takes longer than a caller shall wait.
    fold_.begin_sort();
    return background_.start([this] { fold_.sort(); });
  }
  if (!hurry && unfolded_bytes_ < generation_bytes_ / kSlicesOfGeneration) return;
  // The old generation is written when the young one is as large as that was, or a little sooner.
  // In parts, since the log has all of a slice at once, but it is never a generation behind.
  const std::size_t bytes =
      std::max(std::min(unfolded_bytes_, generation_bytes_ / kFewestSlices),
               unfolded_bytes_ - std::min(unfolded_bytes_, generation_bytes_));
  unfolded_bytes_ -= bytes;
  const std::size_t due = turned_rows_ * (bytes + bytes / 4) / generation_bytes_ + 1;
  const std::size_t rows = hurry ? std::max(due, kHurriedRows) : due;
  const std::size_t left = fold_.left();
  fold_.choose(rows, std::max(2 * bytes, kSliceBytes));
  // Those whose payloads were too large for one slice come with the next, which is due the sooner.
  const std::size_t chosen = left - fold_.left();
  if (chosen < std::min(due, left)) unfolded_bytes_ += bytes - bytes * chosen / due;
  is_writing_ = true;
  is_last_ = fold_.left() == 0;
  background_.start([this] { written_ = write(); });
}

std::optional<sqlite::Done> Folding::end_slice(const Visit& visit, bool wait) {
  if (!is_writing_) return std::nullopt;
  if (wait || unfolded_bytes_ > generation_bytes_) background_.wait();
  if (background_.is_busy()) return std::nullopt;
  is_writing_ = false;
  return end(std::exchange(written_, {}), visit);
}

std::optional<sqlite::Done> Folding::slice(const Visit& visit) {
  background_.wait();  // it may be sorting
  if (fold_.left() == 0 && folded_until_ == folding_until_) {
    if (!fold_.has_young()) return std::nullopt;
    turn();
  }
  if (fold_.needs_sort()) {
    fold_.begin_sort();
    fold_.sort();
  }
  fold_.choose(kSliceRows, kSliceBytes);
  is_last_ = fold_.left() == 0;
  return end(write(), visit);
}

sqlite::Done Folding::end(sqlite::Done done, const Visit& visit) {
  if (!done) {
    fold_.roll_back();
    // What cannot be undone is not written upon.
    if (!database_.roll_back()) done.error().code = SQLITE_IOERR;
    return done;
  }
  fold_.commit(visit);
  if (is_last_) folded_until_ = folding_until_;
  return done;
}

// The last slice of a generation is synced, and with it those before, which are in the same log.
sqlite::Done Folding::write() {
  auto done = is_last_ ? database_.execute("PRAGMA synchronous = FULL") : sqlite::Done();
  done = done.and_then([&] { return begin_.run(); })
             .and_then([&] { return fold_.write(); })
             .and_then([&] {
               if (!is_last_) return sqlite::Done();
               set_folded_.bind(1, static_cast<std::int64_t>(folding_until_));
               return set_folded_.run();
             })
             .and_then([&] { return commit_.run(); });
  if (!done) return done;
  if (is_last_) done = database_.execute("PRAGMA synchronous = NORMAL");
  done = done.and_then([&] { return carry_over_log(); });
  // The tables have these rows now: they cannot be put back and chosen again, only read anew.
  if (!done) done.error().code = SQLITE_IOERR;
  return done;
}

// That it is put off is no failure. But if the log cannot be synced now, a later sync that succeeds
// would prove nothing, and the journal must not forget what is in it.
sqlite::Done Folding::carry_over_log() {
  if (!database_.log_is_long()) return {};
  std::optional<Reader::Pause> alone;
  const bool from_start = database_.log_pages() >= kMostLogs * log_pages_;
  if (from_start) alone.emplace(reader_);
  auto done = database_.carry_over_log(from_start);
  return done || done.error().is_of_disk() ? done : sqlite::Done();
}

}  // namespace retsu::embedded
