// A running task that pushes children and suspends until each has ended.

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(Await);

using Inputs = std::map<std::string, Input>;

TEST_P(Await, TheParentSuspendsAndItsChildrenAreQueued) {
  push({.id = "p"});
  const Settled settled = await(start("p"), "p", {{.id = "c1"}, {.id = "c2"}});
  EXPECT_TRUE(settled.ok);
  EXPECT_EQ(settled.state, kDeferred);
  EXPECT_EQ(state_of("p"), kDeferred);
  EXPECT_EQ(state_of("c1"), kQueued);
  EXPECT_EQ(state_of("c2"), kQueued);
  EXPECT_EQ(blocked_by("p"), (Ids{"c1", "c2"}));
  EXPECT_EQ(counter("awaited"), 1);
}

TEST_P(Await, TheParentGoesOnAtTheFrontWhenEachChildHasEndedInAnyWay) {
  push({.id = "p"});
  await(start("p"), "p", {{.id = "c1"}, {.id = "c2"}, {.id = "c3"}});
  push({.id = "other", .priority = {kCritical}, .placement = Placement::kFront});
  cancel("c3");
  EXPECT_EQ(state_of("p"), kDeferred);
  run("other");
  run("c1", R"("one")");
  EXPECT_EQ(state_of("p"), kDeferred);
  push({.id = "late", .priority = {kCritical}});
  run("late");
  run_and_reject("c2");
  EXPECT_EQ(state_of("p"), kQueued);
  const ClaimReply held = start("p");
  EXPECT_EQ(
      held.tasks.at(0).inputs,
      (Inputs{{"c1", {kFinished, R"("one")"}}, {"c2", {kFailed, {}}}, {"c3", {kCanceled, {}}}}));
}

TEST_P(Await, TheParentIsAheadOfWhatWaitsInItsLine) {
  push({.id = "p"});
  await(start("p"), "p", {{.id = "c", .user = "child"}});
  push({.id = "critical", .priority = {kCritical}});
  push({.id = "front", .placement = Placement::kFront});
  run("c");
  EXPECT_EQ(ids_of(claim({.users = {"anonymous"}, .max = 10})), (Ids{"p", "front", "critical"}));
}

TEST_P(Await, CostsNoAttempt) {
  push({.id = "p", .max_attempts = 1});
  await(start("p"), "p", {{.id = "c"}});
  EXPECT_EQ(task("p").attempts, 0);
  run("c");
  const ClaimReply held = start("p");
  EXPECT_EQ(held.tasks.at(0).attempt, 1);
  EXPECT_TRUE(finish(held, "p").ok);
  ASSERT_EQ(task("p").history.size(), 1U);
  EXPECT_EQ(task("p").history.at(0).outcome, "await");
}

TEST_P(Await, AChildThatIsTriedAgainIsStillAwaited) {
  push({.id = "p"});
  await(start("p"), "p", {{.id = "c"}});
  fail(start("c"), "c");
  EXPECT_EQ(state_of("p"), kDeferred);
  advance(2s);
  run("c");
  EXPECT_EQ(state_of("p"), kQueued);
}

TEST_P(Await, AParentMayAwaitAgain) {
  push({.id = "p"});
  await(start("p"), "p", {{.id = "c1"}});
  run("c1", "1");
  await(start("p"), "p", {{.id = "c2"}});
  EXPECT_EQ(state_of("p"), kDeferred);
  run("c2", "2");
  const Inputs inputs = start("p").tasks.at(0).inputs;
  EXPECT_EQ(inputs.at("c2"), (Input{kFinished, "2"}));
}

TEST_P(Await, AnExistingIdIsAwaitedAsTheTaskItIs) {
  push({.id = "known", .queue = "q", .payload = "7"});
  push({.id = "p"});
  await(start("p"), "p", {{.id = "known", .payload = "8"}});
  EXPECT_EQ(task("known").payload, Json("7"));
  EXPECT_EQ(blocked_by("p"), Ids{"known"});
  run("known");
  EXPECT_EQ(state_of("p"), kQueued);
}

TEST_P(Await, AnAbsorbedChildIsAwaitedAsItsHolder) {
  push({.id = "holder", .queue = "q", .unique_key = "k"});
  push({.id = "p"});
  await(start("p"), "p", {{.id = "c", .queue = "q", .unique_key = "k"}});
  EXPECT_EQ(blocked_by("p"), Ids{"holder"});
  run("holder");
  EXPECT_EQ(state_of("p"), kQueued);
}

TEST_P(Await, AChildThatHasEndedIsNotWaitedFor) {
  push({.id = "known", .queue = "q"});
  run("known", "3");
  push({.id = "p"});
  EXPECT_TRUE(await(start("p"), "p", {{.id = "known"}}).ok);
  EXPECT_EQ(state_of("p"), kQueued);
  EXPECT_EQ(start("p").tasks.at(0).inputs.at("known"), (Input{kFinished, "3"}));
}

TEST_P(Await, OfOneselfOrAnAncestorIsACycle) {
  push({.id = "p"});
  const ClaimReply parent = start("p");
  EXPECT_REFUSED(await(parent, "p", {{.id = "p"}}), kDependencyCycle);
  EXPECT_EQ(state_of("p"), kStarted);
  await(parent, "p", {{.id = "c"}});
  const ClaimReply child = start("c");
  const Snapshot before = everything();
  EXPECT_REFUSED(await(child, "c", {{.id = "new"}, {.id = "p"}}), kDependencyCycle);
  EXPECT_TRUE(is_same(before, everything()));
  EXPECT_EQ(state_of("c"), kStarted);
}

