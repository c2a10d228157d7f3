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
  std::string_view stem = spool;
  if (stem.ends_with(kEnd)) stem.remove_suffix(kEnd.size());
  return std::string(stem) + ".dead.jsonl";
}
std::string corrupt_file_of(const std::string& spool) { return spool + ".corrupt"; }
std::string draft_file_of(const std::string& spool) { return spool + ".tmp"; }

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
  Line line{.offset = raw.offset, .length = raw.length};
  auto entry = raw.length > kLongestLine
                   ? tl::unexpected(fmt::format("longer than {} bytes", kLongestLine))
                   : parse_entry(raw.text);
  if (entry) {
    line.is_sound = true;
    line.created = entry->created_at;
    line.due = entry->next_retry_at.value_or(TimePoint::min());
    line.urgency = entry->priority;
    line.was_tried = entry->last_attempt.has_value();
  } else {
    ++damaged_;
    if (damage_.size() < kMostDamage) damage_.push_back({number_, std::move(entry.error())});
  }
  lines_.push_back(line);
  if (each) each(line, raw.text, entry ? &*entry : nullptr);
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
