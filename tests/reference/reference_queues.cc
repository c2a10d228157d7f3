// Queues, users, shared values and the whole.

#include <algorithm>

#include "model/json.h"
#include "reference/reference.h"

namespace retsu {
namespace {

std::map<std::string, std::int64_t> named(const reference::Counts& counts) {
  std::map<std::string, std::int64_t> all;
  for (const auto& row : names_of(std::type_identity<Counter>{})) {
    const auto found = counts.find(row.value);
    all[std::string(row.name)] = found == counts.end() ? 0 : found->second;
  }
  return all;
}

// The smallest value that so many per cent do not exceed.
std::optional<std::int64_t> percentile(std::vector<std::int64_t> values, std::int64_t percent) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::int64_t rank = (std::ssize(values) * percent + 99) / 100;
  return values[static_cast<std::size_t>(rank - 1)];
}

// A page of a map, in the order of its keys, the cursor being the last key shown.
template <class Map, class Show>
std::optional<std::string> page_of(const Map& map, const std::string& cursor, std::int64_t limit,
                                   Show show) {
  std::string last;
  std::int64_t shown = 0;
  for (const auto& [key, value] : map) {
    if (!cursor.empty() && key <= cursor) continue;
    if (shown == limit) return last;
    show(value);
    last = key;
    ++shown;
  }
  return std::nullopt;
}

}  // namespace

ReferenceQueue::QueueRecord& ReferenceQueue::queue_made(const std::string& name) {
  const auto [queue, made] = queues_.try_emplace(name);
  if (made) set_policy(queue->second, {});
  return queue->second;
}

QueueInfo ReferenceQueue::info_of(const std::string& name) const {
  const QueueRecord& queue = queues_.at(name);
  QueueInfo info;
  info.queue = name;
  info.policy = queue.policy;
  for (const auto& row : names_of(std::type_identity<State>{}))
    info.tasks[std::string(row.name)] = 0;
  std::optional<TimePoint> oldest;
  for (const auto& [sequence, task] : tasks_) {
    if (task.queue() != name) continue;
    ++info.tasks[std::string(name_of(task.state))];
    if (is_waiting(task.state)) info.waiting_bytes += task.payload_bytes();
    if (task.state == State::kQueued) oldest = std::min(oldest.value_or(now_), *task.queued_at);
  }
  if (oldest) {
    using std::chrono::floor, std::chrono::seconds;
    info.oldest_age_ms = Millis{floor<seconds>(now_) - floor<seconds>(*oldest)}.count();
  }
  info.running = permits_of(name).all();
  for (const auto& [line_name, line] : lines_) {
    if (line_name.first == name && line.place) ++info.users;
  }
  if (queue.hold_until && *queue.hold_until > now_) info.hold_until = queue.hold_until;
  info.counters = named(queue.counts);
  return info;
}

Result<QueueList> ReferenceQueue::run(const ListQueues& list) {
  std::map<std::string, std::string> names;
  for (const auto& [name, queue] : queues_) names[name] = name;
  QueueList reply;
  reply.next_cursor = page_of(names, list.cursor, list.limit, [&](const std::string& name) {
    reply.queues.push_back(info_of(name));
  });
  return reply;
}

Result<QueueInfo> ReferenceQueue::run(const GetQueue& get) {
  if (!queues_.contains(get.queue)) return refuse(ErrorCode::kNotFound, "no such queue");
  return info_of(get.queue);
}

Result<QueueInfo> ReferenceQueue::run(const PutQueue& put) {
  if (!queues_.contains(put.queue) && std::ssize(queues_) >= limits_.queues) {
    return refuse(ErrorCode::kOverloaded, "too many queues");
  }
  set_policy(queue_made(put.queue), put.policy);
  for (const State state : {State::kFinished, State::kFailed, State::kCanceled}) {
    touched_.insert({put.queue, state});
  }
  return info_of(put.queue);
}

Result<QueueInfo> ReferenceQueue::run(const PatchQueue& patch) {
  const auto queue = queues_.find(patch.queue);
  const QueuePolicy before = queue == queues_.end() ? QueuePolicy{} : queue->second.policy;
  const Result<QueuePolicy> after = patched(before, patch.patch);
  if (!after) return tl::unexpected(after.error());
  return run(PutQueue{patch.queue, *after});
}

Result<QueueInfo> ReferenceQueue::run(const PauseQueue& pause) {
  const auto queue = queues_.find(pause.queue);
  QueuePolicy policy = queue == queues_.end() ? QueuePolicy{} : queue->second.policy;
  policy.paused = true;
  return run(PutQueue{pause.queue, policy});
}

Result<QueueInfo> ReferenceQueue::run(const ResumeQueue& resume) {
  const auto queue = queues_.find(resume.queue);
  QueuePolicy policy = queue == queues_.end() ? QueuePolicy{} : queue->second.policy;
  policy.paused = false;
  return run(PutQueue{resume.queue, policy});
}

