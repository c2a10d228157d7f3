// Failures, timeouts and lost workers: when a task is tried again, and when not.

#include <algorithm>
#include <set>

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

class Retries : public Conformance {
 protected:
  // Fails the task's next attempt. How long it has to wait then.
  std::int64_t delay_after_failure(const std::string& id, std::optional<Millis> retry_after = {}) {
    SettleOne result{.id = id, .outcome = kFail, .error = "broken"};
    if (retry_after) result.retry_after_ms = retry_after->count();
    EXPECT_EQ(settle(start(id), result).state, kScheduled);
    const TimePoint due = task(id).run_at.value();
    const std::int64_t delay = (due - clock()).count();
    set_clock(due);
    return delay;
  }
  static constexpr Retry kEachSecond{
      .kind = RetryKind::kFixed, .base_ms = 1'000, .jitter = 0, .max_attempts = 3};
};
INSTANTIATE_TEST_SUITE_P(Conformance, Retries, testing::ValuesIn(subject_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(Retries, AFailedTaskIsTriedAgainAfterItsDelay) {
  push({.id = "a"});
  const Settled settled = fail(start("a"), "a", "no route");
  EXPECT_EQ(settled.state, kScheduled);
  const Task got = task("a");
  EXPECT_TRUE(got.retrying);
  EXPECT_EQ(got.attempts, 1);
  EXPECT_EQ(got.error, Text("no route"));
  set_clock(got.run_at.value() - 1ms);
  EXPECT_EQ(state_of("a"), kScheduled);
  set_clock(got.run_at.value());
  EXPECT_EQ(state_of("a"), kQueued);
  EXPECT_FALSE(task("a").retrying);
  EXPECT_EQ(start("a").tasks.at(0).attempt, 2);
  EXPECT_EQ(counter("retried"), 1);
}

TEST_P(Retries, DelaysGrowAndJitterAddsUpToItsShare) {
  put_queue("q", {.retry = {.max_attempts = 20}});
  for (const std::string& id : numbered("a", 5)) {
    push("q", {.id = id});
    std::int64_t expected = 1'000;
    for (int attempt = 1; attempt < 12; ++attempt) {
      const std::int64_t delay = delay_after_failure(id);
      EXPECT_GE(delay, expected) << id << " attempt " << attempt;
      EXPECT_LE(delay, expected + expected / 10) << id << " attempt " << attempt;
      expected = std::min<std::int64_t>(expected * 2, 300'000);
    }
    cancel(id);
  }
}

TEST_P(Retries, JitterDiffersFromTaskToTask) {
  put_queue("q", {.retry = {.base_ms = 100'000, .jitter = 1}});
  std::set<std::int64_t> delays;
  for (const std::string& id : numbered("a", 5)) {
    push("q", {.id = id});
    delays.insert(delay_after_failure(id));
    cancel(id);
  }
  EXPECT_GT(delays.size(), 1U);
}

TEST_P(Retries, WithoutJitterDelaysAreExact) {
  put_queue("q", {.retry = {.base_ms = 500, .factor = 3, .max_ms = 4'000, .jitter = 0}});
  push("q", {.id = "a", .max_attempts = 10});
  EXPECT_EQ(delay_after_failure("a"), 500);
  EXPECT_EQ(delay_after_failure("a"), 1'500);
  EXPECT_EQ(delay_after_failure("a"), 4'000);
  EXPECT_EQ(delay_after_failure("a"), 4'000);
}

TEST_P(Retries, FixedDelaysStayTheSame) {
  push({.id = "a", .retry = kEachSecond});
  EXPECT_EQ(delay_after_failure("a"), 1'000);
  EXPECT_EQ(delay_after_failure("a"), 1'000);
}

TEST_P(Retries, RetryAfterIsAFloor) {
  push({.id = "a", .retry = kEachSecond});
  EXPECT_EQ(delay_after_failure("a", 90s), 90'000);
  EXPECT_EQ(delay_after_failure("a", 10ms), 1'000);
}

TEST_P(Retries, TheLastAttemptMakesADeadLetter) {
  push({.id = "a", .retry = kEachSecond});
  delay_after_failure("a");
  delay_after_failure("a");
  EXPECT_EQ(fail(start("a"), "a", "third").state, kFailed);
  const Task dead = task("a");
  EXPECT_EQ(dead.reason, Reason::kFailed);
  EXPECT_EQ(dead.error, Text("third"));
  EXPECT_EQ(dead.retryable, true);
  EXPECT_EQ(dead.attempts, 3);
  EXPECT_EQ(since_start(dead.ended_at), 2'000);
  EXPECT_EQ(counter("failed"), 1);
}

TEST_P(Retries, WhatIsNotRetryableIsRejectedAtOnce) {
  push({.id = "a"});
  EXPECT_EQ(reject(start("a"), "a", "404").state, kFailed);
  EXPECT_EQ(task("a").reason, Reason::kRejected);
  EXPECT_EQ(task("a").retryable, false);
  EXPECT_EQ(task("a").attempts, 1);
}

TEST_P(Retries, ATaskMayHaveItsOwnNumberOfAttempts) {
  push({.id = "a", .max_attempts = 1});
  EXPECT_EQ(fail(start("a"), "a").state, kFailed);
  EXPECT_EQ(task("a").reason, Reason::kFailed);
}

TEST_P(Retries, ATaskThatFinishesAfterAFailureIsCounted) {
  push({.id = "a"});
  push({.id = "b"});
  delay_after_failure("a");
  run("a");
  run("b");
  EXPECT_EQ(counter("retry_succeeded"), 1);
}

TEST_P(Retries, ATimeoutIsCountedByTheQueueFromTheClaim) {
  push({.id = "a", .timeout_ms = 10'000, .retry = kEachSecond});
  advance(5s);
  const ClaimReply held = start("a");
  EXPECT_EQ(since_start(held.tasks.at(0).timeout_at), 15'000);
  advance(10s - 1ms);
  EXPECT_EQ(state_of("a"), kStarted);
  advance(1ms);
  EXPECT_EQ(state_of("a"), kScheduled);
  EXPECT_TRUE(task("a").retrying);
  EXPECT_EQ(since_start(task("a").run_at), 16'000);
  EXPECT_REFUSED(finish(held, "a"), kStaleClaim);
  EXPECT_EQ(counter("timed_out"), 1);
}

TEST_P(Retries, OfALeaseAndATimeoutThatEndTogetherTheLeaseIsFirst) {
  push({.id = "a", .timeout_ms = 10'000});
  start("a", {.lease_ms = 10'000});
  advance(10s);
  EXPECT_EQ(state_of("a"), kQueued);
  EXPECT_EQ(counter("lease_expired"), 1);
  EXPECT_EQ(counter("timed_out"), 0);
}

TEST_P(Retries, AnExtendDoesNotMoveTheTimeout) {
  push({.id = "a", .timeout_ms = 10'000});
  const ClaimReply held = start("a");
  advance(9s);
  extend(held);
  advance(1s);
  EXPECT_EQ(state_of("a"), kScheduled);
}

TEST_P(Retries, TheLastTimeoutMakesADeadLetter) {
  push({.id = "a", .timeout_ms = 10'000, .max_attempts = 1});
  start("a");
  advance(10s);
  EXPECT_EQ(state_of("a"), kFailed);
  EXPECT_EQ(task("a").reason, Reason::kTimeout);
  EXPECT_EQ(task("a").retryable, true);
}

TEST_P(Retries, TheTimeoutIsTheQueuesUnlessTheTaskHasOne) {
  put_queue("q", {.lease_ms = 7'200'000, .timeout_ms = 20'000});
  push_each({"a"}, {.queue = "q"});
  push_each({"b"}, {.queue = "q", .timeout_ms = 0});
  claim_from("q", 2);
  advance(20s);
  EXPECT_EQ(state_of("a"), kScheduled);
  advance(1h);
  EXPECT_EQ(state_of("b"), kStarted);
}

TEST_P(Retries, TheDefaultTimeoutIsFiveMinutes) {
  put_queue("q", {.lease_ms = 3'600'000});
  push("q", {.id = "a"});
  EXPECT_EQ(since_start(start("a").tasks.at(0).timeout_at), 300'000);
}

TEST_P(Retries, ALostWorkerCostsItsTaskFirstNothingThenADelayThenItsLife) {
  push({.id = "a", .retry = kEachSecond});
  start("a");
  advance(60s);
  EXPECT_EQ(state_of("a"), kQueued);
  EXPECT_EQ(task("a").attempts, 1);
  start("a");
  advance(60s);
  EXPECT_EQ(state_of("a"), kScheduled);
  EXPECT_TRUE(task("a").retrying);
  EXPECT_EQ(since_start(task("a").run_at), 121'000);
  advance(1s);
  start("a");
  advance(60s);
  EXPECT_EQ(state_of("a"), kFailed);
  EXPECT_EQ(task("a").reason, Reason::kPoisoned);
  EXPECT_EQ(task("a").retryable, true);
  EXPECT_EQ(counter("lease_expired"), 3);
  EXPECT_EQ(counter("poisoned"), 1);
}

TEST_P(Retries, ALostWorkerOfTheOnlyAttemptPoisonsItsTask) {
  push({.id = "a", .max_attempts = 1});
  start("a");
  advance(60s);
  EXPECT_EQ(state_of("a"), kFailed);
  EXPECT_EQ(task("a").reason, Reason::kPoisoned);
}

TEST_P(Retries, ARedriveCountsExpiredLeasesAnew) {
  push({.id = "a", .max_attempts = 2});
  start("a");
  advance(60s);
  reject(start("a"), "a");
  redrive("a");
  start("a");
  advance(60s);
  EXPECT_EQ(state_of("a"), kQueued);
}

TEST_P(Retries, TheHistoryTellsEveryAttempt) {
  push({.id = "a", .timeout_ms = 50'000, .max_attempts = 10, .retry = kEachSecond});
  fail(start("a", {.worker = "w1"}), "a", "first");
  advance(1s);
  throttle(start("a", {.worker = "w2"}), "a", 1s);
  advance(1s);
  release(start("a", {.worker = "w3"}), "a");
  start("a", {.lease_ms = 1'000, .worker = "w4"});
  advance(1s);
  start("a", {.worker = "w5"});
  advance(50s);
  const std::vector<Attempt> history = task("a").history;
  ASSERT_EQ(history.size(), 5U);
  const char* outcomes[] = {"fail", "throttle", "release", "lease_expired", "timeout"};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(history[i].outcome, outcomes[i]);
    EXPECT_EQ(history[i].worker, "w" + std::to_string(i + 1));
  }
  EXPECT_EQ(history[0].error, Text("first"));
  EXPECT_EQ(history[0].attempt, 1);
  EXPECT_EQ(since_start(history[3].started_at), 2'000);
  EXPECT_EQ(since_start(history[3].ended_at), 3'000);
}

TEST_P(Retries, TheHistoryForgetsTheOldestAttemptsFirst) {
  begin({.history = 3});
  push({.id = "a", .max_attempts = 10, .retry = kEachSecond});
  for (int i = 1; i <= 5; ++i) {
    fail(start("a"), "a", "error " + std::to_string(i));
    advance(1s);
  }
  const std::vector<Attempt> history = task("a").history;
  ASSERT_EQ(history.size(), 3U);
  EXPECT_EQ(history.front().error, Text("error 3"));
  EXPECT_EQ(history.back().error, Text("error 5"));
}

TEST_P(Retries, ARetryingTaskCanBeCanceled) {
  push({.id = "a"});
  fail(start("a"), "a");
  EXPECT_EQ(cancel("a").state, kCanceled);
  advance(1h - 1ms);
  EXPECT_EQ(state_of("a"), kCanceled);
}

}  // namespace
}  // namespace retsu::conformance
