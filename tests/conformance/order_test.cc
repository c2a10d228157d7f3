// Inside one user's line: front, then critical, then priority with aging.

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(Order);

TEST_P(Order, OfEqualPriorityTheOldestIsFirst) {
  push_each({"a", "b"});
  advance(1ms);
  push_each({"c"});
  EXPECT_EQ(claim_ids(10), (Ids{"a", "b", "c"}));
}

TEST_P(Order, PrioritiesOneToFiveAreServedHighestFirst) {
  for (int priority = 1; priority <= 5; ++priority) {
    push({.id = "p" + std::to_string(priority), .priority = {priority}});
  }
  EXPECT_EQ(claim_ids(10), (Ids{"p5", "p4", "p3", "p2", "p1"}));
}

TEST_P(Order, AStepOfPriorityIsWorthTenMinutesOfWaiting) {
  push({.id = "old", .priority = {1}});
  advance(10min - 1ms);
  push({.id = "just_in_time", .priority = {2}});
  advance(1ms);
  push({.id = "tie", .priority = {2}});
  advance(1ms);
  push({.id = "late", .priority = {2}});
  EXPECT_EQ(claim_ids(10), (Ids{"just_in_time", "old", "tie", "late"}));
}

TEST_P(Order, PriorityOneIsOvertakenOnlyByWhatArrivesWithinFourSteps) {
  push({.id = "old", .priority = {1}});
  advance(40min - 1ms);
  push({.id = "within", .priority = {5}});
  advance(1ms);
  push({.id = "at_the_bound", .priority = {5}});
  EXPECT_EQ(claim_ids(10), (Ids{"within", "old", "at_the_bound"}));
}

