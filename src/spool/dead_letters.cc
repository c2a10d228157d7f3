#include "spool/dead_letters.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "base/wall_clock.h"

namespace retsu::spool {
namespace {

using EachLine = std::function<Status(const RawLine& raw, const DeadEntry* dead)>;

Status walk(const File& file, const EachLine& each) {
  const auto mark = file.mark();
  if (!mark) return tl::unexpected(mark.error());
  LineWalk lines(file, 0, mark->size);
  for (RawLine raw;;) {
    const auto more = lines.next(raw);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return {};
    if (raw.length == 0) continue;
    const auto dead = parse_dead_entry(raw.text);
    if (auto done = each(raw, dead ? &*dead : nullptr); !done) return done;
  }
}

// While the lock is held.
Result<std::int64_t> keep_others(const std::string& spool, const Chosen& chosen) {
  const std::string path = dead_file_of(spool);
  const auto old = File::open(path, O_RDONLY);
  if (!old && old.error().code == ErrorCode::kNotFound) return 0;
  if (!old) return tl::unexpected(old.error());
  std::int64_t gone = 0;
  auto done = replace_file(path, *old, [&](Writer& to) {
    return walk(*old, [&](const RawLine& raw, const DeadEntry* dead) -> Status {
      if (dead != nullptr && chosen(*dead)) {
        ++gone;
        return {};
      }
      auto copied = to.copy(*old, raw.offset, raw.length);
      return copied ? to.add("\n") : copied;
    });
  });
  if (!done) return tl::unexpected(std::move(done.error()));
  return gone;
}

}  // namespace

Status read_dead(const std::string& spool, const EachDead& each) {
  const auto file = File::open(dead_file_of(spool), O_RDONLY);
  if (!file && file.error().code == ErrorCode::kNotFound) return {};
  if (!file) return tl::unexpected(file.error());
  return walk(*file, [&](const RawLine& raw, const DeadEntry* dead) {
    each(raw.text, dead);
    return Status();
  });
}

Result<std::int64_t> purge_dead(const std::string& spool, const Chosen& chosen) {
  const auto lock = Lock::take(spool, Lock::What::kFile);
  if (!lock) return tl::unexpected(lock.error());
  return keep_others(spool, chosen);
}

Result<std::int64_t> redrive_dead(Spool& spool, const Chosen& chosen) {
  const auto lock = Lock::take(spool.path(), Lock::What::kFile);
  if (!lock) return tl::unexpected(lock.error());
  std::vector<Entry> entries;
  std::int64_t bytes = 0;
  auto read = read_dead(spool.path(), [&](std::string_view line, const DeadEntry* dead) {
    if (dead == nullptr || !chosen(*dead)) return;
    bytes += std::ssize(line);
    if (bytes <= spool.limits().bytes) entries.push_back(untried(dead->entry));
  });
  if (!read) return tl::unexpected(std::move(read.error()));
  if (bytes > spool.limits().bytes) {
    return refuse(ErrorCode::kOverloaded,
                  fmt::format("{} bytes of dead letters do not fit into {}", bytes, spool.path()));
  }
  for (Entry& entry : entries) entry.created_at = wall_clock();
  if (auto added = spool.add_all(entries, *lock); !added) {
    return tl::unexpected(std::move(added.error()));
  }
  return keep_others(spool.path(), chosen);
}

}  // namespace retsu::spool
