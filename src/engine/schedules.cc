#include "engine/schedules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "engine/push.h"

namespace retsu::engine {
namespace {

constexpr int kShownOccurrences = 5;

TimePoint next_after(const ScheduleNode& schedule, TimePoint time) {
  const ScheduleRow& row = schedule.row;
  if (schedule.cron) return schedule.cron->next(time, schedule.zone).value_or(kNever);
  const std::int64_t every = *row.spec.every_ms;
  const std::int64_t passed = time < row.anchor ? 0 : (time - row.anchor).count() / every;
  return row.anchor + Millis((passed + 1) * every);
}

// The last occurrence from `from` up to `until`.
TimePoint last_until(const ScheduleNode& schedule, TimePoint from, TimePoint until) {
  if (!schedule.cron) return next_after(schedule, until) - Millis(*schedule.row.spec.every_ms);
  TimePoint last = from;
  for (TimePoint next = from; next <= until; next = next_after(schedule, next)) last = next;
  return last;
}

// 20261115T222000.000Z
std::string stamp(TimePoint time) {
  std::string text = format_time(time);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

ScheduleInfo info(const ScheduleNode& schedule) {
  const ScheduleRow& row = schedule.row;
  ScheduleInfo made{row.name, row.spec, {}, row.last_task, row.last_error};
  TimePoint next = row.next;
  for (int i = 0; i < kShownOccurrences && next != kNever; ++i, next = next_after(schedule, next)) {
    made.next.push_back(next);
  }
  return made;
}

// Refusing for want of room would lose an occurrence, so nothing is refused for that.
Result<Pushed> make_task(Tables& tables, ScheduleRow& row, std::string id, bool id_generated) {
  NewTask task = row.spec.task;
  task.id = std::move(id);
  task.id_generated = id_generated;
  const Tables::Mark before = tables.mark();
  auto pushed = push_one(tables, task, Admission::kAlways, tables.next_front());
  if (pushed) {
    if (pushed->created) row.last_task = pushed->id;
    row.last_error.clear();
  } else {
    tables.roll_back(before);
    row.last_error = pushed.error().message;
  }
  return pushed;
}

Error no_schedule(std::string_view name) {
  return {ErrorCode::kNotFound, fmt::format("there is no schedule {}", name)};
}

}  // namespace

Result<ScheduleInfo> put_schedule(Tables& tables, const PutSchedule& command) {
  const auto old = tables.schedules().find(command.name);
  const bool exists = old != tables.schedules().end();
  if (!exists && std::ssize(tables.schedules()) >= tables.limits.schedules) {
    return refuse(ErrorCode::kOverloaded,
                  fmt::format("there are {} schedules, the most allowed", tables.limits.schedules));
  }
  ScheduleRow row = exists ? old->second.row : ScheduleRow{};
  const bool same_times = exists && row.spec.cron == command.schedule.cron &&
                          row.spec.every_ms == command.schedule.every_ms &&
                          row.spec.time_zone == command.schedule.time_zone;
  row.name = command.name;
  row.spec = command.schedule;
  if (!same_times) row.anchor = tables.now();
  tables.set_schedule(row);
  if (!same_times) {
    row.next = next_after(tables.schedules().find(command.name)->second, tables.now());
    tables.set_schedule(row);
  }
  return info(tables.schedules().find(command.name)->second);
}

Result<Removed> delete_schedule(Tables& tables, const DeleteSchedule& command) {
  if (!tables.schedules().contains(command.name)) return tl::unexpected(no_schedule(command.name));
  tables.drop_schedule(command.name);
  return Removed{1};
}

Result<Pushed> run_schedule(Tables& tables, const RunSchedule& command) {
  const auto found = tables.schedules().find(command.name);
  if (found == tables.schedules().end()) return tl::unexpected(no_schedule(command.name));
  if (tables.meta().draining) {
    return refuse(ErrorCode::kDraining, "the queue is draining and takes no tasks: try later");
  }
  ScheduleRow row = found->second.row;
  auto pushed = make_task(tables, row, command.id, command.id_generated);
  if (pushed) tables.set_schedule(std::move(row));
  return pushed;
}

ScheduleList list_schedules(const Tables& tables, const ListSchedules& command) {
  ScheduleList list;
  for (auto at = tables.schedules().upper_bound(command.cursor); at != tables.schedules().end();
       ++at) {
    if (std::ssize(list.schedules) == command.limit) {
      list.next_cursor = list.schedules.back().name;
      break;
    }
    list.schedules.push_back(info(at->second));
  }
  return list;
}

void run_occurrence(Tables& tables, std::string_view name, TimePoint clock) {
  const ScheduleNode& schedule = tables.schedules().find(name)->second;
  ScheduleRow row = schedule.row;
  const TimePoint occurrence = row.next;
  const bool late = clock - occurrence > kScheduleGrace;
  if (late && row.spec.catch_up != CatchUp::kAll) {
    const TimePoint last = last_until(schedule, occurrence, clock);
    const bool skips = row.spec.catch_up == CatchUp::kSkip && clock - last > kScheduleGrace;
    if (last != occurrence || skips) {
      row.next = skips ? next_after(schedule, last) : last;
      tables.set_schedule(std::move(row));
      return;
    }
  }
  make_task(tables, row, fmt::format("schedule:{}:{}", row.name, stamp(occurrence)), false);
  row.next = next_after(schedule, occurrence);
  tables.set_schedule(std::move(row));
}

}  // namespace retsu::engine
