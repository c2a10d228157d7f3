// A throttled run holds the queue, not the task.

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

class Throttle : public Conformance {
 protected:
  // Throttles the next task of "q", then waits the hold out. How long the queue was held.
  std::int64_t throttle_once(std::optional<Millis> retry_after = {}) {
    const ClaimReply held = claim_from("q");
    EXPECT_TRUE(throttle(held, held.tasks.at(0).id, retry_after).ok);
    const TimePoint until = queue_info("q").hold_until.value_or(clock());
    const std::int64_t held_for = (until - clock()).count();
    if (until > clock()) {
      set_clock(until - 1ms);
      EXPECT_TRUE(claim_ids(1, "q").empty());
    }
    set_clock(until);
    return held_for;
  }
};
INSTANTIATE_TEST_SUITE_P(Conformance, Throttle, testing::ValuesIn(subject_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(Throttle, HoldsTheQueueUntilTheTimeNamedAndCostsNoAttempt) {
  push_each({"a", "b"}, {.queue = "q"});
  push_each({"x"}, {.queue = "other"});
  const Settled settled = throttle(start("a"), "a", 30s);
  EXPECT_EQ(settled.state, kQueued);
  EXPECT_EQ(task("a").attempts, 0);
  EXPECT_EQ(since_start(queue_info("q").hold_until), 30'000);
  const ClaimReply none = claim_from("q", 5);
  EXPECT_TRUE(none.tasks.empty());
  EXPECT_EQ(since_start(none.next_at), 30'000);
  EXPECT_EQ(claim_ids(1, "other"), Ids{"x"});
  advance(30s - 1ms);
  EXPECT_TRUE(claim_ids(5, "q").empty());
  advance(1ms);
  EXPECT_EQ(claim_ids(5, "q"), (Ids{"a", "b"}));
  EXPECT_EQ(counter("throttled"), 1);
}

TEST_P(Throttle, NeverUsesTheAttemptsUp) {
  push("q", {.id = "a", .max_attempts = 1});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(throttle_once(1s), 1'000);
  EXPECT_EQ(state_of("a"), kQueued);
  run("a");
}

TEST_P(Throttle, WithoutATimeHoldsAsLongAsTheQueueSays) {
  put_queue("q", {.throttle_ms = 7'000});
  push("q", {.id = "a"});
  EXPECT_EQ(throttle_once(), 7'000);
}

TEST_P(Throttle, WithoutATimeAnywhereHoldsForTheRetrysBase) {
  put_queue("q", {.retry = {.base_ms = 4'000}});
  push("q", {.id = "a"});
  EXPECT_EQ(throttle_once(), 4'000);
}

TEST_P(Throttle, HoldsNoLongerThanTheLongestHold) {
  put_queue("q", {.max_hold_ms = 60'000});
  push("q", {.id = "a"});
  EXPECT_EQ(throttle_once(1h), 60'000);
}

TEST_P(Throttle, NeverMakesAHoldShorter) {
  push_each({"a", "b", "c"}, {.queue = "q"});
  const ClaimReply held = claim_from("q", 3);
  throttle(held, "a", 30s);
  throttle(held, "b", 5s);
  EXPECT_EQ(since_start(queue_info("q").hold_until), 30'000);
  throttle(held, "c", 40s);
  EXPECT_EQ(since_start(queue_info("q").hold_until), 40'000);
}

TEST_P(Throttle, LeavesWhatRunsAlone) {
  push_each({"a", "b"}, {.queue = "q"});
  const ClaimReply held = claim_from("q", 2);
  throttle(held, "a", 10s);
  EXPECT_TRUE(finish(held, "b").ok);
}

TEST_P(Throttle, AfterSoManyInARowABreakerHoldsForTheLongestTimeNamed) {
  put_queue("q", {.breaker = Breaker{.after = 3}});
  push("q", {.id = "a"});
  EXPECT_EQ(throttle_once(20s), 20'000);
  EXPECT_EQ(throttle_once(5s), 5'000);
  EXPECT_EQ(throttle_once(5s), 20'000);
  EXPECT_EQ(throttle_once(1s), 20'000);
  EXPECT_EQ(throttle_once(30s), 30'000);
}

TEST_P(Throttle, ABreakerWithoutATimeNamedDoubles) {
  put_queue("q", {.throttle_ms = 1'000, .max_hold_ms = 5'000, .breaker = Breaker{.after = 2}});
  push("q", {.id = "a"});
  EXPECT_EQ(throttle_once(), 1'000);
  EXPECT_EQ(throttle_once(), 1'000);
  EXPECT_EQ(throttle_once(), 2'000);
  EXPECT_EQ(throttle_once(), 4'000);
  EXPECT_EQ(throttle_once(), 5'000);
}

TEST_P(Throttle, AFinishEndsTheRow) {
  put_queue("q", {.breaker = Breaker{.after = 2}});
  push_each({"a", "b"}, {.queue = "q"});
  EXPECT_EQ(throttle_once(20s), 20'000);
  run("a");
  EXPECT_EQ(throttle_once(5s), 5'000);
  EXPECT_EQ(throttle_once(3s), 5'000);
}

TEST_P(Throttle, AFailureEndsTheRow) {
  put_queue("q", {.breaker = Breaker{.after = 2}});
  push_each({"a", "b"}, {.queue = "q"});
  EXPECT_EQ(throttle_once(20s), 20'000);
  run_and_reject("a");
  EXPECT_EQ(throttle_once(5s), 5'000);
}

}  // namespace
}  // namespace retsu::conformance
