// At most one task per queue and key that is live, or FINISHED and retained.

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(UniqueKeys);

TEST_P(UniqueKeys, AHeldKeyAbsorbsThePush) {
  push({.id = "holder", .payload = "1", .unique_key = "k"});
  const Pushed absorbed = push({.id = "second", .payload = "2", .unique_key = "k"});
  EXPECT_EQ(absorbed.id, "holder");
  EXPECT_FALSE(absorbed.created);
  EXPECT_EQ(absorbed.state, kQueued);
  EXPECT_EQ(task("holder").payload, Json("1"));
  EXPECT_EQ(claim_ids(10), Ids{"holder"});
  EXPECT_EQ(counter("pushed"), 1);
  EXPECT_EQ(counter("absorbed"), 1);
}

TEST_P(UniqueKeys, AKeyIsHeldInEveryLiveStateAndByARetainedResult) {
  for (const State state : {kScheduled, kDeferred, kQueued, kStarted, kFinished}) {
    const std::string id(name_of(state));
    make(state, id, {.queue = "q", .user = id, .unique_key = id});
    const Pushed absorbed = push("q", {.id = "new-" + id, .unique_key = id});
    EXPECT_EQ(absorbed.id, id);
    EXPECT_EQ(absorbed.state, state);
    EXPECT_FALSE(absorbed.created);
  }
}

TEST_P(UniqueKeys, AKeyIsFreeAfterAFailureOrACancel) {
  for (const State state : {kFailed, kCanceled}) {
    const std::string id(name_of(state));
    make(state, id, {.queue = "q", .user = id, .unique_key = id});
    EXPECT_TRUE(push("q", {.id = "new-" + id, .unique_key = id}).created);
  }
}

TEST_P(UniqueKeys, AKeyIsHeldWhileItsTaskIsRetried) {
  push({.id = "a", .unique_key = "k"});
  fail(start("a"), "a");
  EXPECT_EQ(push({.unique_key = "k"}).id, "a");
  advance(2s);
  EXPECT_EQ(push({.unique_key = "k"}).id, "a");
  EXPECT_EQ(claim_ids(10), Ids{"a"});
}

TEST_P(UniqueKeys, KeysOfDifferentQueuesAreDifferent) {
  EXPECT_TRUE(push("x", {.id = "a", .unique_key = "k"}).created);
  EXPECT_TRUE(push("y", {.id = "b", .unique_key = "k"}).created);
  EXPECT_TRUE(push("y", {.id = "c"}).created);
}

TEST_P(UniqueKeys, ARetainedResultIsReturned) {
  push({.id = "a", .unique_key = "isbn:978"});
  run("a", R"({"title":"列"})");
  const Pushed again = push({.unique_key = "isbn:978"});
  EXPECT_EQ(again.state, kFinished);
  EXPECT_EQ(task(again.id).result, Json(R"({"title":"列"})"));
}

TEST_P(UniqueKeys, AKeyIsFreeWhenItsResultIsGone) {
  push({.id = "a", .unique_key = "k"});
  run("a");
  remove("a");
  EXPECT_TRUE(push({.id = "b", .unique_key = "k"}).created);
  run("b");
  advance(24h);
  EXPECT_TRUE(push({.id = "c", .unique_key = "k"}).created);
}

TEST_P(UniqueKeys, TheSameKeyTwiceInABatchIsOneTask) {
  const std::vector<Pushed> pushed =
      push_batch({{.id = "a", .unique_key = "k"}, {.id = "b", .unique_key = "k"}});
  EXPECT_TRUE(pushed.at(0).created);
  EXPECT_FALSE(pushed.at(1).created);
  EXPECT_EQ(pushed.at(1).id, "a");
}

TEST_P(UniqueKeys, APushToTheFrontMovesTheWaitingHolderUp) {
  push_each({"x"});
  push({.id = "a", .unique_key = "k"});
  push({.unique_key = "k"});
  EXPECT_EQ(task("a").placement, Placement::kBack);
  push({.unique_key = "k", .placement = Placement::kFront});
  EXPECT_EQ(claim_ids(10), (Ids{"a", "x"}));
}

