#include "engine/queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <queue>
#include <unordered_map>

#include "base/search.h"
#include "engine/cursor.h"
#include "engine/lifecycle.h"
#include "engine/times.h"

namespace retsu::engine {
namespace {}  // namespace

Task view(const Tables& tables, const TaskNode& task) {
  const TaskRow& row = task.row;
  const Options& options = task.options();
  const Run& run = task.run();
  Task made;
  made.id = row.id.str();
  made.state = row.state;
  made.retrying = row.state == State::kScheduled && run.attempts > 0;
  made.queue = task.queue().name.str();
  made.user = task.line().user.str();
  made.type = row.type.str();
  made.priority = {row.priority};
  made.payload = tables.payload(task);
  made.attempts = run.attempts;
  made.max_attempts = max_attempts(task);
  made.created_at = row.created_at;
  made.run_at = known(run.run_at);
  made.queued_at = known(row.queued_at);
  made.started_at = known(run.started_at);
  made.ended_at = known(run.ended_at);
  for (const EdgeRow& edge : tables.edges(task)) {
    made.depends_on.push_back({edge.target.str(), edge.when});
    if (!edge.met) made.blocked_by.push_back(edge.target.str());
  }
  made.on_dependency_failure = options.on_dependency_failure;
  made.on_dependency_cancel = options.on_dependency_cancel;
  made.unique_key = options.unique_key;
  made.placement = row.pushed_front ? Placement::kFront : Placement::kBack;
  made.timeout_ms = options.timeout_ms;
  made.retry = options.retry;
  made.expires_at = known(options.expires_at);
  made.tags = options.tags;
  made.trace = options.trace;
  made.claim_id = run.claim_id.str();
  made.worker = run.worker.str();
  if (run.fence > 0) made.fence = run.fence;
  if (row.state == State::kStarted) {
    made.lease_until = known(tables.find_claim(run.claim_id)->row.lease_until);
  }
  made.error = run.error;
  made.reason = run.reason;
  if (row.state == State::kFailed) made.retryable = run.retryable;
  made.result = run.result;
  made.progress = run.progress;
  if (run.history) made.history = *run.history;
  return made;
}

bool matches(const Tables& tables, const TaskNode& task, const Filter& filter) {
  const TaskRow& row = task.row;
  const Options& options = task.options();
  if (filter.state && row.state != *filter.state) return false;
  if (!filter.queue.empty() && task.queue().name.view() != filter.queue) return false;
  if (!filter.user.empty() && task.line().user.view() != filter.user) return false;
  if (!filter.type.empty() && row.type.view() != filter.type) return false;
  if (filter.since && row.created_at < *filter.since) return false;
  if (filter.until && row.created_at >= *filter.until) return false;
  if (!filter.unique_key.empty() && options.unique_key != filter.unique_key) return false;
  if (!filter.tag.empty() && std::ranges::find(options.tags, filter.tag) == options.tags.end()) {
    return false;
  }
  if (!filter.waits_for.empty()) {
    const TaskNode* target = resolve(tables, filter.waits_for);
    const EdgeRow* edge = tables.edge(task, target ? target->row.id.view() : filter.waits_for);
    if (edge == nullptr || edge->met) return false;
  }
  if (filter.q.empty()) return true;
  return json_has_part(tables.payload(task), filter.q) || has_part(task.run().error, filter.q) ||
         has_part(row.id, filter.q) || std::ranges::any_of(options.tags, [&](const auto& tag) {
           return has_part(tag, filter.q);
         });
}

namespace {

// Visits the tasks that may match.
template <class Visit>
void for_each_candidate(const Tables& tables, const Filter& filter, Visit visit) {
  if (filter.waits_for.empty()) return tables.tasks().for_each(visit);
  const TaskNode* target = resolve(tables, filter.waits_for);
  const Dependents* others =
      tables.dependents(target ? target->row.id.view() : std::string_view(filter.waits_for));
  if (others == nullptr) return;
  for (const TaskNode* task : others->open) visit(*task);
}

}  // namespace

std::vector<Task> view_matching(const Tables& tables, std::span<const std::string> ids,
                                const Filter& filter) {
  std::vector<Task> found;
  for (const std::string& id : ids) {
    const TaskNode* task = tables.find_task(id);
    if (task != nullptr && matches(tables, *task, filter)) found.push_back(view(tables, *task));
  }
  return found;
}

TaskPage list_tasks(const Tables& tables, const ListTasks& command) {
  const std::uint64_t before = read_cursor(command.cursor);
  // The newest ones, by a heap of the page's size: one pass, whatever the number of tasks.
  const auto newer = [](const TaskNode* a, const TaskNode* b) {
    return a->row.sequence > b->row.sequence;
  };
  std::priority_queue<const TaskNode*, std::vector<const TaskNode*>, decltype(newer)> newest(newer);
  const auto keep = static_cast<std::size_t>(command.limit) + 1;
  for_each_candidate(tables, command.filter, [&](const TaskNode& task) {
    if (before != 0 && task.row.sequence >= before) return;
    if (newest.size() == keep && task.row.sequence < newest.top()->row.sequence) return;
    if (!matches(tables, task, command.filter)) return;
    newest.push(&task);
    if (newest.size() > keep) newest.pop();
  });
  TaskPage page;
  const bool more = newest.size() == keep;
  if (more) newest.pop();
  std::vector<const TaskNode*> found;
  for (; !newest.empty(); newest.pop()) found.push_back(newest.top());
  if (more) page.next_cursor = std::to_string(found.front()->row.sequence);
  for (auto task = found.rbegin(); task != found.rend(); ++task) {
    page.tasks.push_back(view(tables, **task));
  }
  return page;
}

Result<GraphReply> graph(const Tables& tables, const Graph& command) {
  const auto start = require(tables, command.id);
  if (!start) return tl::unexpected(start.error());
  GraphReply reply;
  std::set<Text> seen = {(*start)->row.id};
  std::deque<Text> next = {(*start)->row.id};
  const auto visit = [&](const Text& id) {
    if (seen.contains(id)) return true;
    if (std::ssize(seen) >= tables.limits.graph_nodes) {
      reply.truncated = true;
      return false;
    }
    seen.insert(id);
    next.push_back(id);
    return true;
  };
  for (; !next.empty(); next.pop_front()) {
    const Text id = next.front();
    const TaskNode* task = tables.find_task(id);
    if (task == nullptr) {
      reply.nodes.push_back({id.str(), State::kQueued, {}, {}, {}, true});
    } else {
      reply.nodes.push_back({id.str(), task->row.state, task->queue().name.str(),
                             task->line().user.str(), task->row.type.str(), false});
      for (const EdgeRow& edge : tables.edges(*task)) {
        if (edge.gone || !visit(edge.target)) continue;
        reply.edges.push_back({edge.target.str(), id.str(), edge.when, edge.met.has_value()});
      }
    }
    if (const Dependents* others = tables.dependents(id)) {
      for (const auto* side : {&others->open, &others->met}) {
        for (const TaskNode* dependent : *side) visit(dependent->row.id);
      }
    }
  }
  return reply;
}

namespace {

std::vector<DeadGroup> group_dead(const Tables& tables, const ListDead& command) {
  std::map<std::pair<std::string, Reason>, std::pair<DeadGroup, Sequence>> groups;
  tables.tasks().for_each([&](const TaskNode& task) {
    if (task.row.state != State::kFailed || !matches(tables, task, command.filter)) return;
    const Run& run = task.run();
    auto& [group, newest] = groups[{run.error.str(), run.reason}];
    ++group.count;
    if (group.count > 1 &&
        std::tie(group.newest, newest) > std::tie(run.ended_at, task.row.sequence)) {
      return;
    }
    group.newest = run.ended_at;
    group.example = task.row.id.str();
    newest = task.row.sequence;
  });
  std::vector<DeadGroup> reply;
  for (auto& [key, entry] : groups) {
    entry.first.error = key.first;
    entry.first.reason = key.second;
    reply.push_back(std::move(entry.first));
  }
  std::ranges::stable_sort(reply, std::greater(), &DeadGroup::count);
  if (std::ssize(reply) > command.limit) reply.resize(static_cast<std::size_t>(command.limit));
  return reply;
}

}  // namespace

DeadPage list_dead(const Tables& tables, const ListDead& command) {
  if (command.group == DeadGroupBy::kError) return {{}, group_dead(tables, command), {}};
  const Filter& filter = command.filter;
  if (filter.state && filter.state != State::kFailed) return {};
  ListTasks list{filter, command.limit, command.cursor};
  list.filter.state = State::kFailed;
  TaskPage page = list_tasks(tables, list);
  return {std::move(page.tasks), std::nullopt, std::move(page.next_cursor)};
}

}  // namespace retsu::engine
