// Telling how a run ended, one by one or for a whole claim, and telling it twice.

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(Settling);

TEST_P(Settling, ARepeatedSettleAnswersAsTheFirstTime) {
  for (const auto& outcome : {kFinish, kFail, kThrottle, kRelease}) {
    const std::string id(name_of(outcome));
    SCOPED_TRACE(id);
    push({.id = id, .queue = id});
    const ClaimReply held = start(id);
    SettleOne result{.id = id, .outcome = outcome};
    if (outcome == kFail || outcome == kThrottle) result.error = "why";
    const Settled first = settle(held, result);
    EXPECT_TRUE(first.ok);
    const Snapshot before = everything();
    EXPECT_EQ(settle(held, result), first);
    SettleOne with_fence = result;
    with_fence.fence = held.tasks.at(0).fence;
    EXPECT_EQ(settle(held, with_fence), first);
    EXPECT_TRUE(is_same(before, everything()));
  }
}

TEST_P(Settling, ARepeatWithAnotherOutcomeIsRefused) {
  push({.id = "a"});
  const ClaimReply held = start("a");
  finish(held, "a", "1");
  EXPECT_REFUSED(fail(held, "a"), kStaleClaim);
  EXPECT_REFUSED(release(held, "a"), kStaleClaim);
  EXPECT_EQ(state_of("a"), kFinished);
}

TEST_P(Settling, ARepeatWithAnotherFenceIsRefused) {
  push({.id = "a"});
  const ClaimReply held = start("a");
  finish(held, "a");
  const std::int64_t fence = held.tasks.at(0).fence + 1;
  EXPECT_REFUSED(settle(held, {.id = "a", .fence = fence, .outcome = kFinish}), kStaleClaim);
}

TEST_P(Settling, ARepeatAfterAnotherClaimAnswersAsTheFirstTimeAndChangesNothing) {
  push({.id = "a"});
  const ClaimReply first = start("a");
  EXPECT_TRUE(release(first, "a").ok);
  start("a");
  EXPECT_TRUE(release(first, "a").ok);
  EXPECT_EQ(state_of("a"), kStarted);
}

TEST_P(Settling, ARepeatForATaskThatIsGoneAnswersAsTheFirstTime) {
  push_each({"a", "b"});
  const ClaimReply held = claim({.max = 2});
  finish(held, "a");
  remove("a");
  EXPECT_TRUE(finish(held, "a").ok);
  EXPECT_TRUE(finish(held, "b").ok);
}

TEST_P(Settling, TheFirstResultStands) {
  push({.id = "a"});
  const ClaimReply held = start("a");
  finish(held, "a", "1");
  EXPECT_TRUE(finish(held, "a", "2").ok);
  EXPECT_EQ(task("a").result, Json("1"));
}

TEST_P(Settling, EachResultStandsByItself) {
  push_each({"a", "b", "c", "stranger"});
  const ClaimReply held = claim({.max = 3});
  const SettleReply reply =
      must(Settle{.claim_id = held.claim_id,
                  .results = {{.id = "stranger", .outcome = kFinish},
                              {.id = "a", .outcome = kFinish, .result = "1"},
                              {.id = "nobody", .outcome = kFinish},
                              {.id = "b", .outcome = kFail, .error = "e", .retryable = false}}});
  ASSERT_EQ(reply.results.size(), 4U);
  EXPECT_REFUSED(reply.results.at(0), kStaleClaim);
  EXPECT_EQ(reply.results.at(0).id, "stranger");
  EXPECT_EQ(reply.results.at(1), (Settled{"a", true, kFinished, {}}));
  EXPECT_REFUSED(reply.results.at(2), kNotFound);
  EXPECT_EQ(reply.results.at(3), (Settled{"b", true, kFailed, {}}));
  EXPECT_EQ(state_of("c"), kStarted);
}

TEST_P(Settling, TheWholeClaimCanBeSettledAtOnce) {
  push_each({"a", "b", "c"});
  const ClaimReply held = claim({.max = 3});
  const SettleReply reply = settle_all(held, kFinish);
  EXPECT_EQ(reply.results, (std::vector<Settled>{{"a", true, kFinished, {}},
                                                 {"b", true, kFinished, {}},
                                                 {"c", true, kFinished, {}}}));
  EXPECT_EQ(tasks_in(kFinished), 3);
  EXPECT_EQ(settle_all(held, kFinish), reply);
}

TEST_P(Settling, EveryOutcomeButAwaitCanBeSaidOfAll) {
  for (const auto& outcome : {kFinish, kFail, kThrottle, kRelease}) {
    const std::string queue(name_of(outcome));
    push_each({queue + "1", queue + "2"}, {.queue = queue});
    const SettleReply reply = settle_all(claim_from(queue, 2), outcome);
    ASSERT_EQ(reply.results.size(), 2U) << queue;
    EXPECT_TRUE(reply.results.at(0).ok && reply.results.at(1).ok) << queue;
  }
  push("q", {.id = "a"});
  const ClaimReply held = claim_from("q");
  EXPECT_REFUSED(ask(Settle{.claim_id = held.claim_id, .all = kAwait}), kInvalid);
  EXPECT_EQ(state_of("a"), kStarted);
}

