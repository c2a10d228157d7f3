#include <fmt/format.h>

#include "spool/spool.h"

namespace retsu::spool {
namespace {

constexpr Millis kHidden{60'000};  // from those who take, after another one took it

}  // namespace

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

}  // namespace retsu::spool
