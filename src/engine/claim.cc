#include <algorithm>

#include "base/check.h"
#include "engine/claims.h"
#include "engine/dependencies.h"
#include "engine/lifecycle.h"
#include "engine/pace.h"

namespace retsu::engine {
namespace {

// The users that a claim may serve in one queue: all, or those named.
class Choice {
 public:
  Choice(Queue& queue, const std::vector<std::string>* users) : queue_(queue), users_(users) {
    if (users_ == nullptr) return;
    for (const std::string& user : *users_) {
      const auto found = queue.lines.find(user);
      if (found == queue.lines.end() || includes(*found->second)) continue;
      lines_.push_back(found->second);
    }
  }

  [[nodiscard]] Queue& queue() const { return queue_; }

  [[nodiscard]] std::int64_t queued() const {
    if (users_ == nullptr) return queue_.tasks[static_cast<std::size_t>(State::kQueued)];
    std::int64_t sum = 0;
    for (const Line* line : lines_) sum += line->queued;
    return sum;
  }

  // Whether a user has a task that waits only for the queue's pace.
  [[nodiscard]] bool is_ready() const {
    if (users_ == nullptr) return !queue_.ring.empty();
    return std::ranges::any_of(lines_, [](const Line* line) { return line->row.place != 0; });
  }

  // The next task by permit and ring, pace aside.
  [[nodiscard]] TaskNode* next() const {
    for (TaskNode* task : queue_.kept) {
      if (includes(task->line())) return task;
    }
    if (!has_free_permit(queue_)) return nullptr;
    const Line* line = nullptr;
    if (users_ == nullptr) {
      if (!queue_.ring.empty()) line = *queue_.ring.begin();
    } else {
      for (const Line* candidate : lines_) {
        if (candidate->row.place == 0) continue;
        if (line == nullptr || candidate->row.place < line->row.place) line = candidate;
      }
    }
    return line == nullptr ? nullptr : &*const_cast<Line*>(line)->ready.begin();
  }

 private:
  [[nodiscard]] bool includes(const Line& line) const {
    return users_ == nullptr || std::ranges::find(lines_, &line) != lines_.end();
  }

