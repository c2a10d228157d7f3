#pragma once

#include <cstddef>
#include <string_view>
#include <variant>

#include "model/claim_operations.h"
#include "model/queue_operations.h"
#include "model/task_operations.h"

namespace retsu {

// Everything that can be asked of a queue: one alternative per row of kOperations, in the same
// order.
using AnyCommand =
    std::variant<Push, GetTask, ListTasks, Why, CancelTask, RetryTask, FrontTask, RemoveTask,
                 CancelTasks, RetryTasks, RedriveDead, PurgeDead, ListDead, Graph, Claim, Settle,
                 Extend, ReleaseClaim, ReleaseOlder, ListClaims, ListQueues, GetQueue, PutQueue,
                 PatchQueue, DeleteQueue, PauseQueue, ResumeQueue, PurgeQueue, ListUsers, PutUser,
                 GetXcom, PutXcom, DeleteXcom, ListSchedules, PutSchedule, DeleteSchedule,
                 RunSchedule, Stats, StartDrain, EndDrain>;

using AnyReply = std::variant<PushReply, Task, TaskPage, WhyReply, Removed, BulkReply, DeadPage,
                              GraphReply, ClaimReply, SettleReply, ExtendReply, Released, ClaimPage,
                              QueueList, QueueInfo, UserList, PutUserReply, XcomValue, ScheduleList,
                              ScheduleInfo, Pushed, StatsReply, DrainReply>;

// Copied, moved and destroyed in one place: every user would compile that anew otherwise.
struct Command : AnyCommand {
  using AnyCommand::AnyCommand;
  Command();
  Command(const Command& other);
  Command(Command&& other) noexcept;
  Command& operator=(const Command& other);
  Command& operator=(Command&& other) noexcept;
  ~Command();
};
struct Reply : AnyReply {
  using AnyReply::AnyReply;
  Reply();
  Reply(const Reply& other);
  Reply(Reply&& other) noexcept;
  Reply& operator=(const Reply& other);
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();
  bool operator==(const Reply& other) const;
};

enum class Scope : std::uint8_t { kPush, kWork, kRead, kAdmin };
constexpr auto names_of(std::type_identity<Scope>) {
  using enum Scope;
  return std::to_array<Named<Scope>>(
      {{"push", kPush}, {"work", kWork}, {"read", kRead}, {"admin", kAdmin}});
}

struct Operation {
  std::string_view name;
  std::string_view method;
  std::string_view path;
  Scope scope;
  std::size_t body_limit;
  bool changes;     // may change something
  bool repeatable;  // sent twice, it has the effect of once
};

inline constexpr std::size_t kNoBody = 0;
inline constexpr std::size_t kSmallBody = 64 << 10;
inline constexpr std::size_t kTaskBody = 2 << 20;
inline constexpr std::size_t kBatchBody = 64 << 20;

// One table drives every door: HTTP, command line, remote broker, documentation, tests.
inline constexpr auto kOperations = std::to_array<Operation>({
    {"push", "POST", "/v1/tasks", Scope::kPush, kBatchBody, true, false},
    {"get_task", "GET", "/v1/tasks/{id}", Scope::kRead, kNoBody, false, true},
    {"list_tasks", "GET", "/v1/tasks", Scope::kRead, kNoBody, false, true},
    {"why", "GET", "/v1/tasks/{id}/why", Scope::kRead, kNoBody, false, true},
    {"cancel_task", "POST", "/v1/tasks/{id}/cancel", Scope::kAdmin, kSmallBody, true, false},
    {"retry_task", "POST", "/v1/tasks/{id}/retry", Scope::kAdmin, kSmallBody, true, false},
    {"front_task", "POST", "/v1/tasks/{id}/front", Scope::kAdmin, kSmallBody, true, true},
    {"remove_task", "DELETE", "/v1/tasks/{id}", Scope::kAdmin, kNoBody, true, false},
    {"cancel_tasks", "POST", "/v1/tasks/cancel", Scope::kAdmin, kSmallBody, true, true},
    {"retry_tasks", "POST", "/v1/tasks/retry", Scope::kAdmin, kSmallBody, true, false},
    {"redrive_dead", "POST", "/v1/dead/redrive", Scope::kAdmin, kSmallBody, true, false},
    {"purge_dead", "POST", "/v1/dead/purge", Scope::kAdmin, kSmallBody, true, true},
    {"list_dead", "GET", "/v1/dead", Scope::kRead, kNoBody, false, true},
    {"graph", "GET", "/v1/graph/{id}", Scope::kRead, kNoBody, false, true},
    {"claim", "POST", "/v1/claims", Scope::kWork, kSmallBody, true, false},
    {"settle", "POST", "/v1/claims/{claim_id}/settle", Scope::kWork, kBatchBody, true, true},
    {"extend", "POST", "/v1/claims/{claim_id}/extend", Scope::kWork, kTaskBody, true, true},
    {"release_claim", "DELETE", "/v1/claims/{claim_id}", Scope::kWork, kNoBody, true, true},
    {"release_older", "POST", "/v1/claims/release", Scope::kAdmin, kSmallBody, true, true},
    {"list_claims", "GET", "/v1/claims", Scope::kAdmin, kNoBody, false, true},
    {"list_queues", "GET", "/v1/queues", Scope::kRead, kNoBody, false, true},
    {"get_queue", "GET", "/v1/queues/{queue}", Scope::kRead, kNoBody, false, true},
    {"put_queue", "PUT", "/v1/queues/{queue}", Scope::kAdmin, kSmallBody, true, true},
    {"patch_queue", "PATCH", "/v1/queues/{queue}", Scope::kAdmin, kSmallBody, true, true},
    {"delete_queue", "DELETE", "/v1/queues/{queue}", Scope::kAdmin, kNoBody, true, false},
    {"pause_queue", "POST", "/v1/queues/{queue}/pause", Scope::kAdmin, kSmallBody, true, true},
    {"resume_queue", "POST", "/v1/queues/{queue}/resume", Scope::kAdmin, kSmallBody, true, true},
    {"purge_queue", "POST", "/v1/queues/{queue}/purge", Scope::kAdmin, kSmallBody, true, true},
    {"list_users", "GET", "/v1/users", Scope::kRead, kNoBody, false, true},
    {"put_user", "PUT", "/v1/users/{user}", Scope::kAdmin, kSmallBody, true, true},
    {"get_xcom", "GET", "/v1/xcom/{key}", Scope::kWork, kNoBody, false, true},
    {"put_xcom", "PUT", "/v1/xcom/{key}", Scope::kWork, kTaskBody, true, true},
    {"delete_xcom", "DELETE", "/v1/xcom/{key}", Scope::kWork, kNoBody, true, true},
    {"list_schedules", "GET", "/v1/schedules", Scope::kRead, kNoBody, false, true},
    {"put_schedule", "PUT", "/v1/schedules/{name}", Scope::kAdmin, kTaskBody, true, true},
    {"delete_schedule", "DELETE", "/v1/schedules/{name}", Scope::kAdmin, kNoBody, true, true},
    {"run_schedule", "POST", "/v1/schedules/{name}/run", Scope::kAdmin, kSmallBody, true, false},
    {"stats", "GET", "/v1/stats", Scope::kRead, kNoBody, false, true},
    {"start_drain", "POST", "/v1/drain", Scope::kAdmin, kSmallBody, true, true},
    {"end_drain", "DELETE", "/v1/drain", Scope::kAdmin, kNoBody, true, true},
});
static_assert(kOperations.size() == std::variant_size_v<AnyCommand>);

inline const Operation& operation_of(const Command& command) {
  return kOperations[command.index()];
}

}  // namespace retsu
