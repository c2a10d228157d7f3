// Looking at a batch before anything changes: what stands for each task, and what refuses it.

#include <algorithm>
#include <deque>

#include "reference/batch.h"
#include "reference/reference.h"

namespace retsu {
namespace {

Error overloaded(std::string message) {
  return Error{ErrorCode::kOverloaded, std::move(message), {}, Millis{kSecond}};
}

std::string spelled_out(const std::vector<std::string>& cycle) {
  std::string text;
  for (const std::string& id : cycle) text += (text.empty() ? "\"" : ",\"") + id + "\"";
  return "{\"cycle\":[" + text + "]}";
}

}  // namespace

const ReferenceQueue::TaskRecord* ReferenceQueue::holder_of(const std::string& queue,
                                                            const std::string& key) const {
  for (const auto& [sequence, task] : tasks_) {
    if (task.queue() != queue || task.pushed.unique_key != key) continue;
    if (is_live(task.state) || task.state == State::kFinished) return &task;
  }
  return nullptr;
}

// What each task of the batch becomes, those refused left out.
ReferenceQueue::Batch ReferenceQueue::plan(const std::vector<NewTask>& tasks,
                                           const std::map<std::size_t, Error>& refused) const {
  Batch batch;
  std::map<std::pair<std::string, std::string>, std::string> holders;  // among the new ones
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    Plan& plan = batch.plans.emplace_back();
    plan.task = tasks[i];
    if (refused.contains(i)) continue;
    const NewTask& task = plan.task;
    const std::pair key{task.queue, task.unique_key};
    if (is_known(task.id)) {
      plan.kind = Plan::Kind::kStands;
      plan.stands_for = resolve(task.id);
    } else if (batch.names.contains(task.id)) {
      plan.kind = Plan::Kind::kStands;
      plan.stands_for = batch.names.at(task.id);
    } else if (!task.unique_key.empty() && holder_of(task.queue, task.unique_key)) {
      plan.kind = Plan::Kind::kAbsorbed;
      plan.stands_for = holder_of(task.queue, task.unique_key)->id();
    } else if (!task.unique_key.empty() && holders.contains(key)) {
      plan.kind = Plan::Kind::kAbsorbed;
      plan.stands_for = holders.at(key);
    } else {
      plan.kind = Plan::Kind::kNew;
      plan.stands_for = task.id;
      plan.depends_on = resolved(batch, task);
      plan.fate = fate(batch, plan);
      if (!task.unique_key.empty() && !plan.fate) holders[key] = task.id;
    }
    batch.names[task.id] = plan.stands_for;
  }

  return batch;
}

// Its dependencies, each once, under the ids of what stands for them.
std::vector<Dependency> ReferenceQueue::resolved(const Batch& batch, const NewTask& task) const {
  std::vector<Dependency> all;
  for (const Dependency& dependency : task.depends_on) {
    const auto name = batch.names.find(dependency.id);
    const std::string id = name == batch.names.end() ? resolve(dependency.id) : name->second;
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const Dependency& other) { return other.id == id; });
    if (same == all.end()) {
      all.push_back({id, dependency.when});
    } else if (dependency.when == When::kFinished) {
      same->when = When::kFinished;
    }
  }
  return all;
}

