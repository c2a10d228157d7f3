// Random commands of workers.

#include "random/commands.h"

namespace retsu::random_runs {

Command CommandSource::claim() {
  Claim claim;
  claim.queues = {queue()};
  for (const std::string name : {"q0", "q1", "q2", "q3", "nowhere"}) {
    if (name != claim.queues.front() && dice_.percent(30)) claim.queues.push_back(name);
  }
  if (dice_.percent(25)) {
    for (std::int64_t i = dice_.between(1, 3); i > 0; --i) claim.users.push_back(user());
  }
  if (dice_.percent(20)) {
    for (std::int64_t i = dice_.between(1, 3); i > 0; --i) claim.steal.push_back(user());
  }
  claim.max = dice_.percent(50) ? 1 : dice_.between(2, 6);
  if (dice_.percent(40))
    claim.lease_ms = dice_.one_of<std::int64_t>({0, 100, 2'000, 5'000, 60'000});
  claim.worker = dice_.one_of({"", "w1", "w2"});
  claim.claim_id = claim_id();
  return claim;
}

SettleOne CommandSource::result_for(const std::string& id, std::optional<std::int64_t> fence) {
  SettleOne result;
  result.id = id;
  result.fence = fence;
  const std::int64_t roll = dice_.below(100);
  if (roll < 35) {
    result.outcome = Outcome::kFinish;
    if (dice_.percent(60)) result.result = Json(std::to_string(dice_.below(1'000)));
  } else if (roll < 62) {
    result.outcome = Outcome::kFail;
    if (dice_.percent(80)) result.error = dice_.one_of({"broken", "late", "no answer"});
    result.retryable = dice_.percent(75);
    if (dice_.percent(20)) result.retry_after_ms = dice_.one_of<std::int64_t>({0, 500, 30'000});
  } else if (roll < 72) {
    result.outcome = Outcome::kThrottle;
    if (dice_.percent(30)) result.error = "429";
    if (dice_.percent(50)) result.retry_after_ms = dice_.one_of<std::int64_t>({0, 1'000, 20'000});
  } else if (roll < 80) {
    result.outcome = Outcome::kRelease;
  } else {
    result.outcome = Outcome::kAwait;
    result.children = children();
  }
  return result;
}

Command CommandSource::settle() {
  if (held_.empty()) return claim();
  const Held held = dice_.pick(held_);
  Settle settle;
  settle.claim_id = dice_.percent(4) ? claim_id() : held.claim_id;
  if (dice_.percent(10)) {
    settle.all = dice_.one_of({Outcome::kFinish, Outcome::kFinish, Outcome::kFail,
                               Outcome::kThrottle, Outcome::kRelease});
    return settle;
  }
  const auto fence_of = [&](const Held& task) -> std::optional<std::int64_t> {
    if (dice_.percent(40)) return std::nullopt;
    return task.fence + (dice_.percent(6) ? 1 : 0);
  };
  settle.results.push_back(result_for(held.id, fence_of(held)));
  for (const Held& other : held_) {
    if (other.claim_id != held.claim_id || !dice_.percent(30)) continue;
    settle.results.push_back(result_for(other.id, fence_of(other)));
  }
  if (dice_.percent(5)) settle.results.push_back(result_for(task_id(), std::nullopt));
  return settle;
}

Command CommandSource::other_claim_command() {
  const std::string id =
      held_.empty() || dice_.percent(20) ? claim_id() : dice_.pick(held_).claim_id;
  const std::int64_t roll = dice_.below(100);
  if (roll < 60) {
    Extend extend;
    extend.claim_id = id;
    if (dice_.percent(50)) extend.lease_ms = dice_.one_of<std::int64_t>({0, 100, 5'000, 60'000});
    if (!held_.empty() && dice_.percent(50)) {
      extend.progress[dice_.pick(held_).id] = Json(std::to_string(dice_.below(100)));
    }
    return extend;
  }
  if (roll < 90) return ReleaseClaim{id};
  return ReleaseOlder{dice_.one_of<std::int64_t>({0, kSecond, kMinute})};
}

}  // namespace retsu::random_runs
