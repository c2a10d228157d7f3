#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "engine/claims.h"
#include "engine/cursor.h"
#include "engine/dependencies.h"
#include "engine/lifecycle.h"
#include "engine/pace.h"
#include "engine/push.h"

namespace retsu::engine {
namespace {

Error stale(std::string_view claim, std::string_view task) {
  return {ErrorCode::kStaleClaim, fmt::format("claim {} does not hold task {}", claim, task)};
}

// Pushes the children and suspends the task until each has ended.
Status await(Tables& tables, TaskNode& task, const std::vector<NewTask>& children) {
  const bool keeps_permit = task.queue().policy().await_keeps_permit;
  IdSet ids;
  for (const NewTask& child : children) ids.insert(child.id);
  std::vector<Text> awaited;
  std::int64_t front = tables.next_front(std::ssize(children));
  for (const NewTask& child : children) {
    auto pushed = push_one(tables, child, Admission::kAlways, front++, ids);
    if (!pushed) return tl::unexpected(std::move(pushed.error()));
    if (std::ranges::find(awaited, Text(pushed->id)) == awaited.end())
      awaited.emplace_back(pushed->id);
  }
  std::vector<Text> live;
  std::ranges::copy_if(awaited, std::back_inserter(live), [&](const Text& child) {
    const TaskNode* found = tables.find_task(child);
    return found != nullptr && is_live(found->row.state);
  });
  if (auto way = find_way(tables, live, task.row.id)) {
    return tl::unexpected(cycle_error(task.row.id, *way));
  }
  for (const Text& child : awaited) {
    const TaskNode* found = tables.find_task(child);
    if (!keeps_permit || found == nullptr || &found->queue() != &task.queue()) continue;
    return refuse(
        ErrorCode::kConflict,
        fmt::format("task {} keeps its permit while it awaits, so it cannot await {} of its own "
                    "queue {}",
                    task.row.id.view(), child.view(), task.queue().name.view()));
  }
  for (const Text& child : awaited) {
    const TaskNode* found = tables.find_task(child);
    const TombstoneRow* grave = tables.tombstone(child);
    const State state = found != nullptr ? found->row.state : grave->state;
    std::optional<State> met;
    if (is_ended(state)) met = state;
    EdgeRow edge{task.row.id, 0, child, 0, When::kSettled, met, false, found == nullptr};
    if (const EdgeRow* known = tables.edge(task, child)) {
      const EdgeRow before = *known;
      edge.sequence = before.sequence;
      edge.position = before.position;
      tables.change_edge(before, std::move(edge));
    } else {
      tables.add_edge(std::move(edge));
    }
  }
  if (std::ssize(tables.edges(task)) > tables.limits.dependencies) {
    return refuse(ErrorCode::kTooLarge,
                  fmt::format("task {} would have more than {} dependencies and children",
                              task.row.id.view(), tables.limits.dependencies));
  }
  suspend(tables, task);
  if (tables.open_edges(task) == 0) {
    enqueue(tables, task, Event::kReady);
    tables.count(task.queue(), Counter::kFreed);
  }
  return {};
}

Status apply_outcome(Tables& tables, TaskNode& task, const SettleOne& how, std::int64_t front) {
  Queue& queue = task.queue();
  switch (how.outcome) {
    case Outcome::kFinish:
      finish(tables, task, how.result);
      end_throttle_row(tables, queue);
      return {};
    case Outcome::kFail: {
      const RunEnd end{"fail", how.error};
      if (how.retryable && task.run().attempts < max_attempts(task)) {
        retry_later(tables, task, end, Millis(how.retry_after_ms.value_or(0)));
      } else {
        fail(tables, task, Event::kFail, how.retryable ? Reason::kFailed : Reason::kRejected,
             how.error, end);
      }
      end_throttle_row(tables, queue);
      return {};
    }
    case Outcome::kThrottle:
      give_back(tables, task, Event::kThrottle, {"throttle", how.error, false}, front);
      hold(tables, queue, how.retry_after_ms);
      return {};
    case Outcome::kRelease:
      give_back(tables, task, Event::kRelease, {"release", {}, false}, front);
      tables.count(queue, Counter::kReleased);
      return {};
    case Outcome::kAwait:
      return await(tables, task, how.children);
  }
  return {};
}

Settled refused(std::string id, Error error) {
  return {std::move(id), false, {}, std::move(error)};
}

// The claim runs the task under this fence, or under any if none is given.
const MemberRow* held_member(const ClaimNode& claim, const TaskNode* task,
                             std::optional<std::int64_t> fence) {
  if (task == nullptr || task->row.state != State::kStarted) return nullptr;
  if (task->run().claim_id != claim.row.id ||
      fence.value_or(task->run().fence) != task->run().fence) {
    return nullptr;
  }
  return claim.member(task->run().fence);
}

// The permit of a run that is no longer wanted comes back: its worker has said that it is over.
void close_ghost(Tables& tables, ClaimNode& claim, const MemberRow& ghost) {
  set_hold(tables, claim, ghost, ghost.hold == Hold::kCanceled ? Hold::kClosed : Hold::kLost);
}

// What the claim does not hold: settled before in the same way, the same answer; else refused.
Settled settle_again(Tables& tables, ClaimNode& claim, const SettleOne& how, std::string said) {
  const Text* target = tables.alias(said);
  const std::string id = target != nullptr ? target->str() : said;
  bool was_given = false;
  const MemberRow* ghost = nullptr;
  for (const MemberRow& member : claim.members) {
    if (member.task.view() != id) continue;
    was_given = true;
    if (how.fence.value_or(member.fence) != member.fence) continue;
    if (member.hold == Hold::kSettled && member.outcome == how.outcome)
      return {std::move(said), true, member.state, {}};
    if (ghost == nullptr && is_ghost(member.hold)) ghost = &member;
  }
  if (ghost != nullptr) close_ghost(tables, claim, MemberRow(*ghost));
  if (was_given || tables.find_task(id) != nullptr) {
    Error error = stale(claim.row.id, said);
    return refused(std::move(said), std::move(error));
  }
  Error error{ErrorCode::kNotFound, fmt::format("there is no task {}", said)};
  return refused(std::move(said), std::move(error));
}

// `task`: that of the id, if the caller knows it.
Settled settle_one(Tables& tables, ClaimNode& claim, const SettleOne& how, std::string id,
                   std::int64_t front, TaskNode* task = nullptr) {
  if (task == nullptr) task = resolve(tables, id);
  const MemberRow* held = held_member(claim, task, how.fence);
  if (held == nullptr) return settle_again(tables, claim, how, std::move(id));
  MemberRow member = *held;
  const Tables::Mark before = how.outcome == Outcome::kAwait ? tables.mark() : 0;
  if (auto done = apply_outcome(tables, *task, how, front); !done) {
    tables.roll_back(before);
    return refused(std::move(id), std::move(done.error()));
  }
  const State state = task->row.state;
  member.outcome = how.outcome;
  member.state = state;
  set_hold(tables, claim, std::move(member), Hold::kSettled);
  // Only now: with two permits for a moment, its user might lose a place in the ring.
  if (how.outcome == Outcome::kAwait && task->queue().policy().await_keeps_permit) {
    tables.change_task(*task, [](TaskRow& row) { row.keeps_permit = true; });
  }
  return {std::move(id), true, state, {}};
}

// Back to the front of their lines, in the order in which they were claimed.
Released release(Tables& tables, const std::vector<ClaimNode*>& claims) {
  std::int64_t keys = 0;
  for (const ClaimNode* claim : claims) keys += std::ssize(claim->members);
  std::int64_t front = tables.next_front(keys);
  Released reply;
  for (ClaimNode* claim : claims) {
    const std::vector<Member> members = claim->members;
    for (const Member& member : members) {
      if (member.hold == Hold::kHeld) {
        SettleOne how;
        how.outcome = Outcome::kRelease;
        settle_one(tables, *claim, how, member.task.str(), front, member.node);
        ++reply.released;
      } else if (is_ghost(member.hold)) {
        close_ghost(tables, *claim, member);
      }
      ++front;
    }
  }
  return reply;
}

}  // namespace

Result<SettleReply> settle(Tables& tables, const Settle& command) {
  ClaimNode* claim = tables.find_claim(command.claim_id);
  if (claim == nullptr) {
    return refuse(ErrorCode::kStaleClaim,
                  fmt::format("claim {} is unknown, or was over long ago", command.claim_id));
  }
  const std::size_t tasks = command.all ? claim->members.size() : command.results.size();
  std::int64_t front = tables.next_front(static_cast<std::int64_t>(tasks));
  SettleReply reply;
  reply.results.reserve(tasks);
  for (const SettleOne& how : command.results) {
    reply.results.push_back(settle_one(tables, *claim, how, how.id, front++));
  }
  SettleOne how;
  how.outcome = command.all.value_or(how.outcome);
  for (std::size_t i = 0; command.all && i < tasks; ++i) {
    const Member& member = claim->members[i];
    how.fence = member.fence;
    reply.results.push_back(
        settle_one(tables, *claim, how, member.task.str(), front++, member.node));
  }
  return reply;
}

Result<ExtendReply> extend(Tables& tables, const Extend& command) {
  ClaimNode* claim = tables.find_claim(command.claim_id);
  if (claim == nullptr || claim->open == 0) {
    return refuse(ErrorCode::kStaleClaim, fmt::format("claim {} holds nothing", command.claim_id));
  }
  ClaimRow row = claim->row;
  if (command.lease_ms) row.lease_ms = *command.lease_ms;
  row.lease_until = row.lease_ms == 0 ? kNever : tables.now() + Millis(row.lease_ms);
  tables.set_claim(row);
  ExtendReply reply;
  if (row.lease_until != kNever) reply.lease_until = row.lease_until;
  for (const MemberRow& member : claim->members) {
    if (member.hold == Hold::kCanceled || member.hold == Hold::kClosed) {
      reply.canceled.push_back(member.task.str());
    }
    if (member.hold == Hold::kTimedOut || member.hold == Hold::kLost) {
      reply.lost.push_back(member.task.str());
    }
  }
  for (const auto& [id, progress] : command.progress) {
    TaskNode* task = resolve(tables, id);
    if (held_member(*claim, task, {}) == nullptr) continue;
    tables.change_task(*task, [&](TaskRow& edited) { edit_run(edited).progress = progress; });
  }
  return reply;
}

Released release_claim(Tables& tables, const ReleaseClaim& command) {
  ClaimNode* claim = tables.find_claim(command.claim_id);
  return claim == nullptr ? Released{} : release(tables, {claim});
}

Released release_older(Tables& tables, const ReleaseOlder& command) {
  std::vector<ClaimNode*> old;
  for (const auto& [number, claim] : tables.claims()) {
    if (claim->open > 0 && claim->row.claimed_at <= tables.now() - Millis(command.older_than_ms)) {
      old.push_back(claim.get());
    }
  }
  std::ranges::sort(old, {}, [](const ClaimNode* claim) { return claim->row.number; });
  return release(tables, old);
}

void expire_lease(Tables& tables, ClaimNode& claim) {
  std::int64_t front = tables.next_front(std::ssize(claim.members));
  const std::vector<Member> members = claim.members;
  for (const Member& member : members) {
    const std::int64_t key = front++;
    if (is_ghost(member.hold)) close_ghost(tables, claim, member);
    if (member.hold != Hold::kHeld) continue;
    TaskNode& task = *tables.find_task(member.task);
    Queue& queue = task.queue();
    tables.count(queue, Counter::kLeaseExpired);
    const RunEnd end{"lease_expired", "the lease ran out"};
    const bool first = task.run().expired_leases == 0;
    tables.change_task(task, [](TaskRow& row) { ++edit_run(row).expired_leases; });
    if (task.run().attempts >= max_attempts(task)) {
      fail(tables, task, Event::kPoison, Reason::kPoisoned, {}, end);
      tables.count(queue, Counter::kPoisoned);
    } else if (first) {
      give_back(tables, task, Event::kLeaseExpired, end, key);
    } else {
      retry_later(tables, task, end);
    }
    set_hold(tables, claim, member, Hold::kLost);
  }
}

void time_out(Tables& tables, TaskNode& task) {
  const Millis allowed = task.run().timeout_at - task.run().started_at;
  const RunEnd end{"timeout", fmt::format("timed out after {} ms", allowed.count())};
  tables.count(task.queue(), Counter::kTimedOut);
  set_hold(tables, task, Hold::kTimedOut);
  if (task.run().attempts < max_attempts(task)) {
    retry_later(tables, task, end);
  } else {
    fail(tables, task, Event::kFail, Reason::kTimeout, {}, end);
  }
}

ClaimPage list_claims(const Tables& tables, const ListClaims& command) {
  std::uint64_t after = read_cursor(command.cursor);
  std::vector<const ClaimNode*> open;
  for (const auto& [number, claim] : tables.claims()) {
    if (claim->open > 0) open.push_back(claim.get());
  }
  std::ranges::sort(open, {}, [](const ClaimNode* claim) { return claim->row.number; });
  ClaimPage page;
  for (const ClaimNode* claim : open) {
    if (claim->row.number <= after) continue;
    if (std::ssize(page.claims) == command.limit) {
      page.next_cursor = std::to_string(after);
      break;
    }
    after = claim->row.number;
    ClaimInfo info{claim->row.id.str(), claim->row.worker.str(), claim->row.claimed_at, {}, {}};
    if (claim->row.lease_until != kNever) info.lease_until = claim->row.lease_until;
    for (const MemberRow& member : claim->members) {
      if (member.hold == Hold::kHeld) info.tasks.push_back(member.task.str());
    }
    page.claims.push_back(std::move(info));
  }
  return page;
}

}  // namespace retsu::engine
