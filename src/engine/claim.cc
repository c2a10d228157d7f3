#include <algorithm>
#include <queue>
#include <set>

#include "base/check.h"
#include "base/prefetch.h"
#include "engine/claims.h"
#include "engine/dependencies.h"
#include "engine/lifecycle.h"
#include "engine/pace.h"
#include "engine/times.h"

namespace retsu::engine {
namespace {

// Of many users who wait for long, nothing is in a cache any more. What those need whose turn comes
// next is brought there step by step, because each step says where the next one is: the user's
// line, the task, its bytes.
void expect_turns(const Ring& ring) {
  auto next = ring.begin();
  const auto has_next = [&] { return next != ring.end() && ++next != ring.end(); };
  if (!has_next()) return;
  const TaskNode& task = *(*next)->ready.begin();
  (*next)->ready.expect_removal();
  task.row.id.prefetch();
  task.row.payload.prefetch();
  if (!has_next()) return;
  prefetch(&*(*next)->ready.begin());
  if (!has_next()) return;
  prefetch(*next);
  if (has_next()) prefetch(&*next);
}

// The users that a claim may serve in one queue: all, or those named. Of those named it knows the
// first tasks and places as they were when it looked last; a claim only takes tasks away and moves
// users back in the ring, so it looks again at what it finds changed.
class Choice {
 public:
  Choice(Queue& queue, const std::vector<std::string>* users)
      : queue_(queue), all_(users == nullptr) {
    if (all_) return;
    for (const std::string& user : *users) {
      const auto found = queue.lines.find(user);
      if (found != queue.lines.end()) lines_.push_back(found->second);
    }
    std::ranges::sort(lines_);
    lines_.erase(std::ranges::unique(lines_).begin(), lines_.end());
    std::vector<Place> places;
    for (Line* line : lines_) {
      if (line->row.place != 0) places.emplace_back(line->row.place, line);
      note_kept(*line);
    }
    ring_ = decltype(ring_)({}, std::move(places));
  }

  [[nodiscard]] Queue& queue() const { return queue_; }

  [[nodiscard]] std::int64_t queued() const {
    if (all_) return queue_.tasks[static_cast<std::size_t>(State::kQueued)];
    std::int64_t sum = 0;
    for (const Line* line : lines_) sum += line->queued;
    return sum;
  }

  // Whether a user has a task that waits only for the queue's pace.
  [[nodiscard]] bool is_ready() const {
    if (all_) return !queue_.ring.empty();
    return std::ranges::any_of(lines_, [](const Line* line) { return line->row.place != 0; });
  }

  // The next task by permit and ring, pace aside.
  [[nodiscard]] TaskNode* next() {
    if (TaskNode* task = next_kept()) return task;
    if (!has_free_permit(queue_)) return nullptr;
    Line* line = next_line();
    return line == nullptr ? nullptr : &*line->ready.begin();
  }

 private:
  using Place = std::pair<std::uint64_t, Line*>;

  TaskNode* next_kept() {
    if (all_) return queue_.kept.empty() ? nullptr : *queue_.kept.begin();
    while (!kept_.empty()) {
      TaskNode* first = *kept_.begin();
      if (first->row.keeps_permit) return first;
      kept_.erase(kept_.begin());
      note_kept(first->line());
    }
    return nullptr;
  }

  Line* next_line() {
    if (all_) return queue_.ring.empty() ? nullptr : *queue_.ring.begin();
    while (!ring_.empty()) {
      const auto [place, line] = ring_.top();
      if (line->row.place == place) return line;
      ring_.pop();
      if (line->row.place != 0) ring_.emplace(line->row.place, line);
    }
    return nullptr;
  }

  void note_kept(Line& line) {
    if (queue_.kept.empty()) return;
    const auto first = queue_.kept_by_line.lower_bound(&line);
    if (first != queue_.kept_by_line.end() && (*first)->row.line == &line) kept_.insert(*first);
  }

  Queue& queue_;
  bool all_;
  std::vector<Line*> lines_;
  std::set<TaskNode*, QueuedEarlier> kept_;  // the first of each named user that has one
  std::priority_queue<Place, std::vector<Place>, std::greater<>> ring_;  // the named users in it
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

void start(Tables& tables, TaskNode& task, ClaimNode& claim) {
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
    run.claim_id = claim.row.id;
    run.worker = claim.row.worker;
    run.started_at = tables.now();
    const std::int64_t timeout = task.options().timeout_ms.value_or(queue.policy().timeout_ms);
    run.timeout_at = timeout > 0 ? tables.now() + Millis(timeout) : kNever;
    row.state = State::kStarted;
    row.band = Band::kRest;
    row.key = ms(run.timeout_at);
    row.keeps_permit = false;
  });
  tables.set_member(
      claim,
      {claim.row.number, fence, task.row.id, &line, Hold::kHeld, Outcome::kFinish, State::kStarted},
      &task);
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
  made.payload = tables.payload(task);
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

// Takes from the queue served longest ago, again and again; stops when none can give. The claim is
// made with the first task.
void take_round(Tables& tables, std::vector<Choice>& from, std::int64_t max, ClaimRow& row,
                ClaimNode*& claim, std::vector<TaskNode*>& taken) {
  using Turn = std::pair<std::uint64_t, Choice*>;  // by when it was served, then as named
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> open;
  const auto open_if_it_gives = [&](Choice& choice) {
    if (!obstacle(choice.queue(), tables.now()) && choice.next() != nullptr)
      open.emplace(choice.queue().row.served, &choice);
  };
  for (Choice& choice : from) open_if_it_gives(choice);
  while (std::ssize(taken) < max && !open.empty()) {
    Choice& choice = *open.top().second;
    open.pop();
    TaskNode& task = *choice.next();
    if (claim == nullptr) {
      row.number = ++tables.edit_meta().claim;
      claim = &tables.set_claim(row);
    }
    start(tables, task, *claim);
    expect_turns(choice.queue().ring);
    taken.push_back(&task);
    open_if_it_gives(choice);
  }
}

std::optional<TimePoint> next_chance(const Tables& tables, std::vector<Choice>& from) {
  std::optional<TimePoint> next;
  for (Choice& choice : from) {
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
    const std::set<std::string_view> own(command.users.begin(), command.users.end());
    std::ranges::copy_if(command.steal, std::back_inserter(others),
                         [&](const std::string& user) { return !own.contains(user); });
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
      const std::vector<Member> members = existing->members;
      for (const MemberRow& member : members) {
        if (member.hold > Hold::kTimedOut) tables.drop_member(*existing, member.fence);
      }
      tables.set_claim(row);
    }
    ClaimNode* node = existing;
    std::vector<TaskNode*> taken;
    take_round(tables, assigned, command.max, row, node, taken);
    // One steals only when those that one should serve have nothing to do.
    const bool idle = std::ranges::none_of(assigned, &Choice::is_ready);
    if (idle) take_round(tables, stolen, command.max, row, node, taken);
    if (renews && taken.empty()) tables.roll_back(before);
    reply.tasks.reserve(taken.size());
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
