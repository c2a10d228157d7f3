#include "spool/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>
#include <unordered_map>

#include "base/wall_clock.h"
#include "base/write_all.h"

namespace retsu::spool {
namespace {

constexpr Millis kHidden{60'000};  // from those who take, after another one took it

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

// What others say may be long.
std::string shortened(const std::string& error) {
  constexpr std::size_t kMost = 1'000;
  if (error.size() <= kMost) return error;
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(error[end]) & 0xC0) == 0x80) --end;
  return error.substr(0, end) + "…";
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

Result<Contents> Spool::read() const {
  auto contents = Contents::open(path_, Contents::Locked::kNo);
  if (!contents) return contents;
  if (auto done = contents->read_lines(); !done) return tl::unexpected(std::move(done.error()));
  return contents;
}

Result<std::optional<Entry>> Spool::peek() const {
  const auto contents = read();
  if (!contents) return tl::unexpected(contents.error());
  const TimePoint now = clock_();
  for (const Line& line : contents->in_order()) {
    if (line.due > now || too_old(line, now)) continue;
    auto entry = contents->entry_of(line);
    if (!entry) return tl::unexpected(std::move(entry.error()));
    return *std::move(entry);
  }
  return std::nullopt;
}

Result<Spool::Taken> Spool::take() {
  // While a batch is with a server nobody may have a part of it.
  const auto sending = Lock::take(path_, Lock::What::kSending, Millis(60'000));
  if (!sending) return tl::unexpected(sending.error());
  Taken taken;
  auto dropped = change([&](Edit& edit) -> Status {
    const TimePoint now = clock_();
    bury_beyond_limits(edit, now);
    for (const Line& line : edit.contents().in_order()) {
      if (line.due > now || edit.is_changed(line)) continue;
      auto entry = edit.contents().entry_of(line);
      if (!entry) return tl::unexpected(std::move(entry.error()));
      entry->last_attempt = now;
      entry->next_retry_at = now + kHidden;
      edit.replace(line, *entry);
      taken.entry = *std::move(entry);
      break;
    }
    return {};
  });
  if (!dropped) return tl::unexpected(std::move(dropped.error()));
  taken.dropped = *std::move(dropped);
  return taken;
}

// The lines of an entry: one, unless somebody wrote it twice.
class Spool::Found {
 public:
  explicit Found(std::string id) : id_(std::move(id)) {}

  Contents::Each finder() {
    return [this](const Line& line, std::string_view, const Entry* entry) {
      if (entry != nullptr && entry->id == id_) lines_.push_back(line);
    };
  }
  [[nodiscard]] Result<std::vector<Line>> lines(const std::string& path) const {
    if (!lines_.empty()) return lines_;
    return refuse(ErrorCode::kNotFound, fmt::format("{}: there is no entry {}", path, id_));
  }

 private:
  const std::string id_;
  std::vector<Line> lines_;
};

Status Spool::done(const std::string& id) {
  Found found(id);
  auto changed = change(
      [&](Edit& edit) -> Status {
        const auto lines = found.lines(path_);
        if (!lines) return tl::unexpected(lines.error());
        for (const Line& line : *lines) edit.remove(line);
        return {};
      },
      found.finder());
  if (!changed) return tl::unexpected(std::move(changed.error()));
  return {};
}

void Spool::count_failure(Entry& entry, const std::string& error, TimePoint now,
                          std::optional<TimePoint> not_before) {
  ++entry.retries;
  entry.last_attempt = now;
  const double chance = std::uniform_real_distribution<>()(random_);
  entry.next_retry_at =
      std::max(now + delay_after(entry.retries, chance), not_before.value_or(TimePoint::min()));
  entry.error = shortened(error);
}

Result<Spool::Failed> Spool::fail(const std::string& id, const std::string& error) {
  Found found(id);
  Failed failed;
  auto changed = change(
      [&](Edit& edit) -> Status {
        const auto lines = found.lines(path_);
        if (!lines) return tl::unexpected(lines.error());
        for (const Line& line : *lines) {
          auto entry = edit.contents().entry_of(line);
          if (!entry) return tl::unexpected(std::move(entry.error()));
          count_failure(*entry, error, clock_(), std::nullopt);
          requeue(edit, line, *entry);
          failed = {*entry, entry->retries > limits_.retries};
        }
        return {};
      },
      found.finder());
  if (!changed) return tl::unexpected(std::move(changed.error()));
  return failed;
}

void Spool::requeue(Edit& edit, const Line& line, const Entry& entry) const {
  if (entry.retries > limits_.retries) return edit.bury(line, Reason::kMaxRetries, entry);
  edit.replace(line, entry);
}

// --------------------------------------------------------------------------------------- sending

Result<Spool::Batch> Spool::begin(std::size_t most, std::size_t most_bytes) {
  Batch batch;
  auto dropped = change([&](Edit& edit) -> Status {
    const TimePoint now = clock_();
    bury_beyond_limits(edit, now);
    std::size_t bytes = 0;
    for (const Line& line : edit.contents().in_order()) {
      if (edit.is_changed(line)) continue;
      if (line.due > now) {
        batch.next = std::min(batch.next.value_or(TimePoint::max()), line.due);
        continue;
      }
      bytes += static_cast<std::size_t>(line.length);
      if (batch.entries.size() == most || (bytes > most_bytes && !batch.entries.empty())) {
        ++batch.left;
        bytes = most_bytes;  // the order is kept: none of those behind it
        continue;
      }
      auto entry = edit.contents().entry_of(line);
      if (!entry) return tl::unexpected(std::move(entry.error()));
      Entry marked = *entry;
      marked.last_attempt = now;
      edit.replace(line, marked);
      batch.entries.push_back({*std::move(entry), line_of(marked)});
    }
    return {};
  });
  if (!dropped) return tl::unexpected(std::move(dropped.error()));
  batch.dropped = *std::move(dropped);
  return batch;
}

Result<std::vector<Dropped>> Spool::end(const std::vector<Ended>& ends) {
  std::unordered_map<std::string_view, const Ended*> by_line;
  for (const Ended& each : ends) by_line.emplace(each.sending->marked, &each);
  std::vector<std::pair<Line, const Ended*>> found;
  return change(
      [&](Edit& edit) {
        for (const auto& [line, ended] : found) settle(edit, line, *ended);
        return Status();
      },
      [&](const Line& line, std::string_view text, const Entry*) {
        const auto place = by_line.find(text);
        if (place != by_line.end()) found.emplace_back(line, place->second);
      });
}

void Spool::settle(Edit& edit, const Line& line, const Ended& ended) {
  using How = Ended::How;
  const TimePoint now = clock_();
  Entry entry = ended.sending->entry;
  switch (ended.how) {
    case How::kDone:
      return edit.remove(line);
    case How::kUntried:
      return edit.replace(line, entry);
    case How::kFailed:
      count_failure(entry, ended.error, now, ended.not_before);
      return requeue(edit, line, entry);
    case How::kRefused:
      count_failure(entry, ended.error, now, ended.not_before);
      return edit.bury(line, Reason::kRefused, entry);
    case How::kWaits:
      if (ended.may_be_received) entry.last_attempt = now;
      entry.next_retry_at = ended.not_before;
      entry.error = shortened(ended.error);
      return edit.replace(line, entry);
  }
}

}  // namespace retsu::spool