TEST_P(Order, AQueueMayHaveAnotherAging) {
  put_queue("q", {.aging_ms = {1'000}});
  push("q", {.id = "old", .priority = {1}});
  advance(999ms);
  push("q", {.id = "within", .priority = {2}});
  advance(2ms);
  push("q", {.id = "late", .priority = {2}});
  EXPECT_EQ(claim_ids(10, "q"), (Ids{"within", "old", "late"}));
}

TEST_P(Order, WithAnAgingOfZeroPriorityDoesNotMatter) {
  put_queue("q", {.aging_ms = {0}});
  push("q", {.id = "a", .priority = {1}});
  push("q", {.id = "b", .priority = {5}});
  push("q", {.id = "c", .priority = {3}});
  EXPECT_EQ(claim_ids(10, "q"), (Ids{"a", "b", "c"}));
}

TEST_P(Order, StrictPriorityNeverAges) {
  put_queue("q", {.aging_ms = kStrictAging});
  push("q", {.id = "old", .priority = {4}});
  advance(24h * 365);
  push("q", {.id = "low", .priority = {1}});
  push("q", {.id = "high", .priority = {5}});
  EXPECT_EQ(claim_ids(10, "q"), (Ids{"high", "old", "low"}));
}

TEST_P(Order, AChangeOfAgingHoldsForWhatIsQueuedLater) {
  push("q", {.id = "low", .priority = {1}});
  push("q", {.id = "high", .priority = {5}});
  put_queue("q", {.aging_ms = {0}});
  advance(1ms);
  push("q", {.id = "later", .priority = {5}});
  EXPECT_EQ(claim_ids(10, "q"), (Ids{"high", "low", "later"}));
}

TEST_P(Order, TheAgeIsCountedFromTheMomentOfQueuing) {
  push({.id = "waits", .run_at = kStart + 1h});
  advance(30min);
  push({.id = "queued_before_it"});
  advance(1h);
  push({.id = "queued_after_it"});
  EXPECT_EQ(claim_ids(10), (Ids{"queued_before_it", "waits", "queued_after_it"}));
}

TEST_P(Order, TasksDueTogetherKeepTheOrderOfTheirArrival) {
  push_each({"c", "a", "b"}, {.run_at = kStart + 1min});
  advance(1h);
  EXPECT_EQ(claim_ids(10), (Ids{"c", "a", "b"}));
}

TEST_P(Order, CriticalComesBeforeEveryPriorityHoweverOld) {
  push({.id = "old", .priority = {5}});
  advance(24h);
  push({.id = "critical", .priority = {kCritical}});
  EXPECT_EQ(claim_ids(10), (Ids{"critical", "old"}));
}

TEST_P(Order, CriticalTasksAreFirstInFirstOut) {
  for (int i = 1; i <= 20; ++i) {
    push({.id = "c" + std::to_string(i), .priority = {kCritical}});
    if (i % 3 == 0) advance(1min);
  }
  EXPECT_EQ(claim_ids(20), numbered("c", 20));
}

TEST_P(Order, FrontComesBeforeCritical) {
  push({.id = "critical", .priority = {kCritical}});
  push({.id = "front", .priority = {1}, .placement = Placement::kFront});
  EXPECT_EQ(claim_ids(10), (Ids{"front", "critical"}));
}

TEST_P(Order, TheLatestFrontPushComesFirst) {
  push_each({"a"});
  push_each({"f1", "f2", "f3"}, {.placement = Placement::kFront});
  EXPECT_EQ(claim_ids(10), (Ids{"f3", "f2", "f1", "a"}));
}

TEST_P(Order, ABatchOfFrontPushesKeepsItsOrder) {
  push_each({"a"});
  push_batch(
      {{.id = "f1", .placement = Placement::kFront}, {.id = "f2", .placement = Placement::kFront}});
  push_batch(
      {{.id = "g1", .placement = Placement::kFront}, {.id = "g2", .placement = Placement::kFront}});
  EXPECT_EQ(claim_ids(10), (Ids{"g1", "g2", "f1", "f2", "a"}));
}

TEST_P(Order, ABatchOfBackPushesKeepsItsOrder) {
  push_batch({{.id = "a"}, {.id = "b"}, {.id = "c"}});
  EXPECT_EQ(claim_ids(10), (Ids{"a", "b", "c"}));
}

TEST_P(Order, FrontMovesAWaitingTaskUp) {
  push_each({"a", "b", "c"});
  EXPECT_EQ(front("c").state, kQueued);
  front("b");
  EXPECT_EQ(claim_ids(10), (Ids{"b", "c", "a"}));
}

TEST_P(Order, FrontIsOnlyAheadOfItsOwnUsersLine) {
  push({.id = "a", .user = "ann"});
  push({.id = "b1", .user = "bob"});
  push({.id = "b2", .user = "bob", .placement = Placement::kFront});
  EXPECT_EQ(claim_ids(10), (Ids{"a", "b2", "b1"}));
}

TEST_P(Order, AScheduledTaskSentToTheFrontGoesThereWhenItIsDue) {
  push({.id = "scheduled", .run_at = kStart + 1min});
  EXPECT_EQ(front("scheduled").state, kScheduled);
  push({.id = "a", .priority = {kCritical}});
  advance(1min);
  EXPECT_EQ(claim_ids(10), (Ids{"scheduled", "a"}));
}

TEST_P(Order, ADeferredTaskPushedToTheFrontGoesThereWhenItIsFreed) {
  push({.id = "first"});
  push({.id = "then", .depends_on = {{"first"}}, .placement = Placement::kFront});
  const ClaimReply held = start("first");
  push_each({"a"});
  finish(held, "first");
  EXPECT_EQ(claim_ids(10), (Ids{"then", "a"}));
}

TEST_P(Order, ARetryThatIsDueGoesToTheFront) {
  push("q", {.id = "a"});
  const ClaimReply held = start("a");
  push("q", {.id = "b", .priority = {kCritical}});
  fail(held, "a");
  advance(2s);
  EXPECT_EQ(claim_ids(10, "q"), (Ids{"a", "b"}));
}

TEST_P(Order, AThrottledTaskGoesToTheFront) {
  push_each({"a", "b"});
  throttle(start("a"), "a", 5s);
  advance(5s);
  EXPECT_EQ(claim_ids(10), (Ids{"a", "b"}));
}

TEST_P(Order, ReleasedTasksGoToTheFrontInTheOrderOfTheirClaim) {
  push_each(numbered("a", 5));
  const ClaimReply held = claim({.max = 3});
  EXPECT_EQ(release_claim(held), 3);
  EXPECT_EQ(claim_ids(10), numbered("a", 5));
}

TEST_P(Order, AnExpiredLeaseBringsItsTasksBackInTheOrderOfTheirClaim) {
  push_each(numbered("a", 5));
  claim({.max = 3, .lease_ms = 1'000});
  advance(1s);
  EXPECT_EQ(claim_ids(10), numbered("a", 5));
}

TEST_P(Order, ARedrivenTaskGoesToTheBack) {
  push_each({"a", "b"});
  run_and_reject("a");
  advance(1ms);
  redrive("a");
  EXPECT_EQ(claim_ids(10), (Ids{"b", "a"}));
}

TEST_P(Order, TasksFreedTogetherKeepTheOrderOfTheirArrival) {
  push({.id = "first"});
  push_each(numbered("d", 5), {.depends_on = {{"first"}}});
  run("first");
  EXPECT_EQ(claim_ids(10), numbered("d", 5));
}

}  // namespace
}  // namespace retsu::conformance
