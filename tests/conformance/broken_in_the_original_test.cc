// What FairQueue promised and did not keep, one test per promise. The lines that concern Redis
// itself (keys of a cluster) are tested with the Redis broker.

#include <algorithm>

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(BrokenInTheOriginal);

TEST_P(BrokenInTheOriginal, RoundRobinOverUsers) {
  push_batch(std::vector<NewTask>(1'000, NewTask{.user = "noisy"}));
  push({.id = "single", .user = "quiet"});
  const Ids got = claim_ids(2);
  EXPECT_NE(std::find(got.begin(), got.end(), "single"), got.end());
}

TEST_P(BrokenInTheOriginal, PriorityOneToFiveWithAging) {
  push({.id = "low", .priority = {1}});
  push({.id = "high", .priority = {5}});
  advance(41min);
  push({.id = "late", .priority = {5}});
  EXPECT_EQ(claim_ids(3), (Ids{"high", "low", "late"}));
}

TEST_P(BrokenInTheOriginal, CriticalFirstInFirstOut) {
  push_each(numbered("c", 50), {.priority = {kCritical}});
  EXPECT_EQ(claim_ids(50), numbered("c", 50));
}

TEST_P(BrokenInTheOriginal, AssignedUsersThenStealTargets) {
  for (int round = 0; round < 20; ++round) {
    const std::string queue = "q" + std::to_string(round);
    push_each({queue + "-theirs"}, {.queue = queue, .user = "theirs"});
    push_each({queue + "-mine"}, {.queue = queue, .user = "mine"});
    const Claim request{.queues = {queue}, .users = {"mine"}, .steal = {"theirs"}};
    EXPECT_EQ(ids_of(claim(request)), Ids{queue + "-mine"});
    EXPECT_EQ(ids_of(claim(request)), Ids{queue + "-theirs"});
  }
}

TEST_P(BrokenInTheOriginal, UsersWithAColonInTheirId) {
  push({.id = "a", .user = "tenant:7:ann"});
  EXPECT_EQ(ids_of(claim({.users = {"tenant:7:ann"}})), Ids{"a"});
  EXPECT_EQ(listed({.user = "tenant:7:ann"}), Ids{"a"});
}

TEST_P(BrokenInTheOriginal, UsersWithACommaInTheirIdAreRefusedAndNotLost) {
  EXPECT_REFUSED(try_push({.id = "a", .user = "ann,bob"}), kInvalid);
}

TEST_P(BrokenInTheOriginal, ADependencyAlreadyFinishedWhenTheDependentIsPushed) {
  make(kFinished, "a");
  EXPECT_EQ(push({.id = "b", .depends_on = {{"a"}}}).state, kQueued);
}

TEST_P(BrokenInTheOriginal, ADependencyThatIsCanceled) {
  push({.id = "a"});
  push({.id = "b", .depends_on = {{"a"}}});
  cancel("a");
  EXPECT_EQ(claim_ids(), Ids{"b"});
}

TEST_P(BrokenInTheOriginal, ExecuteAfterTogetherWithDependsOn) {
  push({.id = "a"});
  push({.id = "b", .run_at = kStart + 1min, .depends_on = {{"a"}}});
  advance(1min);
  EXPECT_EQ(claim_ids(5), Ids{"a"});
  EXPECT_EQ(state_of("b"), kDeferred);
}

TEST_P(BrokenInTheOriginal, TheCycleCheckAtAnyDepth) {
  const int depth = GetParam().is_slow ? 1'000 : 100'000;
  std::string last = "end";
  for (int i = 0; i < depth; i += 1'000) {
    std::vector<NewTask> batch;
    for (int k = i; k < i + 1'000; ++k) {
      const std::string id = "t" + std::to_string(k);
      batch.push_back({.id = id, .depends_on = {{last}}, .allow_missing = true});
      last = id;
    }
    push_batch(std::move(batch));
  }
  EXPECT_REFUSED(try_push({.id = "end", .depends_on = {{last}}}), kDependencyCycle);
  push({.id = "end"});
  run("end");
  EXPECT_EQ(state_of("t0"), kQueued);
}

TEST_P(BrokenInTheOriginal, DelayedTasksArePromoted) {
  push({.id = "a", .run_at = kStart + 1min});
  advance(1min);
  EXPECT_EQ(claim_ids(), Ids{"a"});
}

TEST_P(BrokenInTheOriginal, RetriesAndDeadLetters) {
  push({.id = "a", .payload = "7"});
  for (int attempt = 1; attempt <= 3; ++attempt) {
    fail(start("a"), "a", "broken");
    advance(10s);
  }
  EXPECT_EQ(task("a").reason, Reason::kFailed);
  EXPECT_EQ(task("a").payload, Json("7"));
  EXPECT_EQ(task("a").history.size(), 3U);
  redrive("a");
  run("a");
}

TEST_P(BrokenInTheOriginal, AWorkerThatCrashes) {
  push({.id = "a"});
  start("a");
  advance(60s);
  run("a");
  EXPECT_EQ(state_of("a"), kFinished);
}

TEST_P(BrokenInTheOriginal, AFinishByAWorkerThatNoLongerOwnsTheTask) {
  push({.id = "a"});
  const ClaimReply old = start("a");
  advance(60s);
  const ClaimReply current = start("a");
  EXPECT_REFUSED(finish(old, "a", "1"), kStaleClaim);
  EXPECT_TRUE(finish(current, "a", "2").ok);
  EXPECT_EQ(task("a").result, Json("2"));
}

TEST_P(BrokenInTheOriginal, ARePushOfARunningId) {
  push({.id = "a", .payload = "1"});
  const ClaimReply held = start("a");
  EXPECT_FALSE(push({.id = "a", .payload = "2"}).created);
  EXPECT_EQ(task("a").payload, Json("1"));
  EXPECT_TRUE(finish(held, "a").ok);
  EXPECT_TRUE(claim_ids().empty());
}

TEST_P(BrokenInTheOriginal, CronMakesOneTaskPerOccurrence) {
  must(PutSchedule{.name = "s", .schedule = {.cron = "*/5 * * * *"}});
  for (int i = 0; i < 20; ++i) advance(1min);
  EXPECT_EQ(tasks_in(kQueued), 4);
}

TEST_P(BrokenInTheOriginal, XcomEndToEnd) {
  push({.id = "a"});
  push({.id = "b", .depends_on = {{"a"}}});
  const ClaimReply first = start("a");
  must(PutXcom{.key = "a:rows", .value = "[1,2,3]"});
  finish(first, "a");
  start("b");
  EXPECT_EQ(must(GetXcom{.key = "a:rows"}).value, Json("[1,2,3]"));
}

TEST_P(BrokenInTheOriginal, ResultsReachTheNextTask) {
  push({.id = "a"});
  push({.id = "b", .depends_on = {{"a"}}});
  run("a", R"({"records":1000})");
  EXPECT_EQ(start("b").tasks.at(0).inputs.at("a").result, Json(R"({"records":1000})"));
}

// ((A >> B) | C) >> D
TEST_P(BrokenInTheOriginal, PipelinesKeepEveryEdge) {
  push_batch({{.id = "A"},
              {.id = "B", .depends_on = {{"A"}}},
              {.id = "C"},
              {.id = "D", .depends_on = {{"B"}, {"C"}}}});
  EXPECT_EQ(state_of("B"), kDeferred);
  run("A");
  run("B");
  EXPECT_EQ(state_of("D"), kDeferred);
  run("C");
  EXPECT_EQ(state_of("D"), kQueued);
}

TEST_P(BrokenInTheOriginal, StatisticsThatAddUp) {
  push_each(numbered("a", 3));
  run("a1");
  run_and_reject("a2");
  EXPECT_EQ(tasks_in(kQueued), 1);
  EXPECT_EQ(counter("pushed"), 3);
  EXPECT_EQ(counter("finished"), 1);
  EXPECT_EQ(counter("failed"), 1);
}

TEST_P(BrokenInTheOriginal, RetentionIsBounded) {
  put_queue("default", {.retention = {.max_tasks = 10}});
  for (int i = 0; i < 30; ++i) {
    push_batch(std::vector<NewTask>(10));
    settle_all(claim({.max = 10}), kFinish);
  }
  keep_calling_until([&] { return tasks_in(kFinished) <= 10; });
  advance(8 * 24h);
  keep_calling_until([&] { return tasks_in(kFinished) == 0; });
  EXPECT_EQ(counter("removed"), 300);
}

TEST_P(BrokenInTheOriginal, UnreadyHeadsNeverBlockTheQueue) {
  for (const std::string& id : numbered("later", 12)) {
    push({.id = id, .priority = {kCritical}, .run_at = kStart + 1h});
  }
  put_user("capped", {.max_running = 1});
  push_each(numbered("x", 50), {.user = "capped"});
  start("x1");
  push({.id = "ready", .priority = {1}});
  EXPECT_EQ(claim_ids(), Ids{"ready"});
}

}  // namespace
}  // namespace retsu::conformance
