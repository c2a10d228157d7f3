#include "spool/dead_letters.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/wall_clock.h"

namespace retsu::spool {
namespace {

// Writes those that were not chosen into a new file, which takes the place of the old one.
Result<std::int64_t> keep_others(const std::string& spool, const Chosen& chosen) {
  const std::string path = dead_file_of(spool);
  const std::string draft_path = draft_file_of(path);
  const auto draft = File::open(draft_path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!draft) return tl::unexpected(draft.error());
  Writer writer(*draft);
  Status written;
  std::int64_t gone = 0;
  auto done = read_dead(spool, [&](std::string_view line, const DeadEntry* dead) {
    if (dead != nullptr && chosen(*dead)) {
      ++gone;
    } else if (written) {
      written = writer.add(std::string(line) + '\n');
    }
  });
  if (done) done = written;
  if (done) done = writer.flush();
  if (done) done = draft->sync();
  if (done && std::rename(draft_path.c_str(), path.c_str()) != 0) {
    done = tl::unexpected(file_error(path, errno));
  }
  if (!done) {
    (void)::unlink(draft_path.c_str());
    return tl::unexpected(std::move(done.error()));
  }
  if (auto synced = sync_folder_of(path); !synced) return tl::unexpected(synced.error());
  return gone;
}

}  // namespace

Status read_dead(const std::string& spool, const EachDead& each) {
  const auto file = File::open(dead_file_of(spool), O_RDONLY);
  if (!file && file.error().code == ErrorCode::kNotFound) return {};
  if (!file) return tl::unexpected(file.error());
  const auto mark = file->mark();
  if (!mark) return tl::unexpected(mark.error());
  LineWalk walk(*file, 0, mark->size);
  for (RawLine raw;;) {
    const auto more = walk.next(raw);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return {};
    if (raw.text.empty()) continue;
    const auto dead = parse_dead_entry(raw.text);
    each(raw.text, dead ? &*dead : nullptr);
  }
}

Result<std::int64_t> purge_dead(const std::string& spool, const Chosen& chosen) {
  const auto lock = Lock::take(spool, Lock::What::kFile);
  if (!lock) return tl::unexpected(lock.error());
  return keep_others(spool, chosen);
}

Result<std::int64_t> redrive_dead(Spool& spool, const Chosen& chosen) {
  std::vector<Entry> entries;
  auto read = read_dead(spool.path(), [&](std::string_view, const DeadEntry* dead) {
    if (dead != nullptr && chosen(*dead)) entries.push_back(dead->entry);
  });
  if (!read) return tl::unexpected(std::move(read.error()));
  for (Entry& entry : entries) {
    entry.created_at = wall_clock();
    entry.retries = 0;
    entry.last_attempt.reset();
    entry.next_retry_at.reset();
    entry.error.reset();
  }
  if (auto added = spool.add_all(entries); !added) return tl::unexpected(std::move(added.error()));
  return purge_dead(spool.path(), chosen);
}

}  // namespace retsu::spool