TEST_P(Await, AChildThatDependsOnItsParentIsACycle) {
  push({.id = "p"});
  const ClaimReply held = start("p");
  EXPECT_REFUSED(await(held, "p", {{.id = "c", .depends_on = {{"p"}}}}), kDependencyCycle);
  EXPECT_EQ(state_of("p"), kStarted);
  EXPECT_FALSE(exists("c"));
}

TEST_P(Await, WhoDependsOnAParentWaitsUntilItHasFinished) {
  push({.id = "p"});
  push({.id = "after", .depends_on = {{"p"}}});
  await(start("p"), "p", {{.id = "c"}});
  run("c");
  EXPECT_EQ(state_of("after"), kDeferred);
  run("p");
  EXPECT_EQ(state_of("after"), kQueued);
}

TEST_P(Await, CancelingAParentLeavesItsChildren) {
  push({.id = "p"});
  await(start("p"), "p", {{.id = "c"}});
  cancel("p");
  EXPECT_EQ(state_of("c"), kQueued);
  run("c");
  EXPECT_EQ(state_of("p"), kCanceled);
}

TEST_P(Await, ChildrenAreNotRefusedByAFullQueue) {
  begin({.queue_tasks = 2});
  push({.id = "p"});
  const ClaimReply held = start("p");
  push_each({"a", "b"});
  EXPECT_TRUE(await(held, "p", {{.id = "c1"}, {.id = "c2"}}).ok);
  EXPECT_EQ(state_of("c2"), kQueued);
}

TEST_P(Await, GivesThePermitBackUnlessTheQueueSaysOtherwise) {
  put_queue("q", {.concurrency = 1});
  push("q", {.id = "p"});
  push("q", {.id = "next"});
  await(start("p"), "p", {{.id = "c", .queue = "q"}});
  EXPECT_EQ(queue_info("q").running, 0);
  EXPECT_EQ(claim_ids(1, "q"), Ids{"next"});
}

TEST_P(Await, AParentMayKeepItsPermitAndGoesOnOutOfTurn) {
  put_queue("q", {.concurrency = 1, .await_keeps_permit = true});
  push("q", {.id = "other", .user = "bob"});
  push("q", {.id = "p", .user = "ann"});
  await(start("p"), "p", {{.id = "c", .queue = "children"}});
  EXPECT_EQ(queue_info("q").running, 1);
  EXPECT_TRUE(claim_ids(1, "q").empty());
  run("c");
  const ClaimReply held = claim_from("q", 10);
  EXPECT_EQ(ids_of(held), Ids{"p"});
  finish(held, "p");
  EXPECT_EQ(claim_ids(10, "q"), Ids{"other"});
}

TEST_P(Await, AParentThatKeptItsPermitWaitsForAPauseAndCountsForTheRate) {
  put_queue("q", {.rate = Rate{.limit = 1, .per_ms = 10'000}, .await_keeps_permit = true});
  push("q", {.id = "p"});
  await(start("p"), "p", {{.id = "c", .queue = "children"}});
  run("c");
  EXPECT_TRUE(claim_ids(1, "q").empty());
  must(PauseQueue{.queue = "q"});
  advance(10s);
  EXPECT_TRUE(claim_ids(1, "q").empty());
  must(ResumeQueue{.queue = "q"});
  EXPECT_EQ(claim_ids(1, "q"), Ids{"p"});
  push("q", {.id = "next"});
  EXPECT_TRUE(claim_ids(1, "q").empty());
}

TEST_P(Await, AParentThatKeptItsPermitGoesOnlyToClaimsForItsUser) {
  put_queue("q", {.concurrency = 1, .await_keeps_permit = true});
  push("q", {.id = "p", .user = "ann"});
  await(start("p"), "p", {{.id = "c", .queue = "children"}});
  run("c");
  EXPECT_TRUE(claim({.queues = {"q"}, .users = {"bob"}}).tasks.empty());
  EXPECT_EQ(ids_of(claim({.queues = {"q"}, .users = {"ann"}})), Ids{"p"});
}

TEST_P(Await, APermitKeptComesBackWhenTheParentIsCanceled) {
  put_queue("q", {.concurrency = 1, .await_keeps_permit = true});
  push("q", {.id = "p"});
  push("q", {.id = "next"});
  await(start("p"), "p", {{.id = "c", .queue = "children"}});
  cancel("p");
  EXPECT_EQ(queue_info("q").running, 0);
  EXPECT_EQ(claim_ids(1, "q"), Ids{"next"});
}

TEST_P(Await, WhereThePermitIsKeptAChildOfTheSameQueueIsRefused) {
  put_queue("q", {.concurrency = 1, .await_keeps_permit = true});
  push("q", {.id = "p"});
  const ClaimReply held = start("p");
  const Settled refused = await(held, "p", {{.id = "c", .queue = "q"}});
  EXPECT_FALSE(refused.ok);
  EXPECT_TRUE(refused.error);
  EXPECT_EQ(state_of("p"), kStarted);
  EXPECT_FALSE(exists("c"));
  EXPECT_TRUE(finish(held, "p").ok);
}

TEST_P(Await, ARepeatedAwaitAnswersAsTheFirstTime) {
  push({.id = "p"});
  const ClaimReply held = start("p");
  const Settled first = await(held, "p", {{.id = "c"}});
  EXPECT_EQ(await(held, "p", {{.id = "c"}}), first);
  EXPECT_EQ(counter("awaited"), 1);
}

}  // namespace
}  // namespace retsu::conformance
