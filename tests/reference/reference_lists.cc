// Finding tasks by filter, changing many at once, and groups of dead letters.

#include <algorithm>

#include "base/search.h"
#include "reference/reference.h"

namespace retsu {

bool ReferenceQueue::matches(const TaskRecord& task, const Filter& filter) const {
  const auto has = [&](std::string_view text) { return has_part(text, filter.q); };
  const std::vector<std::string>& tags = task.pushed.tags;
  if (filter.state && task.state != *filter.state) return false;
  if (!filter.queue.empty() && task.queue() != filter.queue) return false;
  if (!filter.user.empty() && task.user() != filter.user) return false;
  if (!filter.type.empty() && task.pushed.type != filter.type) return false;
  if (!filter.unique_key.empty() && task.pushed.unique_key != filter.unique_key) return false;
  if (filter.since && task.created_at < *filter.since) return false;
  if (filter.until && task.created_at >= *filter.until) return false;
  if (!filter.tag.empty() && std::find(tags.begin(), tags.end(), filter.tag) == tags.end()) {
    return false;
  }
  if (!filter.waits_for.empty()) {
    const std::string wanted = resolve(filter.waits_for);
    const bool waits = std::any_of(task.edges.begin(), task.edges.end(), [&](const Edge& edge) {
      return !edge.met && edge.id == wanted;
    });
    if (!waits) return false;
  }
  return filter.q.empty() || json_has_part(task.pushed.payload, filter.q) || has(task.error) ||
         has(task.id()) || std::any_of(tags.begin(), tags.end(), has);
}

Result<TaskPage> ReferenceQueue::run(const ListTasks& list) {
  TaskPage page;
  for (auto each = tasks_.rbegin(); each != tasks_.rend(); ++each) {
    const auto& [sequence, task] = *each;
    if (!list.cursor.empty() && sequence >= std::stoll(list.cursor)) continue;
    if (!matches(task, list.filter)) continue;
    if (std::ssize(page.tasks) == list.limit) {
      page.next_cursor = std::to_string(find(page.tasks.back().id)->sequence);
      break;
    }
    page.tasks.push_back(view(task));
  }
  return page;
}

// Changes those that match and fit, in the order of their arrival; each only if it still fits then.
template <class Bulk>
Result<BulkReply> ReferenceQueue::bulk(const Bulk& request,
                                       const std::function<bool(const TaskRecord&)>& fits,
                                       const std::function<bool(TaskRecord&)>& change) {
  std::vector<std::int64_t> matching;
  for (const auto& [sequence, task] : tasks_) {
    if (fits(task) && matches(task, request.filter)) matching.push_back(sequence);
  }
  BulkReply reply{std::ssize(matching), 0};
  if (request.expect && *request.expect != reply.matched) {
    return refuse(ErrorCode::kConflict, "another number of tasks matches");
  }
  if (request.dry_run) return reply;
  for (const std::int64_t sequence : matching) {
    const auto task = tasks_.find(sequence);
    if (task != tasks_.end() && fits(task->second) && change(task->second)) ++reply.changed;
  }
  return reply;
}

Result<BulkReply> ReferenceQueue::run(const CancelTasks& request) {
  return bulk(
      request, [](const TaskRecord& task) { return is_live(task.state); },
      [this](TaskRecord& task) {
        cancel(task, Event::kCancel, Reason::kCanceled);
        return true;
      });
}

Result<BulkReply> ReferenceQueue::run(const RetryTasks& request) {
  return bulk(
      request,
      [](const TaskRecord& task) {
        return task.state == State::kFailed || task.state == State::kCanceled;
      },
      [this](TaskRecord& task) { return redrive(task).has_value(); });
}

Result<BulkReply> ReferenceQueue::run(const RedriveDead& request) {
  return bulk(
      request, [](const TaskRecord& task) { return task.state == State::kFailed; },
      [this](TaskRecord& task) { return redrive(task).has_value(); });
}

Result<BulkReply> ReferenceQueue::run(const PurgeDead& request) {
  return bulk(
      request, [](const TaskRecord& task) { return task.state == State::kFailed; },
      [this](TaskRecord& task) {
        if (is_needed(task)) return false;
        remove(task.sequence);
        return true;
      });
}

Result<BulkReply> ReferenceQueue::run(const PurgeQueue& request) {
  if (!queues_.contains(request.queue)) return refuse(ErrorCode::kNotFound, "no such queue");
  CancelTasks cancel_all;
  cancel_all.filter.queue = request.queue;
  return bulk(
      cancel_all, [](const TaskRecord& task) { return is_waiting(task.state); },
      [this](TaskRecord& task) {
        cancel(task, Event::kCancel, Reason::kCanceled);
        return true;
      });
}

Result<DeadPage> ReferenceQueue::run(const ListDead& request) {
  DeadPage page;
  if (request.group == DeadGroupBy::kNothing) {
    ListTasks list{request.filter, request.limit, request.cursor};
    if (list.filter.state.value_or(State::kFailed) != State::kFailed) return page;
    list.filter.state = State::kFailed;
    const TaskPage tasks = *run(list);
    page.tasks = tasks.tasks;
    page.next_cursor = tasks.next_cursor;
    return page;
  }
  std::map<std::pair<std::string, Reason>, std::vector<const TaskRecord*>> groups;
  for (const auto& [sequence, task] : tasks_) {
    if (task.state != State::kFailed || !matches(task, request.filter)) continue;
    groups[{task.error.str(), task.reason}].push_back(&task);
  }
  page.groups.emplace();
  for (const auto& [name, tasks] : groups) {
    const TaskRecord* newest = *std::max_element(
        tasks.begin(), tasks.end(),
        [](const TaskRecord* a, const TaskRecord* b) { return a->ended_at <= b->ended_at; });
    page.groups->push_back(
        {name.first, name.second, std::ssize(tasks), *newest->ended_at, newest->id()});
  }
  std::stable_sort(page.groups->begin(), page.groups->end(),
                   [](const DeadGroup& a, const DeadGroup& b) { return a.count > b.count; });
  if (std::ssize(*page.groups) > request.limit) {
    page.groups->resize(static_cast<std::size_t>(request.limit));
  }
  return page;
}

Result<GraphReply> ReferenceQueue::run(const Graph& request) {
  const TaskRecord* center = find(request.id);
  if (!center) return refuse(ErrorCode::kNotFound, "no such task");
  GraphReply reply;
  std::deque<std::string> front{center->id()};
  std::set<std::string> seen{center->id()};
  const auto visit = [&](const std::string& id) {
    if (seen.insert(id).second) front.push_back(id);
  };
  while (!front.empty()) {
    if (std::ssize(reply.nodes) == limits_.graph_nodes) {
      reply.truncated = true;
      break;
    }
    const std::string id = front.front();
    front.pop_front();
    const TaskRecord* here = find(id);
    if (here) {
      reply.nodes.push_back(
          {id, here->state, here->queue(), here->user(), here->pushed.type, false});
      for (const Edge& edge : here->edges) {
        if (!is_gone(edge)) visit(edge.id);
      }
    } else {
      reply.nodes.push_back({id, State::kQueued, "", "", "", true});
    }
    for (const auto& [sequence, task] : tasks_) {
      for (const Edge& edge : task.edges) {
        if (edge.id == id && !is_gone(edge)) visit(task.id());
      }
    }
  }
  const auto is_shown = [&](const std::string& id) {
    return std::any_of(reply.nodes.begin(), reply.nodes.end(),
                       [&](const GraphNode& node) { return node.id == id; });
  };
  for (const auto& [sequence, task] : tasks_) {
    for (const Edge& edge : task.edges) {
      if (is_gone(edge) || !is_shown(edge.id) || !is_shown(task.id())) continue;
      reply.edges.push_back({edge.id, task.id(), edge.when, edge.met});
    }
  }
  return reply;
}

}  // namespace retsu