Result<Removed> ReferenceQueue::run(const DeleteQueue& request) {
  if (!queues_.contains(request.queue)) return refuse(ErrorCode::kNotFound, "no such queue");
  std::vector<std::int64_t> ended;
  for (const auto& [sequence, task] : tasks_) {
    if (task.queue() != request.queue) continue;
    if (is_live(task.state)) return refuse(ErrorCode::kConflict, "it has live tasks");
    if (is_needed(task)) return refuse(ErrorCode::kConflict, "a live task needs a result of it");
    ended.push_back(sequence);
  }
  if (permits_of(request.queue).all() > 0) return refuse(ErrorCode::kConflict, "it has ghosts");
  for (const std::int64_t sequence : ended) remove(sequence);
  queues_.erase(request.queue);
  return Removed{1};
}

Result<UserList> ReferenceQueue::run(const ListUsers& list) {
  std::map<std::string, std::int64_t> starts;
  std::map<std::string, std::int64_t> weights;
  for (const auto& [name, line] : lines_) {
    starts[name.first] += line.started;
    weights[name.first] += settings_of(name).weight.value_or(1);
  }
  std::map<std::string, UserInfo> users;
  for (const auto& [name, line] : lines_) {
    const auto& [queue, user] = name;
    if (!list.queue.empty() && queue != list.queue) continue;
    const UserSettings settings = settings_of(name);
    UserInfo info;
    info.user = user;
    info.queue = queue;
    info.weight = settings.weight.value_or(1);
    info.max_running = settings.max_running;
    info.max_waiting = settings.max_waiting;
    info.max_waiting_bytes = settings.max_waiting_bytes;
    for (const auto& [sequence, task] : tasks_) {
      if (task.queue() != queue || task.user() != user || !is_waiting(task.state)) continue;
      ++info.waiting;
      info.waiting_bytes += task.payload_bytes();
      if (task.state == State::kQueued) ++info.queued;
    }
    info.running = permits_of(queue, &user).all();
    info.started = line.started;
    if (starts[queue] > 0) {
      info.share_got = static_cast<double>(line.started) / static_cast<double>(starts[queue]);
    }
    info.share_due = static_cast<double>(info.weight) / static_cast<double>(weights[queue]);
    info.wait_p50_ms = percentile(line.waited_ms, 50);
    info.wait_p95_ms = percentile(line.waited_ms, 95);
    users[queue + " " + user] = info;
  }
  UserList reply;
  reply.next_cursor = page_of(users, list.cursor, list.limit,
                              [&](const UserInfo& info) { reply.users.push_back(info); });
  return reply;
}

Result<PutUserReply> ReferenceQueue::run(const PutUser& put) {
  settings_[{put.queue, put.user}] = put.settings;
  for (const auto& [name, queue] : queues_) refresh_line({name, put.user});
  return PutUserReply{put.user, put.queue, put.settings};
}

Result<XcomValue> ReferenceQueue::run(const GetXcom& get) {
  const auto value = xcom_.find(get.key);
  if (value == xcom_.end()) return refuse(ErrorCode::kNotFound, "no such key");
  return value->second;
}

Result<XcomValue> ReferenceQueue::run(const PutXcom& put) {
  if (!xcom_.contains(put.key) && std::ssize(xcom_) >= limits_.xcom_entries) {
    return refuse(ErrorCode::kOverloaded, "too many values");
  }
  return xcom_[put.key] = {put.key, put.value, now_ + Millis{put.ttl_ms}};
}

Result<Removed> ReferenceQueue::run(const DeleteXcom& request) {
  if (xcom_.erase(request.key) == 0) return refuse(ErrorCode::kNotFound, "no such key");
  return Removed{1};
}

Result<StatsReply> ReferenceQueue::run(const Stats&) {
  StatsReply reply;
  reply.now = now_;
  reply.draining = draining_;
  for (const auto& row : names_of(std::type_identity<State>{}))
    reply.tasks[std::string(row.name)] = 0;
  for (const auto& [sequence, task] : tasks_) {
    ++reply.tasks[std::string(name_of(task.state))];
    for (const Edge& edge : task.edges) reply.edges += edge.met ? 0 : 1;
  }
  reply.counters = named(counts_);
  reply.queues = std::ssize(queues_);
  reply.users = std::ssize(lines_);
  for (const auto& [id, claim] : claims_) reply.claims += claim.closed_at ? 0 : 1;
  reply.schedules = std::ssize(schedules_);
  reply.xcom = std::ssize(xcom_);
  reply.remembered_ids = remembered_ids();
  reply.idempotency_keys = std::ssize(keys_);
  return reply;
}

Result<DrainReply> ReferenceQueue::run(const StartDrain&) {
  draining_ = true;
  DrainReply reply{true, 0};
  for (const auto& [sequence, task] : tasks_) reply.running += task.state == State::kStarted;
  return reply;
}

Result<DrainReply> ReferenceQueue::run(const EndDrain&) {
  draining_ = false;
  advance(now_);
  DrainReply reply{false, 0};
  for (const auto& [sequence, task] : tasks_) reply.running += task.state == State::kStarted;
  return reply;
}

}  // namespace retsu
