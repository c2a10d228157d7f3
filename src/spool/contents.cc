#include "spool/contents.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "spool/lock.h"

namespace retsu::spool {
namespace {

constexpr std::size_t kMostDamage = 100;

}  // namespace

std::string dead_file_of(const std::string& spool) {
  constexpr std::string_view kEnd = ".jsonl";
  if (!spool.ends_with(kEnd)) return spool + ".dead";
  return spool.substr(0, spool.size() - kEnd.size()) + ".dead.jsonl";
}
std::string corrupt_file_of(const std::string& spool) { return spool + ".corrupt"; }

bool goes_before(const Line& a, const Line& b) {
  return std::tie(a.urgency, a.created, a.offset) < std::tie(b.urgency, b.created, b.offset);
}

Result<Contents> Contents::open(const std::string& spool, Locked locked) {
  std::optional<Lock> lock;
  if (locked == Locked::kNo) {
    auto taken = Lock::share(spool);
    if (!taken) return tl::unexpected(std::move(taken.error()));
    lock.emplace(*std::move(taken));
  }
  Contents contents;
  auto file = File::open(spool, O_RDONLY);
  if (!file && file.error().code == ErrorCode::kNotFound) return contents;
  if (!file) return tl::unexpected(std::move(file.error()));
  contents.file_ = *std::move(file);
  const auto mark = contents.file_.mark();
  if (!mark) return tl::unexpected(mark.error());
  contents.mark_ = *mark;
  return contents;
}

Status Contents::read_lines(const Each& each, std::int64_t from) {
  if (!file_) return {};
  LineWalk walk(file_, from, mark_.size);
  for (RawLine raw;;) {
    const auto more = walk.next(raw);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return {};
    add(raw, each);
  }
}

void Contents::add(const RawLine& raw, const Each& each) {
  ++number_;
  torn_ = !raw.has_end;
  if (raw.text.find_first_not_of(" \t\r") == std::string_view::npos) return;
  std::string_view text = raw.text;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (raw.offset == 0 && text.starts_with(kByteOrderMark))
    text.remove_prefix(kByteOrderMark.size());
  Line line{.offset = raw.offset + std::ssize(raw.text) - std::ssize(text),
            .length = raw.length - std::ssize(raw.text) + std::ssize(text)};
  auto entry = raw.length > kLongestLine
                   ? tl::unexpected(fmt::format("longer than {} bytes", kLongestLine))
                   : parse_entry(text);
  if (entry) {
    line.is_sound = true;
    line.created = entry->created_at;
    line.due = entry->next_retry_at.value_or(TimePoint::min());
    line.urgency = entry->priority;
    line.was_tried = entry->last_attempt.has_value();
  } else {
    ++damaged_;
    if (damage_.size() < kMostDamage) damage_.push_back({number_, std::move(entry.error())});
    if (!lines_.empty() && !lines_.back().is_sound &&
        lines_.back().offset + lines_.back().length + 1 == line.offset) {
      lines_.back().length += 1 + line.length;
      return;
    }
  }
  lines_.push_back(line);
  if (each) each(line, text, entry ? &*entry : nullptr);
}

std::vector<std::reference_wrapper<const Line>> Contents::in_order() const {
  std::vector<std::reference_wrapper<const Line>> sorted;
  for (const Line& line : lines_) {
    if (line.is_sound) sorted.emplace_back(line);
  }
  std::sort(sorted.begin(), sorted.end(), goes_before);
  return sorted;
}

Result<std::string> Contents::text_of(const Line& line) const {
  return file_.read(line.offset, line.length);
}

Result<Entry> Contents::entry_of(const Line& line) const {
  const auto text = text_of(line);
  if (!text) return tl::unexpected(text.error());
  auto entry = parse_entry(*text);
  if (entry) return *std::move(entry);
  return refuse(ErrorCode::kConflict,
                fmt::format("{}: somebody writes into it: {}", file_.path(), entry.error()));
}

}  // namespace retsu::spool
