// Taking tasks under a claim: leases, fences, chosen ids, release.

#include <algorithm>
#include <set>
#include <thread>

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(Claims);

TEST_P(Claims, AClaimBringsTheTaskWithAllThatItsWorkerNeeds) {
  push({.id = "a",
        .queue = "q",
        .user = "ann",
        .type = "send",
        .priority = {4},
        .payload = R"({"to":"bob"})",
        .unique_key = "k",
        .timeout_ms = 5'000,
        .max_attempts = 7,
        .tags = {"red"},
        .trace = "trace"});
  advance(1s);
  const ClaimReply held = claim_from("q");
  ASSERT_EQ(held.tasks.size(), 1U);
  const ClaimedTask& got = held.tasks.at(0);
  EXPECT_FALSE(held.claim_id.empty());
  EXPECT_EQ(since_start(held.lease_until), 61'000);
  EXPECT_EQ(got.id, "a");
  EXPECT_EQ(got.queue, "q");
  EXPECT_EQ(got.user, "ann");
  EXPECT_EQ(got.type, "send");
  EXPECT_EQ(got.priority.value, 4);
  EXPECT_EQ(got.payload, Json(R"({"to":"bob"})"));
  EXPECT_EQ(got.attempt, 1);
  EXPECT_EQ(got.max_attempts, 7);
  EXPECT_EQ(since_start(got.created_at), 0);
  EXPECT_EQ(since_start(got.timeout_at), 6'000);
  EXPECT_TRUE(got.inputs.empty());
  EXPECT_EQ(got.unique_key, "k");
  EXPECT_EQ(got.tags, std::vector<std::string>{"red"});
  EXPECT_EQ(got.trace, "trace");
}

TEST_P(Claims, AClaimTakesAtMostAsManyAsItAsksForAndSaysHowManyRemain) {
  push_each(numbered("a", 5));
  push({.id = "later", .run_at = kStart + 1h});
  const ClaimReply held = claim({.max = 3});
  EXPECT_EQ(held.tasks.size(), 3U);
  EXPECT_EQ(held.remaining, 2);
  EXPECT_EQ(claim({.max = 10}).tasks.size(), 2U);
}

TEST_P(Claims, RemainingCountsTheseQueuesAndUsersPaceAside) {
  put_queue("x", {.concurrency = 1});
  push_each(numbered("a", 3), {.queue = "x", .user = "ann"});
  push_each(numbered("b", 4), {.queue = "x", .user = "bob"});
  push_each(numbered("y", 5), {.queue = "y", .user = "ann"});
  EXPECT_EQ(claim_from("x").remaining, 6);
  EXPECT_EQ(claim_from("x").remaining, 6);
  EXPECT_EQ(claim({.queues = {"x"}, .users = {"bob"}}).remaining, 4);
  EXPECT_EQ(claim({.queues = {"y", "x"}, .users = {"ann"}}).remaining, 2 + 4);
  EXPECT_EQ(claim_from("nowhere").remaining, 0);
}

TEST_P(Claims, AnEmptyClaimStoresNothing) {
  const Snapshot before = everything();
  EXPECT_TRUE(claim({.claim_id = "mine"}).tasks.empty());
  EXPECT_TRUE(is_same(before, everything()));
}

TEST_P(Claims, TwoClaimsNeverShareATask) {
  push_batch(std::vector<NewTask>(400));
  std::vector<std::vector<std::string>> got(4);
  {
    std::vector<std::jthread> workers;
    for (auto& mine : got) {
      workers.emplace_back([&mine, &broker = broker()] {
        while (true) {
          const Result<ClaimReply> held = call(broker, Claim{.max = 7});
          if (!held || held->tasks.empty()) return;
          for (const ClaimedTask& each : held->tasks) mine.push_back(each.id);
        }
      });
    }
  }
  std::set<std::string> all;
  std::size_t total = 0;
  for (const auto& mine : got) {
    total += mine.size();
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(total, 400U);
  EXPECT_EQ(all.size(), 400U);
}

TEST_P(Claims, FencesRiseByOneWithEachTaskOverAllQueues) {
  push_each(numbered("x", 3), {.queue = "x"});
  push_each(numbered("y", 3), {.queue = "y"});
  const std::int64_t first = claim_from("x").tasks.at(0).fence;
  EXPECT_EQ(claim_from("y").tasks.at(0).fence, first + 1);
  claim_from("nowhere");
  const ClaimReply held = claim({.queues = {"x", "y"}, .max = 2});
  EXPECT_EQ(held.tasks.at(0).fence, first + 2);
  EXPECT_EQ(held.tasks.at(1).fence, first + 3);
}

TEST_P(Claims, ALeaseEndsAtItsMomentAndNotBefore) {
  push({.id = "a"});
  start("a");
  advance(60s - 1ms);
  EXPECT_EQ(state_of("a"), kStarted);
  advance(1ms);
  EXPECT_EQ(state_of("a"), kQueued);
  EXPECT_EQ(task("a").attempts, 1);
  EXPECT_EQ(counter("lease_expired"), 1);
}

TEST_P(Claims, TheLeaseIsTheQueuesUnlessTheClaimNamesOne) {
  put_queue("x", {.lease_ms = 5'000});
  put_queue("y", {.lease_ms = 9'000});
  push_each({"x1", "x2", "x3"}, {.queue = "x"});
  push_each({"y1"}, {.queue = "y"});
  EXPECT_EQ(since_start(claim_from("x").lease_until), 5'000);
  EXPECT_EQ(since_start(claim({.queues = {"x"}, .lease_ms = 700}).lease_until), 700);
  EXPECT_EQ(since_start(claim({.queues = {"x", "y"}, .max = 2}).lease_until), 9'000);
}

TEST_P(Claims, ALeaseOfZeroLastsUntilItIsReleased) {
  push({.id = "a", .timeout_ms = 0});
  const ClaimReply held = start("a", {.lease_ms = 0});
  EXPECT_FALSE(held.lease_until);
  advance(24h * 365);
  EXPECT_EQ(state_of("a"), kStarted);
  EXPECT_EQ(release_claim(held), 1);
  EXPECT_EQ(state_of("a"), kQueued);
}

TEST_P(Claims, AWorkerThatSleptPastItsLeaseCannotFinishWhatAnotherIsRunning) {
  push({.id = "a"});
  const ClaimReply slept = start("a");
  advance(60s);
  const ClaimReply current = start("a");
  EXPECT_GT(current.tasks.at(0).fence, slept.tasks.at(0).fence);
  EXPECT_REFUSED(finish(slept, "a"), kStaleClaim);
  EXPECT_EQ(state_of("a"), kStarted);
  EXPECT_TRUE(finish(current, "a").ok);
}

TEST_P(Claims, AWorkerThatSleptPastItsLeaseCannotFinishWhatWaitsAgain) {
  push({.id = "a"});
  const ClaimReply slept = start("a");
  advance(60s);
  EXPECT_REFUSED(finish(slept, "a"), kStaleClaim);
  EXPECT_EQ(state_of("a"), kQueued);
}

TEST_P(Claims, ASettleWithAnOldFenceIsRefused) {
  push({.id = "a"});
  const ClaimReply first = start("a", {.claim_id = "mine"});
  release_claim(first);
  const ClaimReply second = start("a", {.claim_id = "mine"});
  const std::int64_t old_fence = first.tasks.at(0).fence;
  EXPECT_REFUSED(settle(second, {.id = "a", .fence = old_fence, .outcome = kFinish}), kStaleClaim);
  EXPECT_EQ(state_of("a"), kStarted);
  const std::int64_t fence = second.tasks.at(0).fence;
  EXPECT_TRUE(settle(second, {.id = "a", .fence = fence, .outcome = kFinish}).ok);
}

TEST_P(Claims, ARepeatedClaimReturnsWhatItStillHolds) {
  push_each(numbered("a", 6));
  const ClaimReply first = claim({.max = 3, .claim_id = "mine"});
  EXPECT_EQ(first.claim_id, "mine");
  advance(10s);
  const ClaimReply again = claim({.queues = {"other"}, .max = 1, .claim_id = "mine"});
  EXPECT_EQ(again.tasks, first.tasks);
  EXPECT_EQ(since_start(again.lease_until), 70'000);
  finish(first, "a2");
  EXPECT_EQ(ids_of(claim({.max = 3, .claim_id = "mine"})), (Ids{"a1", "a3"}));
  EXPECT_EQ(tasks_in(kStarted), 2);
}

TEST_P(Claims, ARepeatedClaimThatHoldsNothingTriesAfresh) {
  EXPECT_TRUE(claim({.claim_id = "mine"}).tasks.empty());
  push_each({"a", "b"});
  EXPECT_EQ(ids_of(claim({.claim_id = "mine"})), Ids{"a"});
  must(Settle{.claim_id = "mine", .all = kFinish});
  EXPECT_EQ(ids_of(claim({.claim_id = "mine"})), Ids{"b"});
}

TEST_P(Claims, AReleaseGivesTheAttemptBack) {
  push_each({"a", "b"});
  const ClaimReply held = claim({.max = 2});
  EXPECT_EQ(release(held, "a").state, kQueued);
  EXPECT_EQ(task("a").attempts, 0);
  EXPECT_EQ(release_claim(held), 1);
  EXPECT_EQ(task("b").attempts, 0);
  EXPECT_EQ(tasks_in(kQueued), 2);
  EXPECT_EQ(counter("released"), 2);
}

TEST_P(Claims, ReleasingAnUnknownOrEmptyClaimReleasesNothing) {
  EXPECT_EQ(must(ReleaseClaim{.claim_id = "nobody"}).released, 0);
  push({.id = "a"});
  const ClaimReply held = start("a");
  finish(held, "a");
  EXPECT_EQ(release_claim(held), 0);
}

TEST_P(Claims, ClaimsOlderThanATimeCanBeReleasedTogether) {
  push_each(numbered("a", 4));
  claim({.max = 2, .lease_ms = 0});
  advance(100s);
  claim({.max = 1, .lease_ms = 0});
  advance(50s);
  EXPECT_EQ(must(ReleaseOlder{.older_than_ms = 100'000}).released, 2);
  EXPECT_EQ(tasks_in(kStarted), 1);
  EXPECT_EQ(claim_ids(10), (Ids{"a1", "a2", "a4"}));
}

TEST_P(Claims, ClaimsAreListedWithWhatTheyHold) {
  push_each(numbered("a", 3));
  const ClaimReply first = claim({.max = 2, .worker = "w1", .claim_id = "c1"});
  advance(1s);
  claim({.lease_ms = 0, .worker = "w2", .claim_id = "c2"});
  finish(first, "a1");
  std::vector<ClaimInfo> claims = all_pages(broker(), ListClaims{.limit = 1}, &ClaimPage::claims);
  ASSERT_EQ(claims.size(), 2U);
  std::sort(claims.begin(), claims.end(),
            [](const ClaimInfo& x, const ClaimInfo& y) { return x.claim_id < y.claim_id; });
  EXPECT_EQ(claims.at(0), (ClaimInfo{"c1", "w1", kStart, kStart + 60s, {"a2"}}));
  EXPECT_EQ(claims.at(1), (ClaimInfo{"c2", "w2", kStart + 1s, {}, {"a3"}}));
}

TEST_P(Claims, ExtendingStartsTheLeaseAnew) {
  push({.id = "a"});
  const ClaimReply held = start("a", {.lease_ms = 10'000});
  advance(9s);
  EXPECT_EQ(since_start(extend(held).lease_until), 19'000);
  advance(9s);
  EXPECT_EQ(state_of("a"), kStarted);
  EXPECT_EQ(since_start(extend(held, 30'000).lease_until), 48'000);
  advance(30s);
  EXPECT_EQ(state_of("a"), kQueued);
}

TEST_P(Claims, ExtendingTellsWhatWasCanceledAndWhatWasLost) {
  push_each({"a", "b", "c"}, {.timeout_ms = 1'000});
  push({.id = "d"});
  const ClaimReply held = claim({.max = 4});
  cancel("a");
  finish(held, "b");
  advance(1s);
  const ExtendReply reply = extend(held);
  EXPECT_EQ(reply.canceled, Ids{"a"});
  EXPECT_EQ(reply.lost, Ids{"c"});
  EXPECT_EQ(state_of("d"), kStarted);
}

TEST_P(Claims, ProgressIsKeptForPeopleAndForTheNextAttempt) {
  push_each({"a", "stranger"});
  const ClaimReply held = start("a");
  must(Extend{.claim_id = held.claim_id,
              .progress = {{"a", R"({"page":7})"}, {"stranger", "1"}, {"nobody", "1"}}});
  EXPECT_EQ(task("a").progress, Json(R"({"page":7})"));
  EXPECT_EQ(task("stranger").progress, Json());
  release_claim(held);
  EXPECT_EQ(start("a").tasks.at(0).progress, Json(R"({"page":7})"));
}

TEST_P(Claims, ExtendingWhatIsUnknownOrHoldsNothingIsRefused) {
  EXPECT_REFUSED(ask(Extend{.claim_id = "nobody"}), kStaleClaim);
  push({.id = "a"});
  const ClaimReply held = start("a");
  finish(held, "a");
  EXPECT_REFUSED(ask(Extend{.claim_id = held.claim_id}), kStaleClaim);
}

TEST_P(Claims, AClaimWhoseLeaseEndedCannotBeExtended) {
  push({.id = "a"});
  const ClaimReply held = start("a");
  advance(60s);
  EXPECT_REFUSED(ask(Extend{.claim_id = held.claim_id}), kStaleClaim);
}

TEST_P(Claims, NextAtTellsWhenPaceLetsOneStart) {
  put_queue("q", {.rate = Rate{.limit = 1, .per_ms = 10'000}});
  push_each({"a", "b"}, {.queue = "q"});
  EXPECT_FALSE(claim_from("q").next_at);
  EXPECT_EQ(since_start(claim_from("q").next_at), 10'000);
  must(PauseQueue{.queue = "q"});
  EXPECT_FALSE(claim_from("q").next_at);
  EXPECT_FALSE(claim_from("nowhere").next_at);
}

TEST_P(Claims, OnceTheBrokerAnswersItIsNotInsideTheCall) {
  std::promise<std::thread::id> answered;
  broker().submit(Stats{}, {},
                  [&answered](Result<Reply>) { answered.set_value(std::this_thread::get_id()); });
  std::future<std::thread::id> where = answered.get_future();
  EXPECT_NE(soon(where), std::this_thread::get_id());
}

}  // namespace
}  // namespace retsu::conformance
