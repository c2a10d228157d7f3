#include "engine/push.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "engine/dependencies.h"
#include "engine/times.h"

namespace retsu::engine {
namespace {

const Options kDefaults;

// As most are.
bool has_no_wishes(const NewTask& task) {
  return task.unique_key.empty() && !task.timeout_ms && !task.max_attempts && !task.retry &&
         !task.expires_at && task.tags.empty() && task.trace.empty() &&
         task.on_dependency_failure == kDefaults.on_dependency_failure &&
         task.on_dependency_cancel == kDefaults.on_dependency_cancel;
}

boost::intrusive_ptr<const Options> options_of(const NewTask& task) {
  if (has_no_wishes(task)) return nullptr;
  boost::intrusive_ptr<Options> made(new Options);
  made->unique_key = task.unique_key;
  made->timeout_ms = task.timeout_ms;
  made->max_attempts = task.max_attempts;
  made->retry = task.retry;
  made->expires_at = task.expires_at.value_or(kNever);
  made->tags = task.tags;
  made->trace = task.trace;
  made->on_dependency_failure = task.on_dependency_failure;
  made->on_dependency_cancel = task.on_dependency_cancel;
  return made;
}

Error overloaded(std::string message) {
  return {ErrorCode::kOverloaded, std::move(message), {}, Millis(kSecond)};
}

Status check_room(const Tables& tables, const Queue& queue, const Line& line, const NewTask& task) {
  const Limits& limits = tables.limits;
  const auto bytes = static_cast<std::int64_t>(task.payload.size());
  const auto full = [](std::string message) {
    return tl::unexpected(overloaded(std::move(message)));
  };
  if (queue.waiting() >= limits.queue_tasks) {
    return full(fmt::format("queue {} is full: {} tasks wait", queue.name.view(), queue.waiting()));
  }
  if (queue.waiting_bytes + bytes > limits.queue_bytes) {
    return full(
        fmt::format("queue {} is full: {} bytes wait", queue.name.view(), queue.waiting_bytes));
  }
  if (line.waiting >= line.due.max_waiting) {
    return full(fmt::format("user {} has {} tasks waiting in queue {}, the most allowed",
                            line.user.view(), line.waiting, queue.name.view()));
  }
  if (line.waiting_bytes + bytes > line.due.max_waiting_bytes) {
    return full(
        fmt::format("user {} has {} bytes waiting in queue {}; with this task it would be more "
                    "than allowed",
                    line.user.view(), line.waiting_bytes, queue.name.view()));
  }
  return {};
}

Status check_memory(const Tables& tables, const NewTask& task) {
  if (task.id_generated || tables.remembered_ids() < tables.limits.remembered_ids) return {};
  return tl::unexpected(overloaded("too many ids are remembered: push without an id, or wait"));
}

// A reference as it will be stored, and what the target's end, if it has ended, means already.
struct Link {
  EdgeRow edge;
  Effect effect = Effect::kOpen;
};

Result<std::vector<Link>> link(const Tables& tables, const NewTask& task, const Options& options,
                               const IdSet& others) {
  std::vector<Link> links;
  for (const Dependency& dependency : task.depends_on) {
    const Text* holder = tables.alias(dependency.id);
    const Text target = holder != nullptr ? *holder : Text(dependency.id);
    const auto same =
        std::ranges::find_if(links, [&](const Link& link) { return link.edge.target == target; });
    Link made{{Text(task.id), 0, target, 0, dependency.when, {}, false}, Effect::kOpen};
    if (same != links.end() &&
        (dependency.when == When::kSettled || same->edge.when == When::kFinished)) {
      continue;
    }
    std::optional<State> ended;
    if (const TaskNode* found = tables.find_task(target)) {
      ended = found->row.state;
      made.effect = effect_of(dependency.when, options, *ended, false);
    } else if (const TombstoneRow* grave = tables.tombstone(target)) {
      ended = grave->state;
      made.edge.gone = true;
      made.effect = effect_of(dependency.when, options, *ended, true);
    } else if (task.allow_missing || others.contains(target.view()) || target.view() == task.id) {
      made.edge.missing = true;
    } else {
      return refuse(
          ErrorCode::kUnknownDependency,
          fmt::format("task {} depends on {}, which does not exist: push that first, or say "
                      "allow_missing",
                      task.id, dependency.id),
          fmt::format(R"({{"id":"{}","depends_on":"{}"}})", task.id, dependency.id));
    }
    if (made.effect == Effect::kMet) made.edge.met = ended;
    if (same != links.end()) {
      *same = std::move(made);
    } else {
      links.push_back(std::move(made));
    }
  }
  return links;
}

// How the task ends at once, because of how its dependencies have ended; kMet: it does not.
Effect verdict_of(const std::vector<Link>& links) {
  const auto found = std::ranges::find_if(links, [](const Link& link) {
    return link.effect == Effect::kCancel || link.effect == Effect::kFail;
  });
  return found == links.end() ? Effect::kMet : found->effect;
}

bool is_awaited(const Tables& tables, std::string_view id) {
  const Dependents* others = tables.dependents(id);
  return others != nullptr && !others->open.empty();
}

// The push adds nothing: its unique key is held. Its id stands for the holder from now on.
Result<Pushed> absorb(Tables& tables, TaskNode& holder, const NewTask& task, std::int64_t front) {
  const Text id(task.id);
  if (const Dependents* others = tables.dependents(id)) {
    const std::vector<TaskNode*> waiting(others->open.begin(), others->open.end());
    for (TaskNode* dependent : waiting) {
      if (auto way = find_way(tables, {holder.row.id}, dependent->row.id)) {
        return tl::unexpected(cycle_error(dependent->row.id, *way));
      }
      const EdgeRow edge = *tables.edge(*dependent, id);
      if (const EdgeRow* found = tables.edge(*dependent, holder.row.id)) {
        const EdgeRow same = *found;
        tables.drop_edge(edge);
        if (edge.when == When::kFinished && same.when != When::kFinished) {
          EdgeRow stricter = same;
          stricter.when = When::kFinished;
          tables.change_edge(same, std::move(stricter));
        }
      } else {
        EdgeRow moved = edge;
        moved.target = holder.row.id;
        moved.missing = false;
        tables.change_edge(edge, std::move(moved));
      }
    }
    if (is_ended(holder.row.state)) begin_cascade(tables, holder, false);
  }
  if (!task.id_generated) tables.set_alias({id, holder.row.id});
  if (task.placement == Placement::kFront && is_waiting(holder.row.state)) {
    bring_to_front(tables, holder, front);
  }
  tables.count(holder.queue(), Counter::kAbsorbed);
  return Pushed{holder.row.id.str(), holder.row.state, false, {}};
}

TaskNode& create(Tables& tables, boost::intrusive_ptr<Line> line, const NewTask& task,
                 std::vector<Link> links, boost::intrusive_ptr<const Options> options,
                 std::int64_t front) {
  Queue& queue = *line->queue;
  const bool later = task.run_at && *task.run_at > tables.now();
  TaskRow row;
  row.sequence = ++tables.edit_meta().sequence;
  row.id = Text(task.id);
  row.line = std::move(line);
  row.options = std::move(options);
  row.payload = task.payload;
  row.created_at = tables.now();
  row.type = tables.shared_type(task.type);
  row.priority = static_cast<std::uint8_t>(task.priority.value);
  row.pushed_front = task.placement == Placement::kFront;
  row.to_front = row.pushed_front;
  row.id_generated = task.id_generated;
  // A task that may run at once is made in one step: it is what most are.
  const bool waits = std::ranges::any_of(links, [](const Link& link) {
    return link.effect != Effect::kMet && link.effect != Effect::kDrop;
  });
  if (later) {
    Run& run = edit_run(row);
    run.run_at = *task.run_at;
    row.state = State::kScheduled;
    row.key = ms(run.run_at);
  } else if (waits) {
    row.state = State::kDeferred;
  } else {
    place_in_line(tables, row, row.to_front ? FrontKey(front) : FrontKey());
  }
  TaskNode& made = tables.add_task(std::move(row));
  tables.count(queue, Counter::kPushed);

  const Effect verdict = verdict_of(links);
  for (Link& link : links) {
    if (link.effect == Effect::kOpen || link.effect == Effect::kMet) {
      tables.add_edge(std::move(link.edge));
    }
  }
  if (verdict == Effect::kCancel) {
    cancel(tables, made, Event::kDependencyEnded, Reason::kDependency);
  } else if (verdict == Effect::kFail) {
    fail(tables, made, Event::kDependencyRemoved, Reason::kDependencyFailed,
         "a dependency failed and is gone");
  }
  return made;
}

// Those that waited for the id to be pushed wait for the task from now on.
void welcome(Tables& tables, const Text& id) {
  const Dependents* others = tables.dependents(id);
  if (others == nullptr) return;
  for (TaskNode* dependent : std::vector<TaskNode*>(others->open.begin(), others->open.end())) {
    const EdgeRow edge = *tables.edge(*dependent, id);
    if (!edge.missing) continue;
    EdgeRow found = edge;
    found.missing = false;
    tables.change_edge(edge, std::move(found));
  }
}

}  // namespace

Status make_queue(Tables& tables, Queue& queue) {
  if (queue.row.exists) return {};
  const auto existing = std::ranges::count_if(
      tables.queues(), [](const auto& entry) { return entry.second->row.exists; });
  if (existing >= tables.limits.queues) {
    return tl::unexpected(
        overloaded(fmt::format("there are {} queues, the most allowed", existing)));
  }
  tables.edit(queue).exists = true;
  return {};
}

Result<Pushed> push_one(Tables& tables, const NewTask& task, Admission admission,
                        std::int64_t front, const IdSet& others) {
  if (TaskNode* existing = resolve(tables, task.id)) {
    tables.count(existing->queue(), Counter::kAbsorbed);
    return Pushed{existing->row.id.str(), existing->row.state, false, {}};
  }
  const Text* target = tables.alias(task.id);
  if (const TombstoneRow* grave = tables.tombstone(target ? target->view() : task.id)) {
    return Pushed{grave->id.str(), grave->state, false, {}};
  }
  if (task.expires_at && *task.expires_at <= tables.now()) {
    return refuse(ErrorCode::kInvalid, fmt::format("task {} expires before it could run", task.id));
  }

  Queue& queue = tables.queue(task.queue);
  if (!task.unique_key.empty()) {
    if (TaskNode* holder = tables.unique_holder(queue, task.unique_key)) {
      if (auto room = check_memory(tables, task); !room && admission == Admission::kLimited) {
        return tl::unexpected(std::move(room.error()));
      }
      return absorb(tables, *holder, task, front);
    }
  }
  boost::intrusive_ptr<const Options> options = options_of(task);
  auto links = link(tables, task, options ? *options : kDefaults, others);
  if (!links) return tl::unexpected(std::move(links.error()));

  // Only a task that somebody waits for can close a cycle; one that is canceled at once waits for
  // nothing.
  std::vector<Text> open;
  const bool waits = verdict_of(*links) != Effect::kCancel;
  for (const Link& link : *links) {
    if (waits && link.effect == Effect::kOpen) {
      open.push_back(link.edge.target);
    }
  }
  const bool waits_for_itself = std::ranges::find(open, task.id, &Text::view) != open.end();
  if (waits_for_itself || is_awaited(tables, task.id)) {
    if (auto way = find_way(tables, open, task.id))
      return tl::unexpected(cycle_error(task.id, *way));
  }

  if (auto made = make_queue(tables, queue); !made) return tl::unexpected(std::move(made.error()));
  boost::intrusive_ptr<Line> line = tables.line(queue, task.user);
  if (admission == Admission::kLimited) {
    if (auto room = check_room(tables, queue, *line, task); !room) {
      return tl::unexpected(std::move(room.error()));
    }
    if (auto room = check_memory(tables, task); !room)
      return tl::unexpected(std::move(room.error()));
  }
  const TaskNode& made =
      create(tables, std::move(line), task, std::move(*links), std::move(options), front);
  welcome(tables, made.row.id);
  return Pushed{task.id, made.row.state, true, {}};
}

namespace {

constexpr std::size_t kAhead = 3;  // tasks: as long as memory takes to answer

void take_out(IdSet& ids, std::string_view id) { ids.erase(ids.find(id)); }

// Refused ones refuse those that need them: by the batch's own references, to the end of each
// chain. `ids` are those of the others.
bool spread_refusals(const Push& command, PushReply& reply, IdSet& ids) {
  std::set<std::string_view> refused;
  for (std::size_t i = 0; i < command.tasks.size(); ++i) {
    if (reply.tasks[i].error) refused.insert(command.tasks[i].id);
  }
  bool any = false;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < command.tasks.size(); ++i) {
      const NewTask& task = command.tasks[i];
      if (reply.tasks[i].error || !reply.tasks[i].created || task.allow_missing) continue;
      for (const Dependency& dependency : task.depends_on) {
        if (!refused.contains(dependency.id) || ids.contains(dependency.id)) continue;
        reply.tasks[i] = {
            task.id,
            {},
            false,
            Error{ErrorCode::kUnknownDependency,
                  fmt::format("task {} depends on {}, which was refused", task.id, dependency.id)}};
        refused.insert(task.id);
        take_out(ids, task.id);
        more = any = true;
        break;
      }
    }
  }
  return any;
}

}  // namespace