TEST_P(UniqueKeys, AnAbsorbedBatchToTheFrontKeepsItsOrder) {
  push_each({"x"});
  push({.id = "a", .unique_key = "ka"});
  push({.id = "b", .unique_key = "kb"});
  push_batch({{.unique_key = "kb", .placement = Placement::kFront},
              {.unique_key = "ka", .placement = Placement::kFront}});
  EXPECT_EQ(claim_ids(10), (Ids{"b", "a", "x"}));
}

TEST_P(UniqueKeys, APushToTheFrontMovesAHolderThatIsNotYetQueuedWhenItIs) {
  push({.id = "a", .run_at = kStart + 1s, .unique_key = "k"});
  push({.unique_key = "k", .placement = Placement::kFront});
  push({.id = "x", .priority = {kCritical}});
  EXPECT_EQ(state_of("a"), kScheduled);
  advance(1s);
  EXPECT_EQ(claim_ids(10), (Ids{"a", "x"}));
}

TEST_P(UniqueKeys, APushToTheFrontLeavesARunningHolderAlone) {
  push({.id = "a", .unique_key = "k"});
  start("a");
  push({.unique_key = "k", .placement = Placement::kFront});
  EXPECT_EQ(state_of("a"), kStarted);
  EXPECT_TRUE(claim_ids().empty());
}

TEST_P(UniqueKeys, TheIdOfAnAbsorbedPushIsAnAlias) {
  push({.id = "holder", .unique_key = "k"});
  push({.id = "alias", .unique_key = "k"});
  EXPECT_EQ(task("alias").id, "holder");
  const Pushed again = push({.id = "alias", .queue = "elsewhere"});
  EXPECT_EQ(again.id, "holder");
  EXPECT_FALSE(again.created);
  EXPECT_EQ(must(Stats{}).remembered_ids, 1);
}

TEST_P(UniqueKeys, AnIdThatTheBrokerChoseIsNoAlias) {
  push({.id = "holder", .unique_key = "k"});
  push({.unique_key = "k"});
  EXPECT_EQ(must(Stats{}).remembered_ids, 0);
}

TEST_P(UniqueKeys, AnAliasLivesAsLongAsItsHolder) {
  push({.id = "holder", .unique_key = "k"});
  push({.id = "alias", .unique_key = "k"});
  run("holder", "1");
  EXPECT_EQ(task("alias").result, Json("1"));
  EXPECT_FALSE(push({.id = "alias"}).created);
}

TEST_P(UniqueKeys, AnAliasLivesAsLongAsTheTombstoneOfItsHolder) {
  push({.id = "holder", .unique_key = "k"});
  push({.id = "alias", .unique_key = "k"});
  run("holder");
  remove("holder");
  const Pushed again = push({.id = "alias"});
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.state, kFinished);
  advance(73h);
  EXPECT_TRUE(push({.id = "alias"}).created);
}

TEST_P(UniqueKeys, AnAliasIsKeptForAHolderWhoseIdWasGenerated) {
  const std::string holder = push({.unique_key = "k"}).id;
  push({.id = "alias", .unique_key = "k"});
  run(holder);
  remove(holder);
  EXPECT_FALSE(push({.id = "alias"}).created);
}

TEST_P(UniqueKeys, ARedriveIsRefusedWhileAnotherHoldsTheKey) {
  push({.id = "a", .unique_key = "k"});
  run_and_reject("a");
  push({.id = "b", .unique_key = "k"});
  const Snapshot before = everything();
  EXPECT_REFUSED(ask(RetryTask{.id = "a"}), kConflict);
  EXPECT_TRUE(is_same(before, everything()));
  cancel("b");
  EXPECT_EQ(redrive("a").state, kQueued);
}

TEST_P(UniqueKeys, ARedrivenTaskHoldsItsKeyAgain) {
  push({.id = "a", .unique_key = "k"});
  run_and_reject("a");
  redrive("a");
  EXPECT_EQ(push({.unique_key = "k"}).id, "a");
}

}  // namespace
}  // namespace retsu::conformance
