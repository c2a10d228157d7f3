#include "spool/edit.h"

#include <fcntl.h>

#include <algorithm>
#include <functional>

namespace retsu::spool {
namespace {

// Of what no try changes.
std::size_t key_of(const Entry& entry) { return std::hash<std::string>()(line_of(untried(entry))); }

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
                       return to.copy(contents_.file(), line.offset, line.length);
                     }});
  }
  return asides_.corrupt.add(moved);
}

Status Edit::write_rest() const {
  const File& old = contents_.file();
  auto done = replace_file(path_, old, [this](Writer& to) { return write_lines(to); });
  if (!done) return done;
  // Programs that know of no lock may have added something meanwhile.
  const auto now = old.mark();
  if (!now || now->size <= contents_.mark().size) return {};
  const auto file = File::open(path_, O_WRONLY | O_APPEND);
  if (!file) return tl::unexpected(file.error());
  Writer writer(*file);
  done = writer.copy(old, contents_.mark().size, now->size - contents_.mark().size);
  if (done) done = writer.flush();
  return done ? file->sync() : done;
}

Status Edit::write_lines(Writer& to) const {
  for (const Line& line : contents_.lines()) {
    if (!line.is_sound) continue;
    const auto change = changes_.find(line.offset);
    if (change != changes_.end() && !change->second.line) continue;
    auto done = change == changes_.end() ? to.copy(contents_.file(), line.offset, line.length)
                                         : to.add(*change->second.line);
    if (done) done = to.add("\n");
    if (!done) return done;
  }
  return {};
}

}  // namespace retsu::spool
