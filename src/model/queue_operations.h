#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/error.h"
#include "model/task.h"
#include "model/task_operations.h"

// Operations on queues, users, schedules, shared values and the whole. Each struct is a request;
// its Reply is the answer.
namespace retsu {

// What has happened, since the beginning. One counter a row; queues count by themselves.
enum class Counter : std::uint8_t {
  kPushed,
  kAbsorbed,  // pushes answered by a task that existed
  kStarted,
  kFinished,
  kFailed,  // dead letters
  kCanceled,
  kRetried,         // attempts that failed and will be tried again
  kRetrySucceeded,  // tasks that finished after a failed attempt
  kThrottled,
  kReleased,
  kAwaited,
  kTimedOut,
  kExpired,
  kLeaseExpired,
  kPoisoned,
  kRedriven,
  kFreed,         // dependents queued because their last dependency was met
  kFreedAfterMs,  // the sum of the times from a dependency's end to the queue
  kSwept,         // references whose task is gone
  kRemoved,       // by retention or by hand
};
inline constexpr int kCounters = 20;
constexpr auto names_of(std::type_identity<Counter>) {
  using enum Counter;
  return std::to_array<Named<Counter>>(
      {{"pushed", kPushed},       {"absorbed", kAbsorbed},
       {"started", kStarted},     {"finished", kFinished},
       {"failed", kFailed},       {"canceled", kCanceled},
       {"retried", kRetried},     {"retry_succeeded", kRetrySucceeded},
       {"throttled", kThrottled}, {"released", kReleased},
       {"awaited", kAwaited},     {"timed_out", kTimedOut},
       {"expired", kExpired},     {"lease_expired", kLeaseExpired},
       {"poisoned", kPoisoned},   {"redriven", kRedriven},
       {"freed", kFreed},         {"freed_after_ms", kFreedAfterMs},
       {"swept", kSwept},         {"removed", kRemoved}});
}

struct QueueInfo {
  std::string queue;
  QueuePolicy policy;                         // in JSON its fields stand beside these
  std::map<std::string, std::int64_t> tasks;  // by state
  std::int64_t running = 0;                   // permits in use
  std::int64_t waiting_bytes = 0;
  std::int64_t users = 0;                     // with ready tasks
  std::optional<std::int64_t> oldest_age_ms;  // of the QUEUED, to the second
  std::optional<TimePoint> hold_until;
  std::map<std::string, std::int64_t> per_minute;  // pushed, started, finished, failed
  std::map<std::string, std::int64_t> counters;
  bool operator==(const QueueInfo&) const = default;
};
struct QueueList {
  std::vector<QueueInfo> queues;
  std::optional<std::string> next_cursor;
  bool operator==(const QueueList&) const = default;
};
struct ListQueues {
  using Reply = QueueList;
  std::int64_t limit = 100;
  std::string cursor;
};
struct GetQueue {
  using Reply = QueueInfo;
  std::string queue;
};
struct PutQueue {
  using Reply = QueueInfo;
  std::string queue;
  QueuePolicy policy;
};
struct PatchQueue {
  using Reply = QueueInfo;
  std::string queue;
  Json patch;  // an object of policy fields: those named change, the others stay; null resets
};
struct DeleteQueue {
  using Reply = Removed;
  std::string queue;
};
struct PauseQueue {
  using Reply = QueueInfo;
  std::string queue;
};
struct ResumeQueue {
  using Reply = QueueInfo;
  std::string queue;
};
struct PurgeQueue {  // cancels all that waits
  using Reply = BulkReply;
  std::string queue;
};

struct UserInfo {
  std::string user;
  std::string queue;
  std::int64_t weight = 1;
  std::optional<std::int64_t> max_running;
  std::optional<std::int64_t> max_waiting;
  std::optional<std::int64_t> max_waiting_bytes;
  std::int64_t waiting = 0;  // SCHEDULED, DEFERRED, QUEUED
  std::int64_t queued = 0;
  std::int64_t waiting_bytes = 0;
  std::int64_t running = 0;
  std::int64_t started = 0;
  double share_got = 0;                     // of the starts of all users listed for the queue
  double share_due = 0;                     // by weight
  std::optional<std::int64_t> wait_p50_ms;  // of the latest starts; an upper bound within 42 %
  std::optional<std::int64_t> wait_p95_ms;
  bool operator==(const UserInfo&) const = default;
};
struct UserList {
  std::vector<UserInfo> users;
  std::optional<std::string> next_cursor;
  bool operator==(const UserList&) const = default;
};
struct ListUsers {
  using Reply = UserList;
  std::string queue;  // empty: all
  std::int64_t limit = 100;
  std::string cursor;
};
struct PutUserReply {
  std::string user;
  std::string queue;
  UserSettings settings;
  bool operator==(const PutUserReply&) const = default;
};
struct PutUser {
  using Reply = PutUserReply;
  std::string user;
  std::string queue;  // empty: all
  UserSettings settings;
};

struct XcomValue {
  std::string key;
  Json value;
  TimePoint expires_at;
  bool operator==(const XcomValue&) const = default;
};
struct GetXcom {
  using Reply = XcomValue;
  std::string key;
};
struct PutXcom {
  using Reply = XcomValue;
  std::string key;
  Json value;
  std::int64_t ttl_ms = kHour;
};
struct DeleteXcom {
  using Reply = Removed;
  std::string key;
};

enum class CatchUp : std::uint8_t { kLatest, kSkip, kAll };
constexpr auto names_of(std::type_identity<CatchUp>) {
  using enum CatchUp;
  return std::to_array<Named<CatchUp>>({{"latest", kLatest}, {"skip", kSkip}, {"all", kAll}});
}
struct ScheduleSpec {
  std::string cron;                      // this,
  std::optional<std::int64_t> every_ms;  // or this
  std::string time_zone = "UTC";
  CatchUp catch_up = CatchUp::kLatest;
  NewTask task;
  bool operator==(const ScheduleSpec&) const = default;
};
struct ScheduleInfo {
  std::string name;
  ScheduleSpec schedule;        // in JSON its fields stand beside these
  std::vector<TimePoint> next;  // five occurrences
  std::string last_task;        // the id of the newest task made by it
  std::string last_error;
  bool operator==(const ScheduleInfo&) const = default;
};
struct ScheduleList {
  std::vector<ScheduleInfo> schedules;
  std::optional<std::string> next_cursor;
  bool operator==(const ScheduleList&) const = default;
};
struct ListSchedules {
  using Reply = ScheduleList;
  std::int64_t limit = 100;
  std::string cursor;
};
struct PutSchedule {
  using Reply = ScheduleInfo;
  std::string name;
  ScheduleSpec schedule;
};
struct DeleteSchedule {
  using Reply = Removed;
  std::string name;
};
struct RunSchedule {  // now, beside its occurrences
  using Reply = Pushed;
  std::string name;
  std::string id;             // of the task; empty: the broker chooses one
  bool id_generated = false;  // set by the broker, not by callers
};

struct StatsReply {
  TimePoint now;
  bool draining = false;
  std::map<std::string, std::int64_t> tasks;  // by state
  std::map<std::string, std::int64_t> counters;
  std::int64_t queues = 0;
  std::int64_t users = 0;  // lines: pairs of queue and user with stored tasks
  std::int64_t claims = 0;
  std::int64_t schedules = 0;
  std::int64_t xcom = 0;
  std::int64_t edges = 0;  // open references between tasks
  std::int64_t remembered_ids = 0;
  std::int64_t idempotency_keys = 0;
  bool operator==(const StatsReply&) const = default;
};
struct Stats {
  using Reply = StatsReply;
};

struct DrainReply {
  bool draining = false;
  std::int64_t running = 0;
  bool operator==(const DrainReply&) const = default;
};
struct StartDrain {
  using Reply = DrainReply;
};
struct EndDrain {
  using Reply = DrainReply;
};

constexpr auto fields_of(std::type_identity<QueueInfo>) {
  return List{Field{"queue", &QueueInfo::queue},
              Field{"", &QueueInfo::policy},
              Field{"tasks", &QueueInfo::tasks, kAlwaysShown},
              Field{"running", &QueueInfo::running, kAlwaysShown},
              Field{"waiting_bytes", &QueueInfo::waiting_bytes, kAlwaysShown},
              Field{"users", &QueueInfo::users, kAlwaysShown},
              Field{"oldest_age_ms", &QueueInfo::oldest_age_ms, kAlwaysShown},
              Field{"hold_until", &QueueInfo::hold_until, kAlwaysShown},
              Field{"per_minute", &QueueInfo::per_minute, kAlwaysShown},
              Field{"counters", &QueueInfo::counters, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<QueueList>) {
  return List{Field{"queues", &QueueList::queues, kAlwaysShown},
              Field{"next_cursor", &QueueList::next_cursor, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<ListQueues>) {
  return List{Field{"limit", &ListQueues::limit}, Field{"cursor", &ListQueues::cursor}};
}
constexpr auto fields_of(std::type_identity<GetQueue>) {
  return List{Field{"queue", &GetQueue::queue, kRequired}};
}
constexpr auto fields_of(std::type_identity<PutQueue>) {
  return List{Field{"queue", &PutQueue::queue, kRequired}, Field{"", &PutQueue::policy}};
}
constexpr auto fields_of(std::type_identity<PatchQueue>) {
  return List{Field{"queue", &PatchQueue::queue, kRequired},
              Field{"patch", &PatchQueue::patch, kRequired}};
}
constexpr auto fields_of(std::type_identity<DeleteQueue>) {
  return List{Field{"queue", &DeleteQueue::queue, kRequired}};
}
constexpr auto fields_of(std::type_identity<PauseQueue>) {
  return List{Field{"queue", &PauseQueue::queue, kRequired}};
}
constexpr auto fields_of(std::type_identity<ResumeQueue>) {
  return List{Field{"queue", &ResumeQueue::queue, kRequired}};
}
constexpr auto fields_of(std::type_identity<PurgeQueue>) {
  return List{Field{"queue", &PurgeQueue::queue, kRequired}};
}
constexpr auto fields_of(std::type_identity<UserInfo>) {
  return List{Field{"user", &UserInfo::user},
              Field{"queue", &UserInfo::queue},
              Field{"weight", &UserInfo::weight},
              Field{"max_running", &UserInfo::max_running},
              Field{"max_waiting", &UserInfo::max_waiting},
              Field{"max_waiting_bytes", &UserInfo::max_waiting_bytes},
              Field{"waiting", &UserInfo::waiting, kAlwaysShown},
              Field{"queued", &UserInfo::queued, kAlwaysShown},
              Field{"waiting_bytes", &UserInfo::waiting_bytes, kAlwaysShown},
              Field{"running", &UserInfo::running, kAlwaysShown},
              Field{"started", &UserInfo::started, kAlwaysShown},
              Field{"share_got", &UserInfo::share_got, kAlwaysShown},
              Field{"share_due", &UserInfo::share_due, kAlwaysShown},
              Field{"wait_p50_ms", &UserInfo::wait_p50_ms, kAlwaysShown},
              Field{"wait_p95_ms", &UserInfo::wait_p95_ms, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<UserList>) {
  return List{Field{"users", &UserList::users, kAlwaysShown},
              Field{"next_cursor", &UserList::next_cursor, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<ListUsers>) {
  return List{Field{"queue", &ListUsers::queue}, Field{"limit", &ListUsers::limit},
              Field{"cursor", &ListUsers::cursor}};
}
constexpr auto fields_of(std::type_identity<PutUserReply>) {
  return List{Field{"user", &PutUserReply::user}, Field{"queue", &PutUserReply::queue},
              Field{"", &PutUserReply::settings}};
}
constexpr auto fields_of(std::type_identity<PutUser>) {
  return List{Field{"user", &PutUser::user, kRequired}, Field{"queue", &PutUser::queue},
              Field{"", &PutUser::settings}};
}
constexpr auto fields_of(std::type_identity<XcomValue>) {
  return List{Field{"key", &XcomValue::key}, Field{"value", &XcomValue::value},
              Field{"expires_at", &XcomValue::expires_at}};
}
constexpr auto fields_of(std::type_identity<GetXcom>) {
  return List{Field{"key", &GetXcom::key, kRequired}};
}
constexpr auto fields_of(std::type_identity<PutXcom>) {
  return List{Field{"key", &PutXcom::key, kRequired}, Field{"value", &PutXcom::value, kRequired},
              Field{"ttl_ms", &PutXcom::ttl_ms}};
}
constexpr auto fields_of(std::type_identity<DeleteXcom>) {
  return List{Field{"key", &DeleteXcom::key, kRequired}};
}
constexpr auto fields_of(std::type_identity<ScheduleSpec>) {
  return List{Field{"cron", &ScheduleSpec::cron}, Field{"every_ms", &ScheduleSpec::every_ms},
              Field{"time_zone", &ScheduleSpec::time_zone},
              Field{"catch_up", &ScheduleSpec::catch_up},
              Field{"task", &ScheduleSpec::task, kRequired}};
}
constexpr auto fields_of(std::type_identity<ScheduleInfo>) {
  return List{Field{"name", &ScheduleInfo::name}, Field{"", &ScheduleInfo::schedule},
              Field{"next", &ScheduleInfo::next, kAlwaysShown},
              Field{"last_task", &ScheduleInfo::last_task},
              Field{"last_error", &ScheduleInfo::last_error}};
}
constexpr auto fields_of(std::type_identity<ScheduleList>) {
  return List{Field{"schedules", &ScheduleList::schedules, kAlwaysShown},
              Field{"next_cursor", &ScheduleList::next_cursor, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<ListSchedules>) {
  return List{Field{"limit", &ListSchedules::limit}, Field{"cursor", &ListSchedules::cursor}};
}
constexpr auto fields_of(std::type_identity<PutSchedule>) {
  return List{Field{"name", &PutSchedule::name, kRequired}, Field{"", &PutSchedule::schedule}};
}
constexpr auto fields_of(std::type_identity<DeleteSchedule>) {
  return List{Field{"name", &DeleteSchedule::name, kRequired}};
}
constexpr auto fields_of(std::type_identity<RunSchedule>) {
  return List{Field{"name", &RunSchedule::name, kRequired}, Field{"id", &RunSchedule::id}};
}
constexpr auto fields_of(std::type_identity<StatsReply>) {
  return List{Field{"now", &StatsReply::now},
              Field{"draining", &StatsReply::draining, kAlwaysShown},
              Field{"tasks", &StatsReply::tasks, kAlwaysShown},
              Field{"counters", &StatsReply::counters, kAlwaysShown},
              Field{"queues", &StatsReply::queues, kAlwaysShown},
              Field{"users", &StatsReply::users, kAlwaysShown},
              Field{"claims", &StatsReply::claims, kAlwaysShown},
              Field{"schedules", &StatsReply::schedules, kAlwaysShown},
              Field{"xcom", &StatsReply::xcom, kAlwaysShown},
              Field{"edges", &StatsReply::edges, kAlwaysShown},
              Field{"remembered_ids", &StatsReply::remembered_ids, kAlwaysShown},
              Field{"idempotency_keys", &StatsReply::idempotency_keys, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<Stats>) { return List{}; }
constexpr auto fields_of(std::type_identity<DrainReply>) {
  return List{Field{"draining", &DrainReply::draining, kAlwaysShown},
              Field{"running", &DrainReply::running, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<StartDrain>) { return List{}; }
constexpr auto fields_of(std::type_identity<EndDrain>) { return List{}; }

}  // namespace retsu
