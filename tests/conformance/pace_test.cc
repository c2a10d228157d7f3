// Limits on what runs at once, how soon after the last, and how often.

#include <algorithm>
#include <atomic>
#include <thread>

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(Pace);

TEST_P(Pace, ConcurrencyHoldsOverSeveralClaims) {
  put_queue("q", {.concurrency = 3});
  push_each(numbered("a", 10), {.queue = "q"});
  const ClaimReply first = claim_from("q", 2);
  const ClaimReply second = claim_from("q", 5);
  EXPECT_EQ(second.tasks.size(), 1U);
  EXPECT_TRUE(claim_from("q", 5).tasks.empty());
  EXPECT_EQ(queue_info("q").running, 3);
  finish(first, "a1");
  EXPECT_EQ(claim_ids(5, "q"), Ids{"a4"});
  fail(first, "a2");
  EXPECT_EQ(claim_ids(5, "q"), Ids{"a5"});
}

TEST_P(Pace, EveryWayToEndARunGivesThePermitBackOnce) {
  put_queue("q", {.concurrency = 1, .throttle_ms = 0});
  push("q", {.id = "a"});
  release(start("a"), "a");
  EXPECT_EQ(queue_info("q").running, 0);
  throttle(start("a"), "a");
  EXPECT_EQ(queue_info("q").running, 0);
  release_claim(start("a"));
  EXPECT_EQ(queue_info("q").running, 0);
  start("a", {.lease_ms = 1'000});
  advance(1s);
  EXPECT_EQ(queue_info("q").running, 0);
  const ClaimReply held = start("a");
  finish(held, "a");
  finish(held, "a");
  EXPECT_EQ(queue_info("q").running, 0);
  push_each({"b", "c"}, {.queue = "q"});
  EXPECT_EQ(claim_ids(10, "q"), Ids{"b"});
}

TEST_P(Pace, ManyWorkersNeverRunMoreThanTheLimit) {
  put_queue("q", {.concurrency = 3});
  push_batch(std::vector<NewTask>(200, NewTask{.queue = "q"}));
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::atomic<int> finished = 0;
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 4; ++i) {
      workers.emplace_back([&, &broker = broker()] {
        while (finished < 200) {
          const Result<ClaimReply> held = call(broker, Claim{.queues = {"q"}, .max = 2});
          if (!held) return;
          const int count = static_cast<int>(held->tasks.size());
          const int now_running = running += count;
          for (int seen = most;
               now_running > seen && !most.compare_exchange_weak(seen, now_running);) {
          }
          running -= count;
          if (count > 0) (void)call(broker, Settle{.claim_id = held->claim_id, .all = kFinish});
          finished += count;
        }
      });
    }
  }
  EXPECT_LE(most, 3);
  EXPECT_EQ(tasks_in(kFinished), 200);
  EXPECT_EQ(queue_info("q").running, 0);
}

TEST_P(Pace, TheGhostOfACanceledRunKeepsItsPermitUntilItSettles) {
  put_queue("q", {.concurrency = 1});
  push_each({"a", "b"}, {.queue = "q"});
  const ClaimReply held = start("a");
  cancel("a");
  EXPECT_EQ(queue_info("q").running, 1);
  EXPECT_TRUE(claim_ids(1, "q").empty());
  EXPECT_REFUSED(finish(held, "a"), kStaleClaim);
  EXPECT_EQ(queue_info("q").running, 0);
  EXPECT_EQ(claim_ids(1, "q"), Ids{"b"});
}

TEST_P(Pace, TheGhostOfACanceledRunKeepsItsPermitUntilItsClaimIsReleased) {
  put_queue("q", {.concurrency = 1});
  push_each({"a", "b"}, {.queue = "q"});
  const ClaimReply held = start("a");
  cancel("a");
  EXPECT_EQ(release_claim(held), 0);
  EXPECT_EQ(state_of("a"), kCanceled);
  EXPECT_EQ(claim_ids(1, "q"), Ids{"b"});
}

TEST_P(Pace, TheGhostOfACanceledRunKeepsItsPermitUntilItsLeaseEnds) {
  put_queue("q", {.concurrency = 1});
  push_each({"a", "b"}, {.queue = "q"});
  start("a");
  cancel("a");
  advance(60s - 1ms);
  EXPECT_TRUE(claim_ids(1, "q").empty());
  advance(1ms);
  EXPECT_EQ(state_of("a"), kCanceled);
  EXPECT_EQ(claim_ids(1, "q"), Ids{"b"});
}

