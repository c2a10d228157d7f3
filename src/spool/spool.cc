#include "spool/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>

#include "base/wall_clock.h"
#include "base/write_all.h"

namespace retsu::spool {
namespace {

// The file behind a link, also if it is not there yet: a new file would take the place of the link.
std::string resolved(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;
  std::error_code failure;
  fs::path found = path;
  for (int links = 0; links < kMostLinks && fs::is_symlink(found, failure); ++links) {
    const fs::path target = fs::read_symlink(found, failure);
    if (failure) break;
    found = found.parent_path() / target;  // which is the target alone, if that is absolute
  }
  return found.string();
}

}  // namespace

Millis delay_after(std::int64_t failures, double chance) {
  constexpr std::int64_t kFirstMs = 1'000;
  constexpr std::int64_t kDoublings = 6;
  constexpr double kSpread = 0.25;
  const std::int64_t ms = kFirstMs << std::clamp<std::int64_t>(failures - 1, 0, kDoublings);
  return Millis(std::llround(static_cast<double>(ms) * (1 - kSpread + 2 * kSpread * chance)));
}

Spool::Spool(std::string path, Limits limits, std::function<TimePoint()> clock)
    : path_(resolved(path)),
      limits_(limits),
      clock_(clock ? std::move(clock) : wall_clock),
      asides_(path_) {}

// ---------------------------------------------------------------------------------------- adding

void Spool::Known::add(const Line& line) {
  if (!line.is_sound) return;
  ++tasks;
  oldest = std::min(oldest, line.created);
  if (line.was_tried) oldest_tried = std::min(oldest_tried, line.created);
}

Result<Spool::Added> Spool::add(const Entry& entry) {
  const std::string text = line_of(entry) + '\n';
  if (auto fits = check_size(text); !fits) return tl::unexpected(std::move(fits.error()));
  const auto lock = Lock::take(path_, Lock::What::kFile);
  if (!lock) return tl::unexpected(lock.error());
  if (auto done = catch_up(); !done) return tl::unexpected(std::move(done.error()));
  if (auto done = append(text); !done) return tl::unexpected(std::move(done.error()));
  known_.add(
      {.created = entry.created_at, .is_sound = true, .was_tried = entry.last_attempt.has_value()});
  Added added;
  const TimePoint now = clock_();
  if (!is_over_limits(now)) return added;
  const bool is_sending = !Lock::take(path_, Lock::What::kSending, Millis(0));
  auto dropped = change_locked(
      [&](Edit& edit) {
        bury_beyond_limits(edit, now, is_sending ? Sends::kSomebody : Sends::kNobody);
        return Status();
      },
      nullptr);
  if (dropped) {
    added.dropped = *std::move(dropped);
  } else {
    added.limits_failed = std::move(dropped.error());
  }
  return added;
}

Status Spool::check_size(const std::string& text) const {
  const std::int64_t most = std::min(limits_.bytes, kLongestEntry);
  if (std::ssize(text) <= most) return {};
  return refuse(ErrorCode::kTooLarge, fmt::format("{}: an entry may have {} bytes", path_, most));
}

Status Spool::add_all(const std::vector<Entry>& entries) {
  const auto lock = Lock::take(path_, Lock::What::kFile);
  if (!lock) return tl::unexpected(lock.error());
  return add_all(entries, *lock);
}

Status Spool::add_all(const std::vector<Entry>& entries, const Lock&) {
  std::string text;
  for (const Entry& entry : entries) {
    const std::string line = line_of(entry) + '\n';
    if (auto fits = check_size(line); !fits) return fits;
    text += line;
  }
  if (auto done = catch_up(); !done) return done;
  if (known_.tasks + std::ssize(entries) > limits_.tasks ||
      known_.mark.size + std::ssize(text) > limits_.bytes) {
    return refuse(
        ErrorCode::kOverloaded,
        fmt::format("{}: {} more do not fit: it has {} tasks in {} bytes, and may have {} "
                    "in {}",
                    path_, entries.size(), known_.tasks, known_.mark.size, limits_.tasks,
                    limits_.bytes));
  }
  auto done = append(text);
  known_ = {};
  return done;
}

// Others may have added to the file, or replaced it: only what is new is read.
Status Spool::catch_up() {
  const auto found = mark_of(path_);
  const bool exists = found.has_value();
  const File::Mark now = found.value_or(File::Mark{});
  if (exists && file_ && now == known_.mark) return {};
  const bool has_grown = exists && file_ && now.is_same_file(known_.mark) &&
                         now.size > known_.mark.size && !known_.is_torn;
  const std::int64_t from = has_grown ? known_.mark.size : 0;
  if (!has_grown) {
    known_ = {};
    auto file = File::open(path_, O_RDWR | O_CREAT | O_APPEND);
    if (!file) return tl::unexpected(std::move(file.error()));
    file_ = *std::move(file);
    if (!exists) {
      if (auto done = sync_folder_of(path_); !done) return done;
    }
  }
  auto contents = Contents::open(path_, Contents::Locked::kYes);
  if (!contents) return tl::unexpected(std::move(contents.error()));
  auto read = contents->read_lines(
      [this](const Line& line, std::string_view, const Entry*) { known_.add(line); }, from);
  if (!read) {
    known_ = {};
    return read;
  }
  known_.mark = contents->mark();
  known_.is_torn = contents->ends_torn();
  return {};
}

Status Spool::append(const std::string& text) {
  const std::int64_t before = known_.mark.size;
  const std::string bytes = known_.is_torn ? '\n' + text : text;
  known_.mark.size = before + std::ssize(bytes);
  // But not what programs have added that know of no lock.
  const auto take_back = [&] {
    known_ = {};
    const auto now = file_.mark();
    if (now && now->size <= before + std::ssize(bytes)) {
      (void)::ftruncate(file_.number(), before);
    }
  };
  if (const int error = write_all(file_.number(), bytes); error != 0) {
    take_back();
    return tl::unexpected(file_error(path_, error));
  }
  if (auto synced = file_.sync(); !synced) {
    take_back();
    synced.error().message += "; the entry may have been added or not";
    synced.error().code = ErrorCode::kOutcomeUnknown;
    return synced;
  }
  known_.is_torn = false;
  return {};
}

// ---------------------------------------------------------------------------------------- limits

std::optional<Reason> Spool::too_old(const Line& line, TimePoint now) const {
  if (line.was_tried && now - line.created > kKeyAge) return Reason::kKeyExpired;
  if (now - line.created >= limits_.age) return Reason::kMaxAge;
  return std::nullopt;
}

bool Spool::is_over_limits(TimePoint now) const {
  if (known_.tasks > limits_.tasks || known_.mark.size > limits_.bytes) return true;
  const auto is_older = [now](TimePoint time, Millis age) {
    return time != TimePoint::max() && now - time >= age;
  };
  return is_older(known_.oldest, limits_.age) || is_older(known_.oldest_tried, kKeyAge + Millis(1));
}

void Spool::bury_beyond_limits(Edit& edit, TimePoint now, Sends sends) const {
  std::vector<std::reference_wrapper<const Line>> rest;
  std::int64_t bytes = 0;
  for (const Line& line : edit.contents().lines()) {
    if (!line.is_sound) continue;
    if (const auto reason = too_old(line, now)) {
      edit.bury(line, *reason);
      continue;
    }
    rest.emplace_back(line);
    bytes += line.length + 1;
  }
  std::ranges::sort(rest, {}, [sends](const Line& line) {
    const bool may_be_sent = sends == Sends::kSomebody && line.was_tried;
    return std::tuple(may_be_sent, line.created, line.offset);
  });
  std::int64_t tasks = std::ssize(rest);
  for (const Line& line : rest) {
    if (tasks <= limits_.tasks && bytes <= limits_.bytes) break;
    edit.bury(line, tasks > limits_.tasks ? Reason::kMaxTasks : Reason::kMaxBytes);
    --tasks;
    bytes -= line.length + 1;
  }
}

// --------------------------------------------------------------------------------------- changes

Result<std::vector<Dropped>> Spool::change(const Change& change, const Contents::Each& each) {
  const auto lock = Lock::take(path_, Lock::What::kFile);
  if (!lock) return tl::unexpected(lock.error());
  return change_locked(change, each);
}

Result<std::vector<Dropped>> Spool::change_locked(const Change& change,
                                                  const Contents::Each& each) {
  Edit edit(path_, asides_);
  if (auto done = edit.open(each); !done) return tl::unexpected(std::move(done.error()));
  if (auto done = change(edit); !done) return tl::unexpected(std::move(done.error()));
  return edit.commit(clock_());
}

Result<std::vector<Dropped>> Spool::tidy() {
  return change([this](Edit& edit) {
    bury_beyond_limits(edit, clock_());
    return Status();
  });
}

}  // namespace retsu::spool