Result<PushReply> push(Tables& tables, const Push& command) {
  if (tables.meta().draining) {
    return refuse(ErrorCode::kDraining,
                  "the queue is draining and takes no tasks: try another, or later");
  }
  const bool refers = std::ranges::any_of(
      command.tasks, [](const NewTask& task) { return !task.depends_on.empty(); });
  IdSet ids;  // nobody asks, if nobody refers to another
  for (const NewTask& task : command.tasks) {
    if (refers || command.partial) ids.insert(task.id);
  }
  const Tables::Mark start = tables.mark();
  PushReply reply;
  reply.tasks.resize(command.tasks.size());
  // With `partial`, a refusal may refuse earlier ones: then all is done again without them.
  for (bool again = true; again;) {
    std::int64_t front = tables.next_front(std::ssize(command.tasks));
    for (std::size_t i = 0; i < command.tasks.size(); ++i, ++front) {
      if (i + kAhead < command.tasks.size()) tables.tasks().expect(command.tasks[i + kAhead].id);
      if (reply.tasks[i].error) continue;
      const Tables::Mark before = command.partial ? tables.mark() : start;
      auto pushed = push_one(tables, command.tasks[i], Admission::kLimited, front, ids);
      if (pushed) {
        reply.tasks[i] = std::move(*pushed);
      } else if (command.partial) {
        tables.roll_back(before);
        take_out(ids, command.tasks[i].id);
        reply.tasks[i] = {command.tasks[i].id, {}, false, std::move(pushed.error())};
      } else {
        return tl::unexpected(std::move(pushed.error()));
      }
    }
    again = command.partial && spread_refusals(command, reply, ids);
    if (again) tables.roll_back(start);
  }
  return reply;
}

}  // namespace retsu::engine