// Who would wait for whom: the open references of what is stored, and those of the batch, up to one
// of its tasks: the one that closes a cycle is the one to refuse. A parent waits for its children
// when all of them are there.
ReferenceQueue::Waits ReferenceQueue::waits_with(const Batch& batch, std::size_t count,
                                                 bool parent_waits) const {
  Batch known;
  for (std::size_t i = 0; i < count; ++i) {
    const Plan& plan = batch.plans[i];
    if (plan.kind != Plan::Kind::kRefused) known.names.emplace(plan.task.id, plan.stands_for);
  }
  Waits waits;
  for (const auto& [sequence, task] : tasks_) {
    for (const Edge& edge : task.edges) {
      if (edge.met || is_gone(edge)) continue;
      const auto name = known.names.find(edge.id);
      const bool named_now = edge.missing && name != known.names.end();
      waits[task.id()].push_back(named_now ? name->second : edge.id);
    }
  }
  // One that ended as it came, before the one that names it.
  const auto ended_in_batch = [&](const std::string& id, std::size_t before) {
    for (std::size_t i = 0; i < before; ++i) {
      const Plan& plan = batch.plans[i];
      if (plan.kind == Plan::Kind::kNew && plan.task.id == id) return plan.fate;
    }
    return std::optional<State>();
  };
  const auto add = [&](const std::string& from, std::size_t place, const Dependency& dependency,
                       OnDependencyFailure on_failure) {
    const TaskRecord* stored = find(dependency.id);
    if (!stored && tombstones_.contains(dependency.id)) return;
    std::optional<State> ended = ended_in_batch(dependency.id, place);
    if (stored && is_ended(stored->state)) ended = stored->state;
    if (ended) {
      const bool waits_for_redrive = *ended == State::kFailed &&
                                     dependency.when == When::kFinished &&
                                     on_failure == OnDependencyFailure::kWait;
      if (!waits_for_redrive) return;
    }
    waits[from].push_back(dependency.id);
  };
  for (std::size_t i = 0; i < count; ++i) {
    const Plan& plan = batch.plans[i];
    if (parent_waits && plan.kind != Plan::Kind::kRefused && !plan.fate) {
      add(*batch.parent, i, {plan.stands_for, When::kSettled}, OnDependencyFailure::kWait);
    }
    if (plan.kind != Plan::Kind::kNew || plan.fate == State::kCanceled) continue;
    for (const Dependency& dependency : resolved(known, plan.task)) {
      add(plan.task.id, i, dependency, plan.task.on_dependency_failure);
    }
  }
  return waits;
}

namespace {

using Waits = std::map<std::string, std::vector<std::string>>;

// The shortest way of waiting that leads from one task to another; from a task to itself, round.
std::optional<std::vector<std::string>> way(const Waits& waits, const std::string& from,
                                            const std::string& to) {
  std::map<std::string, std::string> came_from;
  std::deque<std::string> front{from};
  while (!front.empty()) {
    const std::string here = front.front();
    front.pop_front();
    const auto next = waits.find(here);
    if (next == waits.end()) continue;
    for (const std::string& id : next->second) {
      if (came_from.contains(id)) continue;
      came_from[id] = here;
      if (id != to) {
        front.push_back(id);
        continue;
      }
      std::vector<std::string> path{to};
      do {
        path.insert(path.begin(), came_from.at(path.front()));
      } while (path.front() != from);
      return path;
    }
  }
  return std::nullopt;
}

Error cycle_error(const std::vector<std::string>& cycle) {
  return Error{ErrorCode::kDependencyCycle, "these tasks would wait for each other for ever",
               spelled_out(cycle)};
}

}  // namespace

std::optional<Error> ReferenceQueue::check(const Batch& batch, const Waits& waits,
                                           std::size_t index, Limited limited) const {
  const Plan& plan = batch.plans[index];
  if (plan.kind == Plan::Kind::kRefused || plan.kind == Plan::Kind::kStands) return std::nullopt;
  if (plan.task.expires_at && *plan.task.expires_at <= now_) {
    return Error{ErrorCode::kInvalid, "expires_at has passed"};
  }
  const bool remembers = !plan.task.id_generated;
  if (plan.kind == Plan::Kind::kAbsorbed) {
    if (limited == Limited::kYes && remembers && remembers_enough(batch, index)) {
      return overloaded("too many ids are remembered");
    }
    const auto cycle = way(waits, plan.stands_for, plan.stands_for);
    return cycle ? std::optional(cycle_error(*cycle)) : std::nullopt;
  }

  for (const Dependency& dependency : plan.depends_on) {
    bool in_batch = batch.names.contains(dependency.id);
    for (const auto& [id, stands_for] : batch.names) in_batch |= stands_for == dependency.id;
    if (!in_batch && !is_known(dependency.id) && !plan.task.allow_missing) {
      return Error{ErrorCode::kUnknownDependency, "depends_on: no task " + dependency.id};
    }
  }
  if (const auto cycle = way(waits, plan.task.id, plan.task.id)) return cycle_error(*cycle);
  if (std::ssize(plan.depends_on) > limits_.dependencies) {
    return Error{ErrorCode::kTooLarge, "too many dependencies"};
  }
  return limited == Limited::kYes ? check_limits(batch, index) : std::nullopt;
}