TEST_P(Settling, SettlingAllTellsWhatWasLostAndWhatWasSettledBefore) {
  push_each({"a", "b", "c"});
  const ClaimReply held = claim({.max = 3});
  finish(held, "a");
  cancel("b");
  std::map<std::string, Settled> got;
  for (const Settled& each : settle_all(held, kFinish).results) got[each.id] = each;
  EXPECT_EQ(got["a"], (Settled{"a", true, kFinished, {}}));
  EXPECT_REFUSED(got["b"], kStaleClaim);
  EXPECT_EQ(got["c"], (Settled{"c", true, kFinished, {}}));
}

TEST_P(Settling, SettlingAllAfterTheLeaseEndedChangesNothing) {
  push_each({"a", "b"});
  const ClaimReply held = claim({.max = 2});
  advance(60s);
  const SettleReply reply = settle_all(held, kFinish);
  ASSERT_EQ(reply.results.size(), 2U);
  EXPECT_REFUSED(reply.results.at(0), kStaleClaim);
  EXPECT_REFUSED(reply.results.at(1), kStaleClaim);
  EXPECT_EQ(tasks_in(kQueued), 2);
}

TEST_P(Settling, AnUnknownClaimIsRefused) {
  push({.id = "a"});
  start("a");
  EXPECT_REFUSED(ask(Settle{.claim_id = "nobody", .all = kFinish}), kStaleClaim);
  EXPECT_REFUSED(ask(Settle{.claim_id = "nobody", .results = {{.id = "a", .outcome = kFinish}}}),
                 kStaleClaim);
  EXPECT_EQ(state_of("a"), kStarted);
}

TEST_P(Settling, ACanceledTasksSettleIsRefused) {
  push({.id = "a"});
  const ClaimReply held = start("a");
  cancel("a");
  EXPECT_REFUSED(finish(held, "a"), kStaleClaim);
  EXPECT_EQ(state_of("a"), kCanceled);
}

TEST_P(Settling, AClaimWithNothingLeftIsRememberedForAnHour) {
  push({.id = "a"});
  const ClaimReply held = start("a");
  const Settled first = finish(held, "a");
  advance(1h - 1ms);
  EXPECT_EQ(finish(held, "a"), first);
  advance(1h);
  EXPECT_REFUSED(
      ask(Settle{.claim_id = held.claim_id, .results = {{.id = "a", .outcome = kFinish}}}),
      kStaleClaim);
}

TEST_P(Settling, OnlySoManyClosedClaimsAreRemembered) {
  begin({.closed_claims = 3});
  std::vector<ClaimReply> closed;
  for (const std::string& id : numbered("a", 5)) {
    push({.id = id});
    closed.push_back(start(id));
    finish(closed.back(), id);
  }
  EXPECT_REFUSED(
      ask(Settle{.claim_id = closed.at(0).claim_id, .results = {{.id = "a1", .outcome = kFinish}}}),
      kStaleClaim);
  EXPECT_TRUE(finish(closed.at(3), "a4").ok);
  EXPECT_TRUE(finish(closed.at(4), "a5").ok);
}

TEST_P(Settling, OnlySoManySettledTasksAreRemembered) {
  begin({.settled_tasks = 5});
  std::vector<ClaimReply> closed;
  for (int i = 0; i < 3; ++i) {
    push({});
    push({});
    closed.push_back(claim({.max = 2}));
    ask(Settle{.claim_id = closed.back().claim_id, .all = kFinish});
  }
  EXPECT_REFUSED(ask(Settle{.claim_id = closed.at(0).claim_id, .all = kFinish}), kStaleClaim);
  EXPECT_TRUE(ask(Settle{.claim_id = closed.at(1).claim_id, .all = kFinish}));
  EXPECT_TRUE(ask(Settle{.claim_id = closed.at(2).claim_id, .all = kFinish}));
}

TEST_P(Settling, AClaimThatHoldsTasksIsNeverForgotten) {
  begin({.closed_claims = 1, .settled_tasks = 1});
  push({.id = "long", .timeout_ms = 0});
  const ClaimReply held = start("long", {.lease_ms = 0});
  for (const std::string& id : numbered("a", 5)) {
    push({.id = id});
    run(id);
  }
  advance(24h);
  EXPECT_TRUE(finish(held, "long").ok);
}

TEST_P(Settling, ATaskKeepsItsLastErrorUntilItFinishes) {
  put_queue("q", {.retry = {.kind = RetryKind::kFixed, .base_ms = 1'000, .jitter = 0}});
  push("q", {.id = "a"});
  fail(start("a"), "a", "timed out upstream");
  EXPECT_EQ(task("a").error, Text("timed out upstream"));
  advance(1s);
  const ClaimReply held = start("a");
  EXPECT_EQ(task("a").error, Text("timed out upstream"));
  finish(held, "a", "1");
  EXPECT_TRUE(task("a").error.empty());
}

}  // namespace
}  // namespace retsu::conformance