  Queue& queue_;
  const std::vector<std::string>* users_;
  std::vector<Line*> lines_;
};

std::vector<Choice> choices(const Tables& tables, const std::vector<std::string>& queues,
                            const std::vector<std::string>* users) {
  std::vector<Choice> made;
  for (const std::string& name : queues) {
    if (Queue* queue = tables.find_queue(name)) made.emplace_back(*queue, users);
  }
  return made;
}

void take_turn(Tables& tables, Line& line) {
  if (line.row.place == 0) return;
  LineRow& row = tables.edit(line);
  if (++row.turns >= line.due.weight) tables.set_place(line, ++tables.edit_meta().place, 0);
}

void start(Tables& tables, TaskNode& task, const ClaimRow& claim) {
  Line& line = task.line();
  Queue& queue = *line.queue;
  const bool out_of_turn = task.row.keeps_permit;
  const Millis waited = tables.now() - task.row.queued_at;
  take_token(tables, queue);
  tables.edit(queue).served = ++tables.edit_meta().served;
  const std::int64_t fence = ++tables.edit_meta().fence;
  tables.change_task(task, [&](TaskRow& row) {
    Run& run = edit_run(row);
    ++run.attempts;
    run.fence = fence;
    run.claim_id = claim.id;
    run.worker = claim.worker;
    run.started_at = tables.now();
    const std::int64_t timeout = task.options().timeout_ms.value_or(queue.policy().timeout_ms);
    run.timeout_at = timeout > 0 ? tables.now() + Millis(timeout) : kNever;
    row.state = State::kStarted;
    row.band = Band::kRest;
    row.key = run.timeout_at.time_since_epoch().count();
    row.keeps_permit = false;
  });
  tables.set_member(
      {claim.number, fence, task.row.id, &line, Hold::kHeld, Outcome::kFinish, State::kStarted});
  LineRow& row = tables.edit(line);
  ++row.started;
  row.waits.add(waited);
  if (!out_of_turn) take_turn(tables, line);
  tables.count(queue, Counter::kStarted);
}

ClaimedTask claimed(const Tables& tables, const TaskNode& task) {
  const Run& run = task.run();
  ClaimedTask made;
  made.id = task.row.id.str();
  made.queue = task.queue().name.str();
  made.user = task.line().user.str();
  made.type = task.row.type.str();
  made.priority = {task.row.priority};
  made.payload = task.row.payload;
  made.fence = run.fence;
  made.attempt = run.attempts;
  made.max_attempts = max_attempts(task);
  made.created_at = task.row.created_at;
  if (run.timeout_at != kNever) made.timeout_at = run.timeout_at;
  made.inputs = inputs_of(tables, task);
  made.unique_key = task.options().unique_key;
  made.tags = task.options().tags;
  made.trace = task.options().trace;
  made.progress = run.progress;
  return made;
}

std::int64_t lease_of(const Tables& tables, const Claim& command) {
  if (command.lease_ms) return *command.lease_ms;
  std::int64_t longest = 1;
  for (const std::string& name : command.queues) {
    const Queue* queue = tables.find_queue(name);
    if (queue == nullptr) continue;
    if (queue->policy().lease_ms == 0) return 0;
    longest = std::max(longest, queue->policy().lease_ms);
  }
  return longest;
}

TimePoint lease_end(const Tables& tables, std::int64_t lease_ms) {
  return lease_ms == 0 ? kNever : tables.now() + Millis(lease_ms);
}

// Takes from the queue served longest ago, again and again; stops when none can give.
void take_round(Tables& tables, std::vector<Choice>& from, std::int64_t max, ClaimRow& claim,
                std::vector<TaskNode*>& taken) {
  std::vector<Choice*> open;
  for (Choice& choice : from) {
    if (!obstacle(choice.queue(), tables.now()) && choice.next() != nullptr)
      open.push_back(&choice);
  }
  while (std::ssize(taken) < max && !open.empty()) {
    const auto longest_unserved = std::ranges::min_element(
        open, {}, [](const Choice* choice) { return choice->queue().row.served; });
    Choice& choice = **longest_unserved;
    TaskNode& task = *choice.next();
    if (claim.number == 0) {
      claim.number = ++tables.edit_meta().claim;
      tables.set_claim(claim);
    }
    start(tables, task, claim);
    taken.push_back(&task);
    if (obstacle(choice.queue(), tables.now()) || choice.next() == nullptr)
      open.erase(longest_unserved);
  }
}

std::optional<TimePoint> next_chance(const Tables& tables, const std::vector<Choice>& from) {
  std::optional<TimePoint> next;
  for (const Choice& choice : from) {
    if (choice.next() == nullptr) continue;
    const auto blocked = obstacle(choice.queue(), tables.now());
    if (!blocked || blocked->until == kNever) continue;
    if (!next || blocked->until < *next) next = blocked->until;
  }
  return next;
}

// The answer to a claim was lost: the same again, with the lease from now.
ClaimReply repeat(Tables& tables, ClaimNode& claim) {
  ClaimRow row = claim.row;
  row.lease_until = lease_end(tables, row.lease_ms);
  tables.set_claim(std::move(row));
  ClaimReply reply;
  for (const MemberRow& member : claim.members) {
    if (member.hold != Hold::kHeld) continue;
    reply.tasks.push_back(claimed(tables, *tables.find_task(member.task)));
  }
  return reply;
}

}  // namespace

ClaimReply claim(Tables& tables, const Claim& command) {
  const std::vector<std::string>* users = command.users.empty() ? nullptr : &command.users;
  if (users == nullptr && !command.steal.empty()) users = &command.steal;
  std::vector<Choice> assigned = choices(tables, command.queues, users);
  std::vector<std::string> others;  // to steal from
  if (users == &command.users) {
    std::ranges::copy_if(command.steal, std::back_inserter(others), [&](const std::string& user) {
      return std::ranges::find(command.users, user) == command.users.end();
    });
  }
  std::vector<Choice> stolen;
  if (!others.empty()) stolen = choices(tables, command.queues, &others);
  for (Choice& choice : assigned) choice.queue().asked_at = tables.now();

  ClaimReply reply;
  ClaimNode* existing = tables.find_claim(command.claim_id);
  if (existing != nullptr && existing->held > 0) {
    reply = repeat(tables, *existing);
    if (existing->row.lease_until != kNever) reply.lease_until = existing->row.lease_until;
  } else if (!tables.meta().draining) {
    ClaimRow row{0,
                 Text(command.claim_id),
                 Text(command.worker),
                 tables.now(),
                 lease_of(tables, command),
                 kNever,
                 kNever};
    row.lease_until = lease_end(tables, row.lease_ms);
    // A claim of the same name that holds nothing any more makes room; its ghosts stay with it.
    const bool renews = existing != nullptr;
    const Tables::Mark before = renews ? tables.mark() : 0;
    if (renews) {
      row.number = existing->row.number;
      const std::vector<MemberRow> members = existing->members;
      for (const MemberRow& member : members) {
        if (member.hold > Hold::kTimedOut) tables.drop_member(*existing, member.fence);
      }
      tables.set_claim(row);
    }
    std::vector<TaskNode*> taken;
    take_round(tables, assigned, command.max, row, taken);
    // One steals only when those that one should serve have nothing to do.
    const bool idle = std::ranges::none_of(assigned, &Choice::is_ready);
    if (idle) take_round(tables, stolen, command.max, row, taken);
    if (renews && taken.empty()) tables.roll_back(before);
    for (const TaskNode* task : taken) reply.tasks.push_back(claimed(tables, *task));
    if (!taken.empty() && row.lease_until != kNever) reply.lease_until = row.lease_until;
    if (taken.empty()) {
      reply.next_at = next_chance(tables, idle && !stolen.empty() ? stolen : assigned);
    }
  }
  reply.claim_id = command.claim_id;
  for (const Choice& choice : assigned) reply.remaining += choice.queued();
  for (const Choice& choice : stolen) reply.remaining += choice.queued();
  return reply;
}

}  // namespace retsu::engine
