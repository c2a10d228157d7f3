// Users take turns; one of weight w has w of them in succession.

#include <map>
#include <random>

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(Fairness);

TEST_P(Fairness, UsersTakeTurns) {
  push_each(numbered("a", 3), {.user = "ann"});
  push_each(numbered("b", 3), {.user = "bob"});
  push_each(numbered("c", 3), {.user = "cem"});
  Ids got;
  for (int i = 0; i < 9; ++i) got.push_back(claim_ids().at(0));
  EXPECT_EQ(got, (Ids{"a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"}));
}

TEST_P(Fairness, AClaimForManyGoesRoundTheRing) {
  push_each(numbered("a", 10), {.user = "ann"});
  push_each(numbered("b", 10), {.user = "bob"});
  EXPECT_EQ(claim_ids(5), (Ids{"a1", "b1", "a2", "b2", "a3"}));
  EXPECT_EQ(claim_ids(2), (Ids{"b3", "a4"}));
}

TEST_P(Fairness, OneTaskAgainstAThousandIsServedSecondAtLatest) {
  std::vector<NewTask> noise(1'000, NewTask{.user = "noisy"});
  push_batch(noise);
  push({.id = "single", .user = "quiet"});
  Ids got = claim_ids();
  if (got != Ids{"single"}) got = claim_ids();
  EXPECT_EQ(got, Ids{"single"});
}

TEST_P(Fairness, AUserWhoBecomesReadyJoinsAtTheEnd) {
  push_each(numbered("a", 3), {.user = "ann"});
  push_each(numbered("b", 3), {.user = "bob"});
  claim();
  push_each(numbered("c", 2), {.user = "cem"});
  EXPECT_EQ(claim_ids(5), (Ids{"b1", "a2", "c1", "b2", "a3"}));
}

TEST_P(Fairness, AUserOfWeightThreeHasThreeTurnsInSuccession) {
  put_user("ann", {.weight = 3});
  push_each(numbered("a", 6), {.user = "ann"});
  push_each(numbered("b", 6), {.user = "bob"});
  EXPECT_EQ(claim_ids(8), (Ids{"a1", "a2", "a3", "b1", "a4", "a5", "a6", "b2"}));
}

TEST_P(Fairness, TurnsAreCountedOverClaims) {
  put_user("ann", {.weight = 2});
  push_each(numbered("a", 4), {.user = "ann"});
  push_each(numbered("b", 4), {.user = "bob"});
  Ids got;
  for (int i = 0; i < 6; ++i) got.push_back(claim_ids().at(0));
  EXPECT_EQ(got, (Ids{"a1", "a2", "b1", "a3", "a4", "b2"}));
}

TEST_P(Fairness, SharesFollowWeights) {
  put_user("ann", {.weight = 5});
  put_user("bob", {.weight = 3});
  push_batch(std::vector<NewTask>(1'000, NewTask{.user = "ann"}));
  push_batch(std::vector<NewTask>(1'000, NewTask{.user = "bob"}));
  push_batch(std::vector<NewTask>(1'000, NewTask{.user = "cem"}));
  std::map<std::string, int> got;
  for (int i = 0; i < 9; ++i) {
    for (const ClaimedTask& each : claim({.max = 100}).tasks) ++got[each.user];
  }
  EXPECT_EQ(got, (std::map<std::string, int>{{"ann", 500}, {"bob", 300}, {"cem", 100}}));
}

TEST_P(Fairness, LeavingTheRingForfeitsTheRestOfTheTurns) {
  put_user("ann", {.weight = 3});
  push_each({"a1"}, {.user = "ann"});
  push_each(numbered("b", 3), {.user = "bob"});
  EXPECT_EQ(claim_ids(), Ids{"a1"});
  push_each({"a2"}, {.user = "ann"});
  EXPECT_EQ(claim_ids(3), (Ids{"b1", "a2", "b2"}));
}

TEST_P(Fairness, AChangeOfWeightHoldsFromTheNextTurnOn) {
  push_each(numbered("a", 6), {.user = "ann"});
  push_each(numbered("b", 6), {.user = "bob"});
  EXPECT_EQ(claim_ids(2), (Ids{"a1", "b1"}));
  put_user("ann", {.weight = 3});
  EXPECT_EQ(claim_ids(5), (Ids{"a2", "a3", "a4", "b2", "a5"}));
}

TEST_P(Fairness, AWeightForOneQueueWinsOverTheOneForAll) {
  put_user("ann", {.weight = 3});
  put_user("ann", {.weight = 2}, "mail");
  for (const char* queue : {"mail", "other"}) {
    const std::string prefix = std::string(queue) + "-";
    push_each(numbered(prefix + "a", 4), {.queue = queue, .user = "ann"});
    push_each(numbered(prefix + "b", 4), {.queue = queue, .user = "bob"});
  }
  EXPECT_EQ(claim_ids(3, "mail"), (Ids{"mail-a1", "mail-a2", "mail-b1"}));
  EXPECT_EQ(claim_ids(4, "other"), (Ids{"other-a1", "other-a2", "other-a3", "other-b1"}));
}

TEST_P(Fairness, TheRingsOfQueuesAreSeparate) {
  push_each(numbered("a", 2), {.queue = "x", .user = "ann"});
  push_each(numbered("b", 2), {.queue = "x", .user = "bob"});
  push({.id = "y", .queue = "y", .user = "ann"});
  EXPECT_EQ(claim_ids(1, "x"), Ids{"a1"});
  EXPECT_EQ(claim_ids(1, "y"), Ids{"y"});
  EXPECT_EQ(claim_ids(1, "x"), Ids{"b1"});
}

TEST_P(Fairness, OfSeveralQueuesTheOneLongestUnservedIsFirst) {
  push_each(numbered("x", 5), {.queue = "x"});
  push_each(numbered("y", 5), {.queue = "y"});
  push_each(numbered("z", 5), {.queue = "z"});
  EXPECT_EQ(claim_ids(1, "y"), Ids{"y1"});
  EXPECT_EQ(claim_ids(1, "x"), Ids{"x1"});
  const ClaimReply held = claim({.queues = {"x", "y", "z"}, .max = 5});
  EXPECT_EQ(ids_of(held), (Ids{"z1", "y2", "x2", "z2", "y3"}));
}

TEST_P(Fairness, QueuesNeverServedComeInTheOrderOfTheRequest) {
  push_each({"x1"}, {.queue = "x"});
  push_each({"y1"}, {.queue = "y"});
  EXPECT_EQ(ids_of(claim({.queues = {"y", "nowhere", "x"}, .max = 2})), (Ids{"y1", "x1"}));
}

TEST_P(Fairness, AQueueThatCanGiveNothingDoesNotStandInTheWay) {
  put_queue("x", {.paused = true});
  push_each(numbered("x", 2), {.queue = "x"});
  push_each(numbered("y", 2), {.queue = "y"});
  EXPECT_EQ(ids_of(claim({.queues = {"x", "y"}, .max = 5})), (Ids{"y1", "y2"}));
}

TEST_P(Fairness, OnlyTheUsersNamedAreServed) {
  push_each(numbered("a", 2), {.user = "ann"});
  push_each(numbered("b", 2), {.user = "bob"});
  push_each(numbered("c", 2), {.user = "cem"});
  EXPECT_EQ(ids_of(claim({.users = {"cem", "bob"}, .max = 10})), (Ids{"b1", "c1", "b2", "c2"}));
  EXPECT_TRUE(claim({.users = {"cem", "nobody"}}).tasks.empty());
}

TEST_P(Fairness, StealTargetsAreServedOnlyWhenTheUsersNamedAreIdle) {
  push_each(numbered("a", 2), {.user = "ann"});
  push_each(numbered("b", 2), {.user = "bob"});
  push_each(numbered("c", 2), {.user = "cem"});
  const Claim mine{.users = {"bob"}, .steal = {"ann"}};
  Ids got;
  for (int i = 0; i < 4; ++i) got.push_back(ids_of(claim(mine)).at(0));
  EXPECT_EQ(got, (Ids{"b1", "b2", "a1", "a2"}));
  EXPECT_TRUE(claim(mine).tasks.empty());
}

TEST_P(Fairness, AClaimForManyStealsWhatTheUsersNamedCannotFill) {
  push_each(numbered("a", 3), {.user = "ann"});
  push_each({"b"}, {.user = "bob"});
  EXPECT_EQ(ids_of(claim({.users = {"bob"}, .steal = {"ann"}, .max = 3})), (Ids{"b", "a1", "a2"}));
}

TEST_P(Fairness, StealTargetsWaitForTheUsersNamedInEveryQueue) {
  push({.id = "ann-x", .queue = "x", .user = "ann"});
  push({.id = "bob-y", .queue = "y", .user = "bob"});
  const Claim mine{.queues = {"x", "y"}, .users = {"bob"}, .steal = {"ann"}};
  EXPECT_EQ(ids_of(claim(mine)), Ids{"bob-y"});
  EXPECT_EQ(ids_of(claim(mine)), Ids{"ann-x"});
}

TEST_P(Fairness, StealWithoutUsersServesOnlyTheTargets) {
  push_each({"a"}, {.user = "ann"});
  push_each({"b"}, {.user = "bob"});
  EXPECT_EQ(ids_of(claim({.steal = {"bob"}, .max = 10})), Ids{"b"});
}

TEST_P(Fairness, AUserAtItsCapOfRunningTasksIsPassedOver) {
  put_user("ann", {.max_running = 2});
  push_each(numbered("a", 4), {.user = "ann"});
  push_each(numbered("b", 4), {.user = "bob"});
  const ClaimReply held = claim({.max = 6});
  EXPECT_EQ(ids_of(held), (Ids{"a1", "b1", "a2", "b2", "b3", "b4"}));
  EXPECT_TRUE(claim().tasks.empty());
  finish(held, "a1");
  EXPECT_EQ(claim_ids(10), Ids{"a3"});
}

TEST_P(Fairness, ACapOfRunningTasksHoldsInEachQueueByItself) {
  put_user("ann", {.max_running = 1});
  push_each(numbered("x", 2), {.queue = "x", .user = "ann"});
  push_each(numbered("y", 2), {.queue = "y", .user = "ann"});
  EXPECT_EQ(ids_of(claim({.queues = {"x", "y"}, .max = 10})), (Ids{"x1", "y1"}));
}

TEST_P(Fairness, ACanceledRunCountsAgainstTheCapUntilItsWorkerLetsGo) {
  put_user("ann", {.max_running = 1});
  push_each({"a", "b"}, {.user = "ann"});
  const ClaimReply held = start("a");
  cancel("a");
  EXPECT_TRUE(claim().tasks.empty());
  EXPECT_REFUSED(finish(held, "a"), kStaleClaim);
  EXPECT_EQ(claim_ids(), Ids{"b"});
}

TEST_P(Fairness, AUserAtItsCapOfWaitingTasksIsRefused) {
  put_user("ann", {.max_waiting = 3});
  push({.id = "a1", .user = "ann"});
  push({.id = "a2", .user = "ann", .run_at = kStart + 1h});
  push({.id = "a3", .user = "ann", .depends_on = {{"a1"}}});
  const Result<Pushed> refused = try_push({.id = "a4", .user = "ann"});
  EXPECT_REFUSED(refused, kOverloaded);
  EXPECT_EQ(refused.error().retry_after, 1'000ms);
  EXPECT_TRUE(push({.id = "b", .user = "bob"}).created);
  start("a1");
  EXPECT_TRUE(push({.id = "a4", .user = "ann"}).created);
}

TEST_P(Fairness, ABatchThatWouldExceedACapIsRefusedWhole) {
  put_user("ann", {.max_waiting = 2});
  const Snapshot before = everything();
  EXPECT_REFUSED(ask(Push{.tasks = std::vector<NewTask>(3, NewTask{.user = "ann"})}), kOverloaded);
  EXPECT_TRUE(is_same(before, everything()));
}

TEST_P(Fairness, AUserAtItsCapOfWaitingBytesIsRefused) {
  put_user("ann", {.max_waiting_bytes = 100});
  push({.id = "a", .user = "ann", .payload = json_of_size(60)});
  EXPECT_REFUSED(try_push({.id = "b", .user = "ann", .payload = json_of_size(41)}), kOverloaded);
  EXPECT_TRUE(push({.id = "c", .user = "ann", .payload = json_of_size(40)}).created);
  start("a");
  EXPECT_TRUE(push({.id = "d", .user = "ann", .payload = json_of_size(60)}).created);
}

TEST_P(Fairness, AFullQueueRefusesByNumberAndByBytes) {
  begin({.queue_tasks = 3, .queue_bytes = 100});
  push_each(numbered("a", 3), {.payload = json_of_size(10)});
  const Result<Pushed> refused = try_push({.user = "bob", .payload = "1"});
  EXPECT_REFUSED(refused, kOverloaded);
  EXPECT_EQ(refused.error().retry_after, 1'000ms);
  push("big", {.payload = json_of_size(90)});
  EXPECT_REFUSED(try_push({.queue = "big", .payload = json_of_size(20)}), kOverloaded);
  EXPECT_TRUE(push("big", {.payload = json_of_size(10)}).created);
}

// The promise itself: whatever was pushed and whatever was served, the head of a user's line waits
// for at most w tasks of each other user.
TEST_P(Fairness, TheHeadOfALineWaitsForAtMostWTasksOfEachOtherUser) {
  std::mt19937 random(20'300'101);  // NOLINT: the same run every time
  const std::map<std::string, int> weights = {{"u1", 1}, {"u2", 2}, {"u3", 3}, {"u4", 5}};
  for (const auto& [user, weight] : weights) put_user(user, {.weight = weight});
  std::map<std::string, int> queued;
  std::map<std::string, std::map<std::string, int>>
      served_since;  // by waiting user, by served user
  for (int step = 0; step < 2'000; ++step) {
    const std::string user = "u" + std::to_string(1 + random() % 4);
    if (random() % 2 == 0) {
      if (queued[user]++ == 0) served_since[user].clear();
      push({.user = user});
      continue;
    }
    const ClaimReply held = claim();
    if (held.tasks.empty()) continue;
    const std::string served = held.tasks.at(0).user;
    finish(held, held.tasks.at(0).id);
    --queued[served];
    for (const auto& [waiting, count] : queued) {
      if (count == 0) continue;
      if (waiting == served) {
        served_since[waiting].clear();
      } else {
        ASSERT_LE(++served_since[waiting][served], weights.at(served))
            << waiting << " waits for " << served << " at step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace retsu::conformance
