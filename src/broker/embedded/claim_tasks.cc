#include "broker/embedded/claim_tasks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/json.h"

namespace retsu {
namespace {

// A member as it stands in the table: with names, so that no thread needs the engine for it. Who
// writes it only looks at them: others count their references.
template <class Name>
struct Member {
  std::int64_t fence = 0;
  std::uint64_t claim = 0;
  Name task;
  Name queue;
  Name user;
  engine::Hold hold = engine::Hold::kHeld;
  Outcome outcome = Outcome::kFinish;
  State state = State::kStarted;
};
constexpr std::size_t kParts = 8;

template <class AnyMember, class Visit>
void for_each_part(AnyMember& member, Visit visit) {
  std::size_t part = 0;
  visit(part++, member.fence);
  visit(part++, member.claim);
  visit(part++, member.task);
  visit(part++, member.queue);
  visit(part++, member.user);
  visit(part++, member.hold);
  visit(part++, member.outcome);
  visit(part++, member.state);
}

using ReadMember = Member<Text>;
using WrittenMember = Member<std::string_view>;

bool read_json(JsonReader& in, ReadMember& member) {
  std::size_t parts = 0;
  const bool read = in.read_array([&](std::size_t index) {
    bool is_read = false;
    for_each_part(member, [&](std::size_t part, auto& value) {
      if (part == index) is_read = retsu::read_json(in, value);
    });
    ++parts;
    return is_read;
  });
  return read && parts == kParts;
}

void write_json(JsonWriter& to, const WrittenMember& member) {
  to.open_array();
  for_each_part(member, [&](std::size_t, const auto& value) {
    to.element();
    retsu::write_json(to, value);
  });
  to.close_array();
}

}  // namespace

namespace embedded {
namespace {

WrittenMember written(const engine::MemberRow& row) {
  return {row.fence,      row.claim, row.task,    row.line->queue->name,
          row.line->user, row.hold,  row.outcome, row.state};
}
WrittenMember written(const ReadMember& member) {
  return {member.fence, member.claim, member.task,    member.queue,
          member.user,  member.hold,  member.outcome, member.state};
}

// Those of a row. None: it is damaged.
std::optional<std::vector<ReadMember>> members_in(std::int64_t place, std::string_view json) {
  if (!check_json(json)) return std::nullopt;
  std::vector<ReadMember> members;
  JsonReader in(json);
  const bool read = in.read_array([&](std::size_t) {
    const std::int64_t last = members.empty() ? -1 : members.back().fence;
    return read_json(in, members.emplace_back()) && members.back().fence > last &&
           members.back().fence / kTogether<engine::MemberRow> == place;
  });
  if (!read) return std::nullopt;
  return members;
}

// Their names are in no cache: those of the next ones are brought there, the line before its user.
void expect(const MemberChanges& changes, std::size_t next) {
  if (next < changes.size() && changes[next].row) changes[next].row->line->user.prefetch();
  next += 2;
  if (next >= changes.size() || !changes[next].row) return;
  changes[next].row->task.prefetch();
  __builtin_prefetch(changes[next].row->line.get());
}

std::vector<WrittenMember> merged(const std::vector<ReadMember>& members,
                                  const MemberChanges& changes) {
  std::vector<WrittenMember> all;
  all.reserve(members.size() + changes.size());
  auto old = members.begin();
  for (std::size_t i = 0; i < changes.size(); ++i) {
    expect(changes, i + 1);
    const MemberChange& change = changes[i];
    while (old != members.end() && old->fence < change.fence) all.push_back(written(*old++));
    if (old != members.end() && old->fence == change.fence) ++old;
    if (change.row) all.push_back(written(*change.row));
  }
  std::transform(old, members.end(), std::back_inserter(all),
                 [](const ReadMember& member) { return written(member); });
  return all;
}

}  // namespace

sqlite::Done Table<engine::MemberRow>::prepare(sqlite::Database& database) {
  return database.prepare({{select_, "SELECT tasks, checksum FROM claim_tasks WHERE place = ?"},
                           {put_, "INSERT OR REPLACE INTO claim_tasks VALUES (?, ?, ?)"},
                           {remove_, "DELETE FROM claim_tasks WHERE place = ?"}});
}

sqlite::Done Table<engine::MemberRow>::write(std::int64_t place, const MemberChanges& changes) {
  std::optional<std::vector<ReadMember>> members(std::in_place);
  if (std::ssize(changes) < kTogether<engine::MemberRow>) {
    select_.bind(1, place);
    const auto found = select_.step();
    if (found && *found) {
      members = fits_its_sum(place) ? members_in(place, select_.text(0)) : std::nullopt;
    }
    select_.reset();
    if (!found) return tl::unexpected(found.error());
    if (!members) {
      return tl::unexpected(sqlite::Failure{SQLITE_CORRUPT, "a row of table claim_tasks"});
    }
  }
  const std::vector<WrittenMember> all = merged(*members, changes);
  if (all.empty()) {
    remove_.bind(1, place);
    return remove_.run();
  }
  std::string json;
  append_json(json, all);
  Binder binder(put_, put_bound_);
  binder.add(place);
  binder.add(json);
  binder.add_sum();
  return put_.run();
}

// The row that was selected. What has changed on the disk is not to be given a new sum.
bool Table<engine::MemberRow>::fits_its_sum(std::int64_t place) const {
  ByteBuffer summed;
  ValueWriter values(summed);
  values.integer(place);
  values.bytes(select_.text(0));
  return select_.is_null(1) || select_.integer(1) == sum_of(summed.view());
}

std::optional<std::vector<engine::MemberRow>> Table<engine::MemberRow>::members_of(
    std::int64_t place, std::string_view json, Engine& engine) {
  auto members = members_in(place, json);
  if (!members) return std::nullopt;
  std::vector<engine::MemberRow> rows;
  for (ReadMember& member : *members) {
    rows.push_back({.claim = member.claim,
                    .fence = member.fence,
                    .task = std::move(member.task),
                    .line = engine.line(member.queue, member.user),
                    .hold = member.hold,
                    .outcome = member.outcome,
                    .state = member.state});
  }
  return rows;
}

}  // namespace embedded
}  // namespace retsu
