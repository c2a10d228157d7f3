// What the operations on queues, users, shared values and schedules may say.
#pragma once

#include "ingest/task_rules.h"
#include "model/queue_operations.h"

namespace retsu::rules {

template <class Op>
constexpr auto page_rules() {
  return List{Rule{"limit", &Op::limit, UpTo{&Limits::page}},
              Rule{"cursor", &Op::cursor, kCursorLine}};
}
constexpr auto rules_of(For<ListQueues>) { return page_rules<ListQueues>(); }
constexpr auto rules_of(For<ListSchedules>) { return page_rules<ListSchedules>(); }

template <class Op>
constexpr auto queue_rules() {
  return List{Rule{"queue", &Op::queue, kQueueName}};
}
constexpr auto rules_of(For<GetQueue>) { return queue_rules<GetQueue>(); }
constexpr auto rules_of(For<DeleteQueue>) { return queue_rules<DeleteQueue>(); }
constexpr auto rules_of(For<PauseQueue>) { return queue_rules<PauseQueue>(); }
constexpr auto rules_of(For<ResumeQueue>) { return queue_rules<ResumeQueue>(); }
constexpr auto rules_of(For<PurgeQueue>) { return queue_rules<PurgeQueue>(); }

constexpr auto rules_of(For<PutQueue>) {
  return List{Rule{"queue", &PutQueue::queue, kQueueName}, Rule{"", &PutQueue::policy, Nested{}}};
}

// Allowed for some policy. Whether for the one that it meets, patched() decides.
struct PolicyPatch {
  bool operator()(Checking& run, const Json& patch) const;
};
constexpr auto rules_of(For<PatchQueue>) {
  return List{Rule{"queue", &PatchQueue::queue, kQueueName},
              Rule{"patch", &PatchQueue::patch, PolicyPatch{}}};
}

constexpr auto rules_of(For<ListUsers>) {
  return List{Rule{"queue", &ListUsers::queue, IfGiven{kQueueName}},
              Rule{"limit", &ListUsers::limit, UpTo{&Limits::page}},
              Rule{"cursor", &ListUsers::cursor, kCursorLine}};
}

constexpr auto rules_of(For<PutUser>) {
  return List{Rule{"user", &PutUser::user, kId},
              Rule{"queue", &PutUser::queue, IfGiven{kQueueName}},
              Rule{"", &PutUser::settings, Nested{}}};
}

constexpr auto rules_of(For<GetXcom>) { return List{Rule{"key", &GetXcom::key, kId}}; }
constexpr auto rules_of(For<DeleteXcom>) { return List{Rule{"key", &DeleteXcom::key, kId}}; }
constexpr auto rules_of(For<PutXcom>) {
  return List{Rule{"key", &PutXcom::key, kId},
              Rule{"value", &PutXcom::value, JsonValue{&Limits::xcom_bytes}},
              Rule{"ttl_ms", &PutXcom::ttl_ms, Duration{1, kYear}}};
}

struct CronText {
  bool operator()(Checking& run, std::string_view cron) const;
};
struct ZoneName {
  bool operator()(Checking& run, std::string_view zone) const;
};
constexpr auto rules_of(For<ScheduleSpec>) {
  return List{Rule{"cron", &ScheduleSpec::cron, IfGiven{CronText{}}},
              Rule{"every_ms", &ScheduleSpec::every_ms, Maybe{Duration{kSecond, kYear}}},
              Rule{"time_zone", &ScheduleSpec::time_zone, ZoneName{}},
              Rule{"catch_up", &ScheduleSpec::catch_up, Anything{}},
              Rule{"task", &ScheduleSpec::task, Nested{}}};
}
bool relations_hold(Checking& run, const ScheduleSpec& schedule);

constexpr auto rules_of(For<PutSchedule>) {
  return List{Rule{"name", &PutSchedule::name, kQueueName},
              Rule{"", &PutSchedule::schedule, Nested{}}};
}
constexpr auto rules_of(For<DeleteSchedule>) {
  return List{Rule{"name", &DeleteSchedule::name, kQueueName}};
}
constexpr auto rules_of(For<RunSchedule>) {
  return List{Rule{"name", &RunSchedule::name, kQueueName},
              Rule{"id", &RunSchedule::id, IfGiven{kId}}};
}

constexpr auto rules_of(For<Stats>) { return List{}; }
constexpr auto rules_of(For<StartDrain>) { return List{}; }
constexpr auto rules_of(For<EndDrain>) { return List{}; }

}  // namespace retsu::rules
