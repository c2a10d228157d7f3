#include "broker/embedded/claim_tasks.h"

#include <utility>

#include "base/json.h"

namespace retsu {
namespace {

// A member as it stands in the table: with names, so that no thread needs the engine for it.
struct Member {
  std::int64_t fence = 0;
  std::uint64_t claim = 0;
  Text task;
  Text queue;
  Text user;
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

bool read_json(JsonReader& in, Member& member) {
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

void write_json(JsonWriter& to, const Member& member) {
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

Member stored(const engine::MemberRow& row) {
  return {row.fence,      row.claim, row.task,    row.line->queue->name,
          row.line->user, row.hold,  row.outcome, row.state};
}

// Those of a row. None: it is damaged.
std::optional<std::vector<Member>> members_in(std::int64_t place, std::string_view json) {
  if (!check_json(json)) return std::nullopt;
  std::vector<Member> members;
  JsonReader in(json);
  const bool read = in.read_array([&](std::size_t) {
    const std::int64_t last = members.empty() ? -1 : members.back().fence;
    return read_json(in, members.emplace_back()) && members.back().fence > last &&
           members.back().fence / kTogether<engine::MemberRow> == place;
  });
  if (!read) return std::nullopt;
  return members;
}

std::vector<Member> merged(const std::vector<Member>& members, const MemberChanges& changes) {
  std::vector<Member> all;
  auto old = members.begin();
  for (const MemberChange& change : changes) {
    while (old != members.end() && old->fence < change.fence) all.push_back(*old++);
    if (old != members.end() && old->fence == change.fence) ++old;
    if (change.row) all.push_back(stored(*change.row));
  }
  all.insert(all.end(), old, members.end());
  return all;
}

}  // namespace

sqlite::Done Table<engine::MemberRow>::prepare(sqlite::Database& database) {
  return database.prepare({{select_, "SELECT tasks, checksum FROM claim_tasks WHERE place = ?"},
                           {put_, "INSERT OR REPLACE INTO claim_tasks VALUES (?, ?, ?)"},
                           {remove_, "DELETE FROM claim_tasks WHERE place = ?"}});
}

sqlite::Done Table<engine::MemberRow>::write(std::int64_t place, const MemberChanges& changes) {
  std::optional<std::vector<Member>> members(std::in_place);
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
  const std::vector<Member> all = merged(*members, changes);
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
  std::string summed;
  ValueWriter values(summed);
  values.integer(place);
  values.bytes(select_.text(0));
  return select_.is_null(1) || select_.integer(1) == sum_of(summed);
}

std::optional<std::vector<engine::MemberRow>> Table<engine::MemberRow>::members_of(
    std::int64_t place, std::string_view json, Engine& engine) {
  auto members = members_in(place, json);
  if (!members) return std::nullopt;
  std::vector<engine::MemberRow> rows;
  for (Member& member : *members) {
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
