#include "broker/embedded/journal_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace retsu::embedded {
namespace {

using Group = JournalContent::Group;

constexpr std::size_t kSector = 512;  // what a disk writes as a whole
constexpr std::int64_t kLeastBytes = 64 << 10;
constexpr std::int64_t kMostGrowth = 8 << 20;  // at once: somebody waits for it
constexpr std::string_view kFile = "retsu journal 1\n";
constexpr std::string_view kFrame = "RTSUGRP\n";

// The beginning of a file. One that was written by another kind of machine is none.
struct Header {
  char what[16];
  std::int64_t mark;
  std::uint64_t sum;
};
struct FrameHead {
  char what[8];
  std::uint64_t length;
  std::uint64_t number;
  std::uint64_t sum;
};
static_assert(sizeof(Header) <= kSector && sizeof(FrameHead) <= kSector);

template <class Head>
std::uint64_t sum_of_head(const Head& head, std::int64_t mark) {
  return XXH3_64bits_withSeed(&head, offsetof(Head, sum), static_cast<std::uint64_t>(mark));
}
std::uint64_t sum_of_frame(const FrameHead& head, std::string_view group, std::int64_t mark) {
  return XXH3_64bits_withSeed(group.data(), group.size(), sum_of_head(head, mark));
}

constexpr std::size_t frame_bytes(std::size_t group) {
  return (sizeof(FrameHead) + group + kSector - 1) / kSector * kSector;
}

std::string header_of(std::int64_t mark) {
  Header header{{}, mark, 0};
  std::ranges::copy(kFile, header.what);
  header.sum = sum_of_head(header, mark);
  std::string bytes(kSector, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

// The mark that a file says it has; none: it says none, or is damaged.
std::optional<std::int64_t> mark_in(std::string_view file) {
  Header header{};
  if (file.size() < kSector) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof header);
  if (file.substr(0, kSector) != header_of(header.mark)) return std::nullopt;
  return header.mark;
}

// The head of what may be a frame there.
std::optional<FrameHead> head_at(std::string_view file, std::size_t at) {
  FrameHead head{};
  if (at + sizeof head > file.size()) return std::nullopt;
  std::memcpy(&head, file.data() + at, sizeof head);
  const bool fits = std::string_view(head.what, sizeof head.what) == kFrame &&
                    head.length <= file.size() - at - sizeof head;
  return fits ? std::optional(head) : std::nullopt;
}

// The group that is there as a whole.
std::optional<Group> group_at(std::string_view file, std::size_t at, std::int64_t mark) {
  const auto head = head_at(file, at);
  if (!head) return std::nullopt;
  const std::string_view group = file.substr(at + sizeof *head, head->length);
  if (sum_of_frame(*head, group, mark) != head->sum) return std::nullopt;
  return Group{head->number, group};
}

struct Said {
  std::vector<Group> groups;
  std::size_t end = kSector;
};
Said said_by(std::string_view file, std::int64_t mark) {
  Said said;
  while (auto group = group_at(file, said.end, mark)) {
    if (!said.groups.empty() && group->number != said.groups.back().number + 1) break;
    said.end += frame_bytes(group->bytes.size());
    said.groups.push_back(*group);
  }
  return said;
}

// The highest number above `newest` of a frame that is whole, somewhere behind what the file says.
std::uint64_t newest_behind(std::string_view file, std::size_t end, std::int64_t mark,
                            std::uint64_t newest) {
  for (std::size_t at = end; at < file.size(); at += kSector) {
    const auto head = head_at(file, at);
    if (!head || head->number <= newest) continue;
    if (const auto group = group_at(file, at, mark)) newest = group->number;
  }
  return newest;
}

sqlite::Failure damaged(std::string what) { return {SQLITE_CORRUPT, std::move(what)}; }

const char* name_of(const char* file) { return file + 1; }  // without its '/'

sqlite::Outcome<std::string> bytes_of(const std::string& directory, const char* file,
                                      const char* vfs) {
  const std::string path = directory + file;
  if (!file_exists(path, vfs)) {
    return tl::unexpected(damaged(fmt::format("{} is missing", name_of(file))));
  }
  return sqlite::File::open(path, sqlite::File::Access::kRead, vfs)
      .and_then([](const sqlite::File& opened) { return opened.read(); });
}

// Both files, and what they say.
struct Both {
  JournalContent content;
  std::array<Said, 2> said;
};
sqlite::Outcome<Both> read_both(const std::string& directory, const char* vfs, std::int64_t mark) {
  Both both;
  auto& [groups, newest, memory] = both.content;
  for (std::size_t i = 0; i < 2; ++i) {
    auto bytes = bytes_of(directory, kJournalFiles[i], vfs);
    if (!bytes) return tl::unexpected(std::move(bytes.error()));
    const auto found = mark_in(*bytes);
    if (found != mark) {
      const char* const problem =
          found ? "is not the one that belongs to retsu.db" : "has no whole header";
      return tl::unexpected(damaged(fmt::format("{} {}", name_of(kJournalFiles[i]), problem)));
    }
    both.said[i] = said_by(memory.emplace_back(std::move(*bytes)), mark);
  }
  const auto begins = [](const Said& said) {
    return said.groups.empty() ? 0 : said.groups.front().number;
  };
  const std::size_t first = begins(both.said[0]) <= begins(both.said[1]) ? 0 : 1;
  for (const std::size_t i : {first, 1 - first}) {
    groups.insert(groups.end(), both.said[i].groups.begin(), both.said[i].groups.end());
  }
  newest = both.content.last();
  for (std::size_t i = 0; i < 2; ++i) {
    newest = newest_behind(memory[i], both.said[i].end, mark, newest);
  }
  return both;
}

}  // namespace

sqlite::Outcome<JournalMark> mark_of(sqlite::Database& tables) {
  auto row = tables.prepare("SELECT mark, folded FROM journal_file");
  if (!row) return tl::unexpected(std::move(row.error()));
  const auto found = row->step();
  if (!found) return tl::unexpected(found.error());
  if (!*found) return tl::unexpected(damaged("the row of table journal_file is missing"));
  return JournalMark{row->integer(0), row->integer(1)};
}

sqlite::Outcome<JournalContent> read_journal_table(sqlite::Database& database) {
  auto rows = database.prepare("SELECT number, changes FROM journal ORDER BY number");
  if (!rows) return tl::unexpected(std::move(rows.error()));
  JournalContent content;
  for (;;) {
    const auto more = rows->step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    const std::string& bytes = content.memory.emplace_back(rows->text(1));
    content.groups.push_back({static_cast<std::uint64_t>(rows->integer(0)), bytes});
  }
  content.newest = content.last();
  return content;
}

sqlite::Outcome<JournalContent> read_old_journal(sqlite::Database& database, std::int64_t mark) {
  const auto found = database.integer("SELECT mark FROM belongs_to");
  if (!found) return tl::unexpected(found.error());
  if (*found != mark) {
    return tl::unexpected(damaged("journal.db is not the one that belongs to retsu.db"));
  }
  return read_journal_table(database);
}

sqlite::Outcome<JournalContent> read_journal(const std::string& directory, const char* vfs,
                                             std::int64_t mark) {
  return read_both(directory, vfs, mark).map([](Both&& both) { return std::move(both.content); });
}

sqlite::Done check_left_over(sqlite::Database& tables, const JournalMark& mark,
                             const std::string& directory, const char* vfs) {
  const auto known = tables.integer("SELECT coalesce(max(number), 0) FROM journal");
  if (!known) return tl::unexpected(known.error());
  for (const char* file : kJournalFiles) {
    if (!file_exists(directory + file, vfs)) continue;
    const auto bytes = bytes_of(directory, file, vfs);
    if (!bytes) return tl::unexpected(bytes.error());
    const auto found = mark_in(*bytes);
    if (!found) continue;  // it was never finished, or is something else
    const auto most = static_cast<std::uint64_t>(std::max(mark.folded, *known));
    if (newest_behind(*bytes, kSector, *found, most) == most) continue;
    return tl::unexpected(
        damaged(fmt::format("{} has groups that retsu.db does not know of", name_of(file))));
  }
  return {};
}

bool has_journal(const std::string& directory, const char* vfs) {
  return std::ranges::any_of(kJournalFiles,
                             [&](const char* file) { return file_exists(directory + file, vfs); });
}

bool has_old_journal(const std::string& directory, const char* vfs, std::int64_t mark) {
  if (!file_exists(directory + kOldJournalFile, vfs)) return false;
  const auto bytes = bytes_of(directory, kJournalFiles[0], vfs);
  return !bytes || mark_in(*bytes) != mark;
}

void remove_journal(const std::string& directory, const char* vfs) {
  for (const char* file : kJournalFiles) remove_file(directory + file, vfs);
}

template <class Open>
sqlite::Outcome<std::array<Journal::Written, 2>> Journal::both(const Open& open) {
  auto one = open(0);
  if (!one) return tl::unexpected(std::move(one.error()));
  auto two = open(1);
  if (!two) return tl::unexpected(std::move(two.error()));
  return std::array{std::move(*one), std::move(*two)};
}

sqlite::Outcome<Journal> Journal::make(const std::string& directory, const char* vfs,
                                       std::int64_t mark, const JournalContent& content,
                                       std::size_t file_bytes) {
  remove_journal(directory, vfs);
  auto files = both([&](std::size_t i) -> sqlite::Outcome<Written> {
    const std::string path = directory + kJournalFiles[i];
    if (vfs == nullptr) make_private_file(path);
    auto opened = sqlite::File::open(path, sqlite::File::Access::kWrite, vfs);
    if (!opened) return tl::unexpected(std::move(opened.error()));
    std::string bytes = header_of(mark);
    bytes.resize(kLeastBytes);
    const auto done = opened->truncate(0).and_then([&] { return opened->write(bytes, 0); });
    if (!done) return tl::unexpected(done.error());
    return Written{std::move(*opened), kLeastBytes, kSector};
  });
  if (!files) return tl::unexpected(std::move(files.error()));
  Journal made(std::move(*files), 0, mark, file_bytes);
  sqlite::Done done;
  for (const Group& group : content.groups) {
    if (done) done = made.write(group.number, group.bytes);
  }
  for (Written& each : made.files_) {
    if (done) done = each.file.sync();
  }
  if (!done) return tl::unexpected(std::move(done.error()));
  return made;
}

sqlite::Outcome<Journal> Journal::open(const std::string& directory, const char* vfs,
                                       std::int64_t mark, OldLog old_log, std::size_t file_bytes,
                                       JournalContent& content) {
  auto read = read_both(directory, vfs, mark);
  if (!read) return tl::unexpected(std::move(read.error()));
  content = std::move(read->content);
  auto files = both([&](std::size_t i) -> sqlite::Outcome<Written> {
    auto opened =
        sqlite::File::open(directory + kJournalFiles[i], sqlite::File::Access::kWrite, vfs);
    if (!opened) return tl::unexpected(std::move(opened.error()));
    const auto& [groups, end] = read->said[i];
    const std::string_view bytes = content.memory[i];
    // What was read may be in memory only, and after a sync that failed it may stay there.
    auto done =
        old_log == OldLog::kHasToGo ? opened->write(bytes.substr(0, end), 0) : sqlite::Done();
    if (done) done = opened->sync();
    if (!done) return tl::unexpected(std::move(done.error()));
    return Written{std::move(*opened), static_cast<std::int64_t>(bytes.size()),
                   static_cast<std::int64_t>(end), groups.empty() ? 0 : groups.back().number};
  });
  if (!files) return tl::unexpected(std::move(files.error()));
  const std::size_t current = (*files)[0].last >= (*files)[1].last ? 0 : 1;
  return Journal(std::move(*files), current, mark, file_bytes);
}

sqlite::Done Journal::add(std::uint64_t number, std::string_view group, std::uint64_t folded) {
  if (files_[current_].end >= file_bytes_ && finished_until() <= folded) turn();
  return write(number, group).and_then([&] { return files_[current_].file.sync(); });
}

sqlite::Done Journal::write(std::uint64_t number, std::string_view group) {
  Written& to = files_[current_];
  FrameHead head{{}, group.size(), number, 0};
  std::ranges::copy(kFrame, head.what);
  head.sum = sum_of_frame(head, group, mark_);
  frame_.assign(reinterpret_cast<const char*>(&head), sizeof head);
  frame_.append(group);
  frame_.resize(frame_bytes(group.size()));
  // The head last: a group for which there was no room must not look whole.
  const std::string_view frame = frame_;
  auto done = to.file.write(frame.substr(kSector), to.end + static_cast<std::int64_t>(kSector))
                  .and_then([&] { return to.file.write(frame.substr(0, kSector), to.end); });
  if (!done) return done;
  to.end += std::ssize(frame_);
  to.last = number;
  return grow();
}

// A file that has become longer needs more of a sync than the bytes: it does so seldom, by much.
// That there is no room for it is no failure.
sqlite::Done Journal::grow() {
  Written& to = files_[current_];
  if (to.end <= to.size) return {};
  const std::int64_t more = std::clamp(to.size, kLeastBytes, kMostGrowth);
  auto done = to.file.write(std::string(static_cast<std::size_t>(more), '\0'), to.end);
  if (!done && !done.error().is_full()) return done;
  const auto size = to.file.size();
  if (!size) return tl::unexpected(size.error());
  to.size = *size;
  return {};
}

void Journal::turn() {
  current_ = 1 - current_;
  Written& to = files_[current_];
  to.end = kSector;
  if (to.size <= 2 * std::max(file_bytes_, kLeastBytes)) return;
  // It had to wait for tables that could not be written.
  if (to.file.truncate(std::max(file_bytes_, kLeastBytes))) to.size = to.file.size().value_or(0);
}

}  // namespace retsu::embedded
