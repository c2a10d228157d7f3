// The table of what claims hold and remember: `place` is a fence / 64, and `tasks` has its members
// as JSON, the lowest fence first, each an array of fence, number of the claim, task, queue, user,
// hold, outcome, state. A row each would cost more than all else that a task costs on its way.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/embedded/table.h"

namespace retsu::embedded {

// What has become of members that stand together, the lowest fence first; none: it is gone.
struct MemberChange {
  std::int64_t fence;
  std::optional<engine::MemberRow> row;
};
using MemberChanges = std::vector<MemberChange>;

template <>
class Table<engine::MemberRow> {
 public:
  static std::vector<std::string> columns() { return {"place", "tasks", "checksum"}; }
  static std::string select() {
    return "SELECT place, tasks, checksum FROM claim_tasks ORDER BY place";
  }

  sqlite::Done prepare(sqlite::Database& database);
  // The others at this place stay as they are.
  sqlite::Done write(std::int64_t place, const MemberChanges& changes);

  // As that of other tables, once for each member.
  template <class Visit>
  static int read(std::string_view values, Engine& engine, Visit visit) {
    ColumnReader in(values, engine);
    std::int64_t place = 0;
    std::string tasks;
    in.next(place);
    in.next(tasks);
    in.next_sum();
    if (in.failed() != 0) return in.failed();
    constexpr int kTasks = 2;
    auto members = members_of(place, tasks, engine);
    if (!members) return kTasks;
    for (engine::MemberRow& member : *members) visit(std::optional(std::move(member)));
    return 0;
  }

 private:
  [[nodiscard]] bool fits_its_sum(std::int64_t place) const;
  static std::optional<std::vector<engine::MemberRow>> members_of(std::int64_t place,
                                                                  std::string_view json,
                                                                  Engine& engine);

  sqlite::Statement select_;
  sqlite::Statement put_;
  sqlite::Statement remove_;
  Bound put_bound_;
};

}  // namespace retsu::embedded
