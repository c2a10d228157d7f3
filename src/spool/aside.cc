#include "spool/aside.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_map>

namespace retsu::spool {
namespace {

// What one move can have left, and more: a spool is shorter.
constexpr std::int64_t kTail = std::int64_t{64} << 20;

Status write_all_of(const File& file, bool torn, const std::vector<Aside::Moved>& lines,
                    const std::vector<bool>& is_known) {
  Writer writer(file);
  if (torn) {
    if (auto done = writer.add("\n"); !done) return done;
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_known[i]) continue;
    if (auto done = lines[i].write(writer); !done) return done;
    if (auto done = writer.add("\n"); !done) return done;
  }
  if (auto done = writer.flush(); !done) return done;
  return file.sync();
}

}  // namespace

Status Aside::add(const std::vector<Moved>& lines) {
  if (lines.empty()) return {};
  const auto file = File::open(path_, O_RDWR | O_CREAT | O_APPEND);
  if (!file) return tl::unexpected(file.error());
  const auto before = file->mark();
  if (!before) return tl::unexpected(before.error());
  std::vector<bool> is_known(lines.size(), false);
  if (before->size > 0 && *before != own_) {
    if (auto done = drop_known(*file, before->size, is_known, lines); !done) return done;
  }
  const auto last = file->read(std::max<std::int64_t>(before->size - 1, 0), 1);
  if (!last) return tl::unexpected(last.error());
  const bool torn = !last->empty() && *last != "\n";
  auto done = write_all_of(*file, torn, lines, is_known);
  if (done && before->size == 0) done = sync_folder_of(path_);
  if (!done) {
    (void)::ftruncate(file->number(), before->size);
    return done;
  }
  const auto after = file->mark();
  if (after) own_ = *after;
  return {};
}

Status Aside::drop_known(const File& file, std::int64_t size, std::vector<bool>& is_known,
                         const std::vector<Moved>& lines) const {
  std::unordered_multimap<std::size_t, std::size_t> places;
  for (std::size_t i = 0; i < lines.size(); ++i) places.emplace(lines[i].key, i);
  LineWalk walk(file, std::max<std::int64_t>(size - kTail, 0), size);
  for (RawLine raw;;) {
    const auto more = walk.next(raw);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return {};
    const auto key = raw.has_end ? key_(raw) : std::nullopt;
    if (!key) continue;
    const auto [first, last] = places.equal_range(*key);
    for (auto place = first; place != last; ++place) is_known[place->second] = true;
  }
}

}  // namespace retsu::spool