// How the latest task of the batch ends at once, because of how its dependencies have ended; none:
// it waits.
std::optional<State> ReferenceQueue::fate(const Batch& batch, const Plan& plan) const {
  for (const Dependency& dependency : plan.depends_on) {
    std::optional<State> ended;
    const TaskRecord* stored = find(dependency.id);
    if (stored && is_ended(stored->state)) ended = stored->state;
    const bool is_gone = !stored && tombstones_.contains(dependency.id);
    if (is_gone) ended = tombstones_.at(dependency.id).state;
    for (const Plan& other : batch.plans) {
      if (other.kind == Plan::Kind::kNew && other.task.id == dependency.id) ended = other.fate;
    }
    if (!ended) continue;
    const Verdict verdict = verdict_on(*ended, dependency.when, plan.task);
    if (verdict == Verdict::kCancels) return State::kCanceled;
    if (verdict == Verdict::kWaits && is_gone) return State::kFailed;
  }
  return std::nullopt;
}

// With the ids of those before it in the batch that will stand for others.
bool ReferenceQueue::remembers_enough(const Batch& batch, std::size_t index) const {
  std::int64_t remembered = remembered_ids();
  for (std::size_t i = 0; i < index; ++i) {
    const Plan& plan = batch.plans[i];
    if (plan.kind == Plan::Kind::kAbsorbed && !plan.task.id_generated) ++remembered;
  }
  return remembered >= limits_.remembered_ids;
}

std::optional<Error> ReferenceQueue::check_limits(const Batch& batch, std::size_t index) const {
  const NewTask& task = batch.plans[index].task;
  std::int64_t in_queue = 0;
  std::int64_t bytes_in_queue = 0;
  std::int64_t in_line = 0;
  std::int64_t bytes_in_line = 0;
  const auto add = [&](const NewTask& waiting) {
    if (waiting.queue != task.queue) return;
    const auto bytes = static_cast<std::int64_t>(waiting.payload.size());
    ++in_queue;
    bytes_in_queue += bytes;
    if (waiting.user != task.user) return;
    ++in_line;
    bytes_in_line += bytes;
  };
  for (const auto& [sequence, stored] : tasks_) {
    if (is_waiting(stored.state)) add(stored.pushed);
  }
  std::set<std::string> new_queues;
  for (std::size_t i = 0; i <= index; ++i) {
    if (batch.plans[i].kind != Plan::Kind::kNew) continue;
    if (i == index || !batch.plans[i].fate) add(batch.plans[i].task);
    if (!queues_.contains(batch.plans[i].task.queue)) new_queues.insert(batch.plans[i].task.queue);
  }

  const UserSettings settings = settings_of({task.queue, task.user});
  if (in_queue > limits_.queue_tasks) return overloaded("the queue is full");
  if (bytes_in_queue > limits_.queue_bytes) return overloaded("the queue is full");
  if (settings.max_waiting && in_line > *settings.max_waiting) {
    return overloaded("too many tasks of this user wait");
  }
  if (settings.max_waiting_bytes && bytes_in_line > *settings.max_waiting_bytes) {
    return overloaded("too many bytes of this user wait");
  }
  if (!queues_.contains(task.queue) &&
      std::ssize(queues_) + std::ssize(new_queues) > limits_.queues) {
    return overloaded("too many queues");
  }
  if (!task.id_generated && remembers_enough(batch, index)) {
    return overloaded("too many ids are remembered");
  }
  return std::nullopt;
}

std::optional<Error> ReferenceQueue::first_error(const Batch& batch, Limited limited,
                                                 std::size_t& index) const {
  for (index = 0; index < batch.plans.size(); ++index) {
    if (auto error = check(batch, waits_with(batch, index + 1, false), index, limited))
      return error;
  }
  if (batch.parent) {
    const Waits waits = waits_with(batch, batch.plans.size(), true);
    if (const auto cycle = way(waits, *batch.parent, *batch.parent)) return cycle_error(*cycle);
  }
  return std::nullopt;
}

}  // namespace retsu
