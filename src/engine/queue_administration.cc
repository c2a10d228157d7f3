#include <fmt/format.h>

#include <algorithm>

#include "engine/administration.h"
#include "engine/lifecycle.h"
#include "engine/pace.h"
#include "engine/push.h"
#include "model/json.h"

namespace retsu::engine {
namespace {

Error no_queue(std::string_view name) {
  return {ErrorCode::kNotFound, fmt::format("there is no queue {}", name)};
}

std::map<std::string, std::int64_t> by_state(const std::array<std::int64_t, kStates>& counts) {
  std::map<std::string, std::int64_t> made;
  for (const auto& [name, state] : names_of(std::type_identity<State>{})) {
    made.emplace(name, counts[static_cast<std::size_t>(state)]);
  }
  return made;
}

void add_counters(std::map<std::string, std::int64_t>& sums, const Counters& counters) {
  for (const auto& [name, counter] : names_of(std::type_identity<Counter>{})) {
    sums[std::string(name)] += counters[static_cast<std::size_t>(counter)];
  }
}

// Of the minute that has just passed; of the present one until there is such a minute.
std::map<std::string, std::int64_t> per_minute(const Queue& queue, TimePoint now) {
  std::map<std::string, std::int64_t> made;
  const std::int64_t age = now.time_since_epoch() / Millis(kMinute) - queue.row.minute;
  for (std::size_t i = 0; i < kPerMinute; ++i) {
    std::int64_t count = 0;
    if (age == 0) count = std::max(queue.row.last_minute[i], queue.row.this_minute[i]);
    if (age == 1) count = queue.row.this_minute[i];
    made.emplace(name_of(kMinuteCounters[i]), count);
  }
  return made;
}

QueueInfo info(const Tables& tables, const Queue& queue) {
  QueueInfo made;
  made.queue = queue.name.str();
  made.policy = queue.policy();
  made.tasks = by_state(queue.tasks);
  made.running = queue.permits;
  made.waiting_bytes = queue.waiting_bytes;
  made.users = std::ssize(queue.ring);
  if (!queue.queued_seconds.empty()) {
    const TimePoint oldest(Millis(queue.queued_seconds.begin()->first * kSecond));
    made.oldest_age_ms = (tables.now() - oldest).count() / kSecond * kSecond;
  }
  if (queue.row.hold_until > tables.now()) made.hold_until = queue.row.hold_until;
  made.per_minute = per_minute(queue, tables.now());
  add_counters(made.counters, queue.row.counters);
  return made;
}

std::vector<Queue*> sorted_queues(const Tables& tables) {
  std::vector<Queue*> sorted;
  for (const auto& [name, queue] : tables.queues()) {
    if (queue->row.exists) sorted.push_back(queue.get());
  }
  std::ranges::sort(sorted, {}, [](const Queue* queue) { return queue->name.view(); });
  return sorted;
}

UserInfo user_info(const Line& line) {
  UserInfo made;
  made.user = line.user.str();
  made.queue = line.queue->name.str();
  made.weight = line.due.weight;
  const auto limit = [](std::int64_t value) {
    return value == INT64_MAX ? std::nullopt : std::optional(value);
  };
  made.max_running = limit(line.due.max_running);
  made.max_waiting = limit(line.due.max_waiting);
  made.max_waiting_bytes = limit(line.due.max_waiting_bytes);
  made.waiting = line.waiting;
  made.queued = line.queued;
  made.waiting_bytes = line.waiting_bytes;
  made.running = line.permits;
  made.started = line.row.started;
  made.wait_p50_ms = line.row.waits.quantile(0.5);
  made.wait_p95_ms = line.row.waits.quantile(0.95);
  return made;
}

}  // namespace

Result<QueueInfo> get_queue(const Tables& tables, const GetQueue& command) {
  const Queue* queue = tables.find_queue(command.queue);
  if (queue == nullptr) return tl::unexpected(no_queue(command.queue));
  return info(tables, *queue);
}

QueueList list_queues(const Tables& tables, const ListQueues& command) {
  QueueList list;
  for (const Queue* queue : sorted_queues(tables)) {
    if (queue->name.view() <= command.cursor) continue;
    if (std::ssize(list.queues) == command.limit) {
      list.next_cursor = list.queues.back().queue;
      break;
    }
    list.queues.push_back(info(tables, *queue));
  }
  return list;
}

Result<QueueInfo> put_queue(Tables& tables, std::string_view name, QueuePolicy policy) {
  Queue& queue = tables.queue(name);
  if (auto made = make_queue(tables, queue); !made) return tl::unexpected(std::move(made.error()));
  set_policy(tables, queue, std::move(policy));
  return info(tables, queue);
}

Result<QueueInfo> patch_queue(Tables& tables, const PatchQueue& command) {
  auto policy = patched(tables.queue(command.queue).policy(), command.patch);
  if (!policy) return tl::unexpected(std::move(policy.error()));
  return put_queue(tables, command.queue, std::move(*policy));
}

Result<QueueInfo> set_paused(Tables& tables, std::string_view name, bool paused) {
  QueuePolicy policy = tables.queue(name).policy();
  policy.paused = paused;
  return put_queue(tables, name, std::move(policy));
}

Result<Removed> delete_queue(Tables& tables, const DeleteQueue& command) {
  Queue* queue = tables.find_queue(command.queue);
  if (queue == nullptr) return tl::unexpected(no_queue(command.queue));
  const std::int64_t live = queue->waiting() + queue->tasks[static_cast<int>(State::kStarted)];
  if (live > 0) {
    return refuse(ErrorCode::kConflict,
                  fmt::format("queue {} has {} tasks that wait or run: finish or purge them first",
                              command.queue, live));
  }
  if (queue->permits > 0) {
    return refuse(ErrorCode::kConflict,
                  fmt::format("{} tasks of queue {} were canceled or timed out, but their workers "
                              "may still run them: release their claims first",
                              queue->permits, command.queue));
  }
  std::vector<TaskNode*> ended;
  tables.tasks().for_each([&](TaskNode& task) {
    if (&task.queue() == queue) ended.push_back(&task);
  });
  std::ranges::sort(ended, OlderSequence());
  for (TaskNode* task : ended) {
    if (is_needed(tables, *task)) {
      return refuse(ErrorCode::kConflict,
                    fmt::format("a task still needs the result of task {} in queue {}",
                                task->row.id.view(), command.queue));
    }
  }
  for (TaskNode* task : ended) remove(tables, *task);
  // What has happened has happened, in whichever queue.
  const auto& before = tables.meta().former;
  auto former = before ? std::make_shared<Counters>(*before) : std::make_shared<Counters>();
  std::ranges::transform(*former, queue->row.counters, former->begin(), std::plus());
  tables.edit_meta().former = std::move(former);
  tables.set_policy(*queue, nullptr);
  tables.edit(*queue) = QueueRow{};
  queue->asked_at = TimePoint::min();
  return Removed{1};
}

UserList list_users(const Tables& tables, const ListUsers& command) {
  UserList list;
  // A cursor is QUEUE/USER of the last one shown; no name has a slash.
  const std::string_view cursor = command.cursor;
  const std::size_t slash = std::min(cursor.find('/'), cursor.size());
  const std::pair after(cursor.substr(0, slash), cursor.substr(std::min(slash + 1, cursor.size())));
  for (const Queue* queue : sorted_queues(tables)) {
    if (!command.queue.empty() && queue->name.view() != command.queue) continue;
    std::vector<const Line*> lines;
    std::int64_t started = 0;
    std::int64_t weights = 0;
    for (const auto& [user, line] : queue->lines) {
      if (line->stored == 0) continue;
      lines.push_back(line);
      started += line->row.started;
      weights += line->due.weight;
    }
    std::ranges::sort(lines, {}, [](const Line* line) { return line->user.view(); });
    for (const Line* line : lines) {
      if (std::pair(queue->name.view(), line->user.view()) <= after) continue;
      if (std::ssize(list.users) == command.limit) {
        list.next_cursor = fmt::format("{}/{}", list.users.back().queue, list.users.back().user);
        return list;
      }
      UserInfo info = user_info(*line);
      if (started > 0)
        info.share_got = static_cast<double>(info.started) / static_cast<double>(started);
      info.share_due = static_cast<double>(info.weight) / static_cast<double>(weights);
      list.users.push_back(std::move(info));
    }
  }
  return list;
}

PutUserReply put_user(Tables& tables, const PutUser& command) {
  tables.set_settings({command.queue, command.user, command.settings});
  return {command.user, command.queue, command.settings};
}

StatsReply stats(const Tables& tables) {
  StatsReply reply;
  reply.now = tables.now();
  reply.draining = tables.meta().draining;
  std::array<std::int64_t, kStates> states{};
  for (int i = 0; i < kStates; ++i) {
    states[static_cast<std::size_t>(i)] = tables.tasks_in(static_cast<State>(i));
  }
  reply.tasks = by_state(states);
  if (tables.meta().former) add_counters(reply.counters, *tables.meta().former);
  for (const auto& [name, queue] : tables.queues()) {
    if (!queue->row.exists) continue;
    ++reply.queues;
    add_counters(reply.counters, queue->row.counters);
    for (const auto& [user, line] : queue->lines) reply.users += line->stored > 0 ? 1 : 0;
  }
  reply.claims = std::ssize(tables.claims()) - std::ssize(tables.closed_claims());
  reply.schedules = std::ssize(tables.schedules());
  reply.xcom = std::ssize(tables.xcom());
  reply.edges = tables.all_open_edges();
  reply.remembered_ids = tables.remembered_ids();
  reply.idempotency_keys = std::ssize(tables.keys());
  return reply;
}

DrainReply set_draining(Tables& tables, bool draining) {
  tables.edit_meta().draining = draining;
  return {draining, tables.tasks_in(State::kStarted)};
}

}  // namespace retsu::engine
