#include "spool/edit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>

namespace retsu::spool {
namespace {

constexpr std::int64_t kPiece = std::int64_t{256} << 10;

std::size_t key_of(const Entry& entry) {
  return std::hash<std::string>()(entry.id + '\n' + format_time(entry.created_at));
}

std::optional<std::size_t> dead_key(const RawLine& raw) {
  const auto dead = parse_dead_entry(raw.text);
  return dead ? std::optional(key_of(dead->entry)) : std::nullopt;
}

std::size_t bytes_key(std::string_view text, std::int64_t length) {
  return std::hash<std::string_view>()(text) ^ static_cast<std::size_t>(length);
}

}  // namespace

Asides::Asides(const std::string& spool)
    : dead(dead_file_of(spool), dead_key), corrupt(corrupt_file_of(spool), [](const RawLine& raw) {
        return bytes_key(raw.text, raw.length);
      }) {}

Status Edit::open(const Contents::Each& each) {
  auto contents = Contents::open(path_, Contents::Locked::kYes);
  if (!contents) return tl::unexpected(std::move(contents.error()));
  contents_ = *std::move(contents);
  return contents_.read_lines(each);
}

Result<std::vector<Dropped>> Edit::commit(TimePoint now) {
  if (changes_.empty() && contents_.damaged() == 0) return std::vector<Dropped>();
  auto dropped = move_dead(now);
  if (!dropped) return dropped;
  if (auto done = move_corrupt(); !done) return tl::unexpected(std::move(done.error()));
  if (auto done = write_rest(); !done) return tl::unexpected(std::move(done.error()));
  return dropped;
}

Result<std::vector<Dropped>> Edit::move_dead(TimePoint now) {
  std::vector<Dropped> dropped;
  std::vector<Aside::Moved> moved;
  for (const Line& line : contents_.lines()) {
    const auto change = changes_.find(line.offset);
    if (change == changes_.end() || !change->second.burial) continue;
    const Burial& burial = *change->second.burial;
    // Read twice rather than kept: there may be many.
    const auto read = [this, &line, &burial]() -> Result<Entry> {
      return burial.entry ? *burial.entry : contents_.entry_of(line);
    };
    const auto entry = read();
    if (!entry) return tl::unexpected(entry.error());
    dropped.push_back({entry->id, burial.reason, entry->error.value_or("")});
    moved.push_back({key_of(*entry), [read, now, &burial](Writer& to) -> Status {
                       auto buried = read();
                       if (!buried) return tl::unexpected(std::move(buried.error()));
                       return to.add(line_of(DeadEntry{*std::move(buried), now,
                                                       std::string(name_of(burial.reason))}));
                     }});
  }
  if (auto done = asides_.dead.add(moved); !done) return tl::unexpected(std::move(done.error()));
  return dropped;
}

Status Edit::move_corrupt() {
  std::vector<Aside::Moved> moved;
  for (const Line& line : contents_.lines()) {
    if (line.is_sound) continue;
    const auto text = contents_.file().read(line.offset, std::min(line.length, kLongestLine));
    if (!text) return tl::unexpected(text.error());
    moved.push_back({bytes_key(*text, line.length), [this, line](Writer& to) {
                       return copy(to, line.offset, line.offset + line.length);
                     }});
  }
  return asides_.corrupt.add(moved);
}

Status Edit::copy(Writer& to, std::int64_t from, std::int64_t until) const {
  while (from < until) {
    const auto bytes = contents_.file().read(from, std::min(kPiece, until - from));
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->empty()) break;
    if (auto done = to.add(*bytes); !done) return done;
    from += std::ssize(*bytes);
  }
  return {};
}

Status Edit::write_rest() const {
  const std::string draft_path = draft_file_of(path_);
  const auto draft = File::open(draft_path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!draft) return tl::unexpected(draft.error());
  auto done = write_lines(*draft);
  if (done) done = draft->sync();
  if (done && std::rename(draft_path.c_str(), path_.c_str()) != 0) {
    done = tl::unexpected(file_error(path_, errno));
  }
  if (!done) {
    (void)::unlink(draft_path.c_str());
    return done;
  }
  return sync_folder_of(path_);
}

Status Edit::write_lines(const File& draft) const {
  if (contents_.exists()) {  // whoever could read it still can
    struct stat old {};
    if (::fstat(contents_.file().number(), &old) == 0) {
      (void)::fchmod(draft.number(), old.st_mode & 07777);
      if (old.st_uid != ::geteuid() || old.st_gid != ::getegid()) {
        (void)!::fchown(draft.number(), old.st_uid, old.st_gid);
      }
    }
  }
  Writer writer(draft);
  for (const Line& line : contents_.lines()) {
    if (!line.is_sound) continue;
    const auto change = changes_.find(line.offset);
    if (change != changes_.end() && !change->second.line) continue;
    auto done = change == changes_.end() ? copy(writer, line.offset, line.offset + line.length)
                                         : writer.add(*change->second.line);
    if (done) done = writer.add("\n");
    if (!done) return done;
  }
  return writer.flush();
}

}  // namespace retsu::spool
