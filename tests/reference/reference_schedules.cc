// Schedules: one task for each occurrence, and what is made up for after a time away.

#include <algorithm>

#include "base/cron.h"
#include "reference/reference.h"

namespace retsu {
namespace {

constexpr Millis kOnTime{kMinute};
constexpr int kShown = 5;

// 20261115T222000.000Z
std::string compact(TimePoint time) {
  std::string text = format_time(time);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

}  // namespace

std::optional<TimePoint> ReferenceQueue::occurrence_after(const ScheduleRecord& schedule,
                                                          TimePoint after) const {
  if (schedule.spec.every_ms) {
    const Millis every{*schedule.spec.every_ms};
    return schedule.first_put + ((after - schedule.first_put) / every + 1) * every;
  }
  const auto cron = Cron::parse(schedule.spec.cron);
  if (!cron) return std::nullopt;
  if (schedule.spec.time_zone == "UTC") return cron->next(after, TimeZone::utc());
  const auto zone = TimeZone::find(schedule.spec.time_zone);
  if (!zone) return std::nullopt;
  return cron->next(after, *zone);
}

void ReferenceQueue::occurrence_due(const std::string& name) {
  ScheduleRecord& schedule = schedules_.at(name);
  const TimePoint due = *schedule.next;
  TimePoint last = due;
  while (true) {
    const auto next = occurrence_after(schedule, last);
    if (!next || *next > target_) break;
    last = *next;
  }

  const bool away = target_ - due > kOnTime;
  const CatchUp catch_up = schedule.spec.catch_up;
  if (away && catch_up == CatchUp::kSkip) {
    const bool last_on_time = target_ - last <= kOnTime;
    schedule.next = last_on_time ? last : occurrence_after(schedule, last);
    return;
  }
  if (away && catch_up == CatchUp::kLatest && due != last) {
    schedule.next = last;
    return;
  }

  schedule.next = occurrence_after(schedule, due);
  ++occurrences_[name];
  NewTask task = schedule.spec.task;
  task.id = "schedule:" + name + ":" + compact(due);
  task.id_generated = false;
  const Result<Pushed> pushed = push_unlimited(std::move(task));
  schedule.last_error = pushed ? "" : pushed.error().message;
  if (pushed && pushed->created) schedule.last_task = pushed->id;
}

ScheduleInfo ReferenceQueue::info_of(const std::string& name,
                                     const ScheduleRecord& schedule) const {
  ScheduleInfo info{name, schedule.spec, {}, schedule.last_task, schedule.last_error};
  std::optional<TimePoint> next = schedule.next;
  while (next && info.next.size() < kShown) {
    info.next.push_back(*next);
    next = occurrence_after(schedule, *next);
  }
  return info;
}

Result<ScheduleList> ReferenceQueue::run(const ListSchedules& list) {
  ScheduleList reply;
  for (const auto& [name, schedule] : schedules_) {
    if (!list.cursor.empty() && name <= list.cursor) continue;
    if (std::ssize(reply.schedules) == list.limit) {
      reply.next_cursor = reply.schedules.back().name;
      break;
    }
    reply.schedules.push_back(info_of(name, schedule));
  }
  return reply;
}

Result<ScheduleInfo> ReferenceQueue::run(const PutSchedule& put) {
  const auto known = schedules_.find(put.name);
  const bool is_new = known == schedules_.end();
  if (is_new && std::ssize(schedules_) >= limits_.schedules) {
    return refuse(ErrorCode::kOverloaded, "too many schedules");
  }
  const bool same_times = !is_new && known->second.spec.cron == put.schedule.cron &&
                          known->second.spec.every_ms == put.schedule.every_ms &&
                          known->second.spec.time_zone == put.schedule.time_zone;
  ScheduleRecord& schedule = schedules_[put.name];
  schedule.spec = put.schedule;
  if (!same_times) {
    schedule.first_put = now_;
    schedule.next = occurrence_after(schedule, now_);
  }
  return info_of(put.name, schedule);
}

Result<Removed> ReferenceQueue::run(const DeleteSchedule& request) {
  if (schedules_.erase(request.name) == 0) return refuse(ErrorCode::kNotFound, "no such schedule");
  return Removed{1};
}

Result<Pushed> ReferenceQueue::run(const RunSchedule& request) {
  const auto schedule = schedules_.find(request.name);
  if (schedule == schedules_.end()) return refuse(ErrorCode::kNotFound, "no such schedule");
  if (draining_) return refuse(ErrorCode::kDraining, "the queue takes nothing: it is draining");
  NewTask task = schedule->second.spec.task;
  task.id = request.id;
  task.id_generated = false;
  const Result<Pushed> pushed = push_unlimited(std::move(task));
  if (pushed && pushed->created) schedule->second.last_task = pushed->id;
  return pushed;
}

}  // namespace retsu