TEST_P(Pace, TheGhostOfATimedOutRunKeepsItsPermitUntilItsLeaseEnds) {
  put_queue("q", {.concurrency = 1, .timeout_ms = 10'000});
  push_each({"a", "b"}, {.queue = "q"});
  const ClaimReply held = start("a");
  advance(10s);
  EXPECT_EQ(state_of("a"), kScheduled);
  advance(10s);
  EXPECT_EQ(state_of("a"), kQueued);
  EXPECT_TRUE(claim_ids(1, "q").empty());
  EXPECT_EQ(since_start(extend(held).lease_until), 80'000);
  advance(60s);
  EXPECT_EQ(claim_ids(1, "q"), Ids{"a"});
}

TEST_P(Pace, AnIntervalIsCountedFromTheEndOfTheLastRun) {
  put_queue("q", {.interval_ms = 5'000});
  push_each({"a", "b", "c"}, {.queue = "q"});
  const ClaimReply held = claim_from("q", 3);
  EXPECT_EQ(ids_of(held), Ids{"a"});
  advance(20s);
  EXPECT_TRUE(claim_ids(3, "q").empty());
  finish(held, "a");
  const ClaimReply early = claim_from("q", 3);
  EXPECT_TRUE(early.tasks.empty());
  EXPECT_EQ(since_start(early.next_at), 25'000);
  advance(5s - 1ms);
  EXPECT_TRUE(claim_ids(3, "q").empty());
  advance(1ms);
  EXPECT_EQ(claim_ids(3, "q"), Ids{"b"});
}

TEST_P(Pace, AnIntervalCountsFromEveryReturnOfAPermit) {
  put_queue("q", {.interval_ms = 5'000});
  push_each({"a", "b"}, {.queue = "q"});
  start("a", {.lease_ms = 1'000});
  advance(1s);
  EXPECT_TRUE(claim_ids(1, "q").empty());
  advance(5s);
  EXPECT_EQ(claim_ids(1, "q"), Ids{"a"});
}

TEST_P(Pace, ARateAllowsABurstAndThenRefillsEvenly) {
  put_queue("q", {.rate = Rate{.limit = 3, .per_ms = 1'000}});
  push_each(numbered("a", 20), {.queue = "q"});
  EXPECT_EQ(claim_ids(10, "q"), (Ids{"a1", "a2", "a3"}));
  const ClaimReply none = claim_from("q", 10);
  EXPECT_TRUE(none.tasks.empty());
  EXPECT_EQ(since_start(none.next_at), 334);
  set_clock(kStart + 333ms);
  EXPECT_TRUE(claim_ids(10, "q").empty());
  set_clock(kStart + 334ms);
  EXPECT_EQ(claim_ids(10, "q"), Ids{"a4"});
  set_clock(kStart + 666ms);
  EXPECT_TRUE(claim_ids(10, "q").empty());
  set_clock(kStart + 667ms);
  EXPECT_EQ(claim_ids(10, "q"), Ids{"a5"});
  set_clock(kStart + 999ms);
  EXPECT_TRUE(claim_ids(10, "q").empty());
  set_clock(kStart + 1'000ms);
  EXPECT_EQ(claim_ids(10, "q"), Ids{"a6"});
}

TEST_P(Pace, ABucketSavesUpNoMoreThanItsBurst) {
  put_queue("q", {.rate = Rate{.limit = 10, .per_ms = 1'000, .burst = 2}});
  push_each(numbered("a", 20), {.queue = "q"});
  EXPECT_EQ(claim_ids(10, "q").size(), 2U);
  advance(100ms);
  EXPECT_EQ(claim_ids(10, "q").size(), 1U);
  advance(1h);
  EXPECT_EQ(claim_ids(10, "q").size(), 2U);
}

TEST_P(Pace, AReleaseDoesNotGiveATokenBack) {
  put_queue("q", {.rate = Rate{.limit = 1, .per_ms = 1'000}});
  push_each({"a"}, {.queue = "q"});
  release_claim(claim_from("q"));
  EXPECT_TRUE(claim_ids(1, "q").empty());
  advance(1s);
  EXPECT_EQ(claim_ids(1, "q"), Ids{"a"});
}

TEST_P(Pace, AChangedRateKeepsItsTokensCappedByTheNewBurst) {
  put_queue("q", {.rate = Rate{.limit = 10, .per_ms = 1'000}});
  push_each(numbered("a", 20), {.queue = "q"});
  EXPECT_EQ(claim_ids(4, "q").size(), 4U);
  put_queue("q", {.rate = Rate{.limit = 20, .per_ms = 100'000}});
  EXPECT_EQ(claim_ids(20, "q").size(), 6U);
  advance(5s);
  EXPECT_EQ(claim_ids(20, "q").size(), 1U);
  put_queue("q", {.rate = Rate{.limit = 2, .per_ms = 1'000}});
  advance(10s);
  EXPECT_EQ(claim_ids(20, "q").size(), 2U);
}

TEST_P(Pace, APolicyMayChangeWhileTheQueueRuns) {
  put_queue("q", {.concurrency = 2});
  push_each(numbered("a", 8), {.queue = "q"});
  const ClaimReply held = claim_from("q", 5);
  put_queue("q", {.concurrency = 1});
  finish(held, "a1");
  EXPECT_TRUE(claim_ids(5, "q").empty());
  finish(held, "a2");
  EXPECT_EQ(claim_ids(5, "q").size(), 1U);
  put_queue("q", {.concurrency = 3});
  EXPECT_EQ(claim_ids(5, "q").size(), 2U);
  put_queue("q", {});
  EXPECT_EQ(claim_ids(5, "q").size(), 3U);
}

TEST_P(Pace, APausedQueueGivesNothingUntilItIsResumed) {
  push("q", {.id = "a"});
  must(PauseQueue{.queue = "q"});
  const ClaimReply none = claim_from("q");
  EXPECT_TRUE(none.tasks.empty());
  EXPECT_EQ(none.remaining, 1);
  EXPECT_TRUE(push("q", {.id = "b"}).created);
  must(ResumeQueue{.queue = "q"});
  EXPECT_EQ(claim_ids(2, "q"), (Ids{"a", "b"}));
}

TEST_P(Pace, APausedQueueStillSettlesWhatRuns) {
  push("q", {.id = "a"});
  const ClaimReply held = start("a");
  must(PauseQueue{.queue = "q"});
  EXPECT_EQ(extend(held).lost, Ids{});
  EXPECT_TRUE(finish(held, "a").ok);
}

}  // namespace
}  // namespace retsu::conformance
