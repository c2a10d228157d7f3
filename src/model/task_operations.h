#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/error.h"
#include "model/task.h"

// Operations on tasks. Each struct is a request; its Reply is the answer.
namespace retsu {

struct Pushed {
  std::string
      id;  // of the task that now stands for the push: with a unique key, maybe another one's
  std::optional<State> state;
  bool created = false;
  std::optional<Error> error;  // only in a partial push: this task was refused, and has no state

  bool operator==(const Pushed&) const = default;
};
struct PushReply {
  std::vector<Pushed> tasks;
  bool operator==(const PushReply&) const = default;
};
struct Push {
  using Reply = PushReply;
  std::vector<NewTask> tasks;
  bool partial = false;
};

struct GetTask {
  using Reply = Task;
  std::string id;
  std::int64_t wait_ms = 0;  // answered when the task has ended, at latest after this
};

struct Filter {
  std::optional<State> state;
  std::string queue;
  std::string user;
  std::string type;
  std::string tag;
  std::string unique_key;
  std::string waits_for;
  std::string q;                   // occurs in payload, error, id or a tag
  std::optional<TimePoint> since;  // created at or after
  std::optional<TimePoint> until;  // created before

  bool operator==(const Filter&) const = default;
};

struct TaskPage {
  std::vector<Task> tasks;
  std::optional<std::string> next_cursor;
  bool operator==(const TaskPage&) const = default;
};
struct ListTasks {
  using Reply = TaskPage;
  Filter filter;
  std::int64_t limit = 100;
  std::string cursor;
};

enum class Cause : std::uint8_t {
  kDependency,
  kSchedule,
  kPaused,
  kDrain,
  kConcurrency,
  kInterval,
  kRate,
  kThrottled,
  kUserCap,
  kBehind,
  kNoWorker,
};
constexpr auto names_of(std::type_identity<Cause>) {
  using enum Cause;
  return std::to_array<Named<Cause>>({{"dependency", kDependency},
                                      {"schedule", kSchedule},
                                      {"paused", kPaused},
                                      {"drain", kDrain},
                                      {"concurrency", kConcurrency},
                                      {"interval", kInterval},
                                      {"rate", kRate},
                                      {"throttled", kThrottled},
                                      {"user_cap", kUserCap},
                                      {"behind", kBehind},
                                      {"no_worker", kNoWorker}});
}
struct WhyCause {
  Cause cause = Cause::kBehind;
  std::string detail;
  std::optional<TimePoint> until;
  bool operator==(const WhyCause&) const = default;
};
struct WhyReply {
  State state = State::kQueued;
  std::vector<WhyCause> causes;  // empty: it runs, or has ended
  bool operator==(const WhyReply&) const = default;
};
struct Why {
  using Reply = WhyReply;
  std::string id;
};

struct CancelTask {
  using Reply = Task;
  std::string id;
};
struct RetryTask {  // redrive one
  using Reply = Task;
  std::string id;
};
struct FrontTask {
  using Reply = Task;
  std::string id;
};
struct Removed {
  std::int64_t removed = 0;
  bool operator==(const Removed&) const = default;
};
struct RemoveTask {
  using Reply = Removed;
  std::string id;
};

struct BulkReply {
  std::int64_t matched = 0;
  std::int64_t changed = 0;
  bool operator==(const BulkReply&) const = default;
};
struct CancelTasks {
  using Reply = BulkReply;
  Filter filter;
  std::optional<std::int64_t> expect;  // another number of matches: refused
  bool dry_run = false;
};
struct RetryTasks {
  using Reply = BulkReply;
  Filter filter;
  std::optional<std::int64_t> expect;
  bool dry_run = false;
};
struct RedriveDead {  // RetryTasks of FAILED ones only
  using Reply = BulkReply;
  Filter filter;
  std::optional<std::int64_t> expect;
  bool dry_run = false;
};
struct PurgeDead {
  using Reply = BulkReply;
  Filter filter;
  std::optional<std::int64_t> expect;
  bool dry_run = false;
};

struct DeadGroup {
  std::string error;
  Reason reason = Reason::kNone;
  std::int64_t count = 0;
  TimePoint newest;
  std::string example;  // the id of the newest
  bool operator==(const DeadGroup&) const = default;
};
struct DeadPage {
  std::vector<Task> tasks;
  std::optional<std::vector<DeadGroup>> groups;  // only if asked for: the largest first
  std::optional<std::string> next_cursor;
  bool operator==(const DeadPage&) const = default;
};
enum class DeadGroupBy : std::uint8_t { kNothing, kError };
constexpr auto names_of(std::type_identity<DeadGroupBy>) {
  using enum DeadGroupBy;
  return std::to_array<Named<DeadGroupBy>>({{"nothing", kNothing}, {"error", kError}});
}
struct ListDead {
  using Reply = DeadPage;
  Filter filter;
  DeadGroupBy group = DeadGroupBy::kNothing;  // else groups, up to the limit, and no tasks
  std::int64_t limit = 100;
  std::string cursor;
};

struct GraphNode {
  std::string id;
  State state = State::kQueued;
  std::string queue;
  std::string user;
  std::string type;
  bool missing = false;  // waited for, but not pushed yet
  bool operator==(const GraphNode&) const = default;
};
struct GraphEdge {
  std::string from;  // the dependency
  std::string to;    // the dependent
  When when = When::kFinished;
  bool met = false;
  bool operator==(const GraphEdge&) const = default;
};
struct GraphReply {
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
  bool truncated = false;
  bool operator==(const GraphReply&) const = default;
};
struct Graph {
  using Reply = GraphReply;
  std::string id;
};

constexpr auto fields_of(std::type_identity<Pushed>) {
  return List{Field{"id", &Pushed::id}, Field{"state", &Pushed::state},
              Field{"created", &Pushed::created, kAlwaysShown}, Field{"error", &Pushed::error}};
}
constexpr auto fields_of(std::type_identity<PushReply>) {
  return List{Field{"tasks", &PushReply::tasks, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<Push>) {
  return List{Field{"tasks", &Push::tasks, kRequired}, Field{"partial", &Push::partial}};
}
constexpr auto fields_of(std::type_identity<GetTask>) {
  return List{Field{"id", &GetTask::id, kRequired}, Field{"wait_ms", &GetTask::wait_ms}};
}
constexpr auto fields_of(std::type_identity<Filter>) {
  return List{Field{"state", &Filter::state},
              Field{"queue", &Filter::queue},
              Field{"user", &Filter::user},
              Field{"type", &Filter::type},
              Field{"tag", &Filter::tag},
              Field{"unique_key", &Filter::unique_key},
              Field{"waits_for", &Filter::waits_for},
              Field{"q", &Filter::q},
              Field{"since", &Filter::since},
              Field{"until", &Filter::until}};
}
constexpr auto fields_of(std::type_identity<TaskPage>) {
  return List{Field{"tasks", &TaskPage::tasks, kAlwaysShown},
              Field{"next_cursor", &TaskPage::next_cursor, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<ListTasks>) {
  return List{Field{"filter", &ListTasks::filter}, Field{"limit", &ListTasks::limit},
              Field{"cursor", &ListTasks::cursor}};
}
constexpr auto fields_of(std::type_identity<WhyCause>) {
  return List{Field{"cause", &WhyCause::cause}, Field{"detail", &WhyCause::detail},
              Field{"until", &WhyCause::until}};
}
constexpr auto fields_of(std::type_identity<WhyReply>) {
  return List{Field{"state", &WhyReply::state}, Field{"causes", &WhyReply::causes, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<Why>) { return List{Field{"id", &Why::id, kRequired}}; }
constexpr auto fields_of(std::type_identity<CancelTask>) {
  return List{Field{"id", &CancelTask::id, kRequired}};
}
constexpr auto fields_of(std::type_identity<RetryTask>) {
  return List{Field{"id", &RetryTask::id, kRequired}};
}
constexpr auto fields_of(std::type_identity<FrontTask>) {
  return List{Field{"id", &FrontTask::id, kRequired}};
}
constexpr auto fields_of(std::type_identity<Removed>) {
  return List{Field{"removed", &Removed::removed, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<RemoveTask>) {
  return List{Field{"id", &RemoveTask::id, kRequired}};
}
constexpr auto fields_of(std::type_identity<BulkReply>) {
  return List{Field{"matched", &BulkReply::matched, kAlwaysShown},
              Field{"changed", &BulkReply::changed, kAlwaysShown}};
}
template <class Bulk>
constexpr auto bulk_fields() {
  return List{Field{"filter", &Bulk::filter, kRequired}, Field{"expect", &Bulk::expect},
              Field{"dry_run", &Bulk::dry_run}};
}
constexpr auto fields_of(std::type_identity<CancelTasks>) { return bulk_fields<CancelTasks>(); }
constexpr auto fields_of(std::type_identity<RetryTasks>) { return bulk_fields<RetryTasks>(); }
constexpr auto fields_of(std::type_identity<RedriveDead>) { return bulk_fields<RedriveDead>(); }
constexpr auto fields_of(std::type_identity<PurgeDead>) { return bulk_fields<PurgeDead>(); }
constexpr auto fields_of(std::type_identity<DeadGroup>) {
  return List{Field{"error", &DeadGroup::error, kAlwaysShown}, Field{"reason", &DeadGroup::reason},
              Field{"count", &DeadGroup::count}, Field{"newest", &DeadGroup::newest},
              Field{"example", &DeadGroup::example}};
}
constexpr auto fields_of(std::type_identity<DeadPage>) {
  return List{Field{"tasks", &DeadPage::tasks, kAlwaysShown}, Field{"groups", &DeadPage::groups},
              Field{"next_cursor", &DeadPage::next_cursor, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<ListDead>) {
  return List{Field{"filter", &ListDead::filter}, Field{"group", &ListDead::group},
              Field{"limit", &ListDead::limit}, Field{"cursor", &ListDead::cursor}};
}
constexpr auto fields_of(std::type_identity<GraphNode>) {
  return List{Field{"id", &GraphNode::id},       Field{"state", &GraphNode::state},
              Field{"queue", &GraphNode::queue}, Field{"user", &GraphNode::user},
              Field{"type", &GraphNode::type},   Field{"missing", &GraphNode::missing}};
}
constexpr auto fields_of(std::type_identity<GraphEdge>) {
  return List{Field{"from", &GraphEdge::from}, Field{"to", &GraphEdge::to},
              Field{"when", &GraphEdge::when}, Field{"met", &GraphEdge::met, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<GraphReply>) {
  return List{Field{"nodes", &GraphReply::nodes, kAlwaysShown},
              Field{"edges", &GraphReply::edges, kAlwaysShown},
              Field{"truncated", &GraphReply::truncated}};
}
constexpr auto fields_of(std::type_identity<Graph>) {
  return List{Field{"id", &Graph::id, kRequired}};
}

}  // namespace retsu
