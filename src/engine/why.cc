#include <fmt/format.h>

#include <algorithm>

#include "engine/lifecycle.h"
#include "engine/pace.h"
#include "engine/queries.h"
#include "engine/times.h"

namespace retsu::engine {
namespace {

constexpr std::int64_t kCounted = 1'000;  // looking further ahead tells nobody more
constexpr std::int64_t kNamed = 3;

std::string counted(std::int64_t number, std::string_view one, std::string_view many) {
  return fmt::format("{}{} {}", number >= kCounted ? "at least " : "", number,
                     number == 1 ? one : many);
}

std::string dependencies(const Tables& tables, const TaskNode& task) {
  std::string text = "waits for";
  std::int64_t named = 0;
  const auto open = tables.open_edges(task);
  for (const EdgeRow& edge : tables.edges(task)) {
    if (edge.met) continue;
    if (named++ == kNamed) break;
    const TaskNode* target = tables.find_task(edge.target);
    text += fmt::format("{} {} ({})", named == 1 ? "" : ",", edge.target.view(),
                        target ? name_of(target->row.state) : "not pushed yet");
  }
  if (open > kNamed) text += fmt::format(" and {} more", open - kNamed);
  return text;
}

std::string pace_detail(const Queue& queue, Cause cause) {
  const QueuePolicy& policy = queue.policy();
  switch (cause) {
    case Cause::kPaused:
      return fmt::format("queue {} is paused", queue.name.view());
    case Cause::kInterval:
      return fmt::format("queue {} starts a task {} ms after the end of the one before",
                         queue.name.view(), policy.interval_ms);
    case Cause::kRate:
      return fmt::format("queue {} starts at most {} tasks in {} ms", queue.name.view(),
                         policy.rate->limit, policy.rate->per_ms);
    case Cause::kThrottled:
      return fmt::format("queue {} was told to wait by the service that it calls",
                         queue.name.view());
    default:
      return {};
  }
}

// How many come first: tasks of the user's own line, and users before this one in the ring. Those
// that kept a permit come in a line of their own.
std::pair<std::int64_t, std::int64_t> ahead(const TaskNode& task) {
  const Line& line = task.line();
  if (task.row.keeps_permit) {
    const auto& kept = line.queue->kept;
    return {std::distance(kept.begin(), kept.find(const_cast<TaskNode*>(&task))), 0};
  }
  std::int64_t tasks = std::ssize(line.queue->kept);
  for (const TaskNode& other : line.ready) {
    if (&other == &task || tasks >= kCounted) break;
    ++tasks;
  }
  std::int64_t users = 0;
  for (const Line* other : line.queue->ring) {
    if (other == &line || users == kCounted) break;
    ++users;
  }
  return {tasks, line.row.place == 0 ? 0 : users};
}

void explain_queued(const Tables& tables, const TaskNode& task, std::vector<WhyCause>& causes) {
  const Queue& queue = task.queue();
  const Line& line = task.line();
  const std::vector<Obstacle> found = obstacles(queue, tables.now());
  const auto add_pace = [&](Cause cause) {
    for (const Obstacle& obstacle : found) {
      if (obstacle.cause == cause) {
        causes.push_back({cause, pace_detail(queue, cause), known(obstacle.until)});
      }
    }
  };
  add_pace(Cause::kPaused);
  if (tables.meta().draining) {
    causes.push_back({Cause::kDrain, "the queue is draining: no task is handed out", {}});
  }
  if (!task.row.keeps_permit && !has_free_permit(queue)) {
    causes.push_back({Cause::kConcurrency,
                      fmt::format("{} of {} permits of queue {} are in use", queue.permits,
                                  *queue.policy().concurrency, queue.name.view()),
                      {}});
  }
  add_pace(Cause::kInterval);
  add_pace(Cause::kRate);
  add_pace(Cause::kThrottled);
  if (!task.row.keeps_permit && line.permits >= line.due.max_running) {
    causes.push_back({Cause::kUserCap,
                      fmt::format("user {} runs {} tasks in queue {}, the most allowed",
                                  line.user.view(), line.permits, queue.name.view()),
                      {}});
  }
  const auto [tasks, users] = ahead(task);
  if (tasks + users > 0) {
    causes.push_back({Cause::kBehind,
                      fmt::format("{} and {} come first", counted(tasks, "task", "tasks"),
                                  counted(users, "user", "users")),
                      {}});
  }
  if (causes.empty() || queue.asked_at <= tables.now() - kWorkerSilence) {
    causes.push_back({Cause::kNoWorker,
                      fmt::format("no worker has asked queue {} for a task{}", queue.name.view(),
                                  causes.empty() ? " since it could run" : " in the last minute"),
                      {}});
  }
}

}  // namespace

Result<WhyReply> why(const Tables& tables, const Why& command) {
  const auto found = require(tables, command.id);
  if (!found) return tl::unexpected(found.error());
  const TaskNode& task = **found;
  WhyReply reply{task.row.state, {}};
  if ((task.row.state == State::kScheduled || task.row.state == State::kDeferred) &&
      tables.open_edges(task) > 0) {
    reply.causes.push_back({Cause::kDependency, dependencies(tables, task), {}});
  }
  if (task.row.state == State::kScheduled) {
    reply.causes.push_back(
        {Cause::kSchedule,
         task.run().attempts > 0 ? "tried again after a failure" : "not before its time",
         task.run().run_at});
  }
  if (task.row.state == State::kQueued) explain_queued(tables, task, reply.causes);
  return reply;
}

}  // namespace retsu::engine
