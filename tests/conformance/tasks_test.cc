// A task's fields, its push, its times, and how it is found again.

#include <set>

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(Tasks);

TEST_P(Tasks, APushThatSaysNothingGetsTheDefaults) {
  const Pushed pushed = push({});
  EXPECT_TRUE(pushed.created);
  EXPECT_EQ(pushed.state, kQueued);
  const Task got = task(pushed.id);
  EXPECT_EQ(got.id, pushed.id);
  EXPECT_EQ(got.state, kQueued);
  EXPECT_EQ(got.queue, "default");
  EXPECT_EQ(got.user, "anonymous");
  EXPECT_EQ(got.type, "");
  EXPECT_EQ(got.priority.value, kNormalPriority);
  EXPECT_EQ(got.payload, Json("null"));
  EXPECT_EQ(got.attempts, 0);
  EXPECT_EQ(got.max_attempts, 3);
  EXPECT_EQ(since_start(got.created_at), 0);
  EXPECT_EQ(since_start(got.queued_at), 0);
  EXPECT_FALSE(got.started_at);
  EXPECT_FALSE(got.ended_at);
  EXPECT_FALSE(got.retrying);
}

TEST_P(Tasks, IdsThatTheBrokerChoosesAreDistinct) {
  std::set<std::string> seen;
  for (const Pushed& pushed : push_batch(std::vector<NewTask>(100))) seen.insert(pushed.id);
  for (int i = 0; i < 20; ++i) seen.insert(push({}).id);
  EXPECT_EQ(seen.size(), 120U);
}

TEST_P(Tasks, EveryFieldOfAPushComesBack) {
  const Retry retry{.kind = RetryKind::kFixed, .base_ms = 7, .max_attempts = 9};
  push({.id = "before"});
  push({.id = "A.b_c:d-1",
        .queue = "mail.out_1-x",
        .user = "ann:1",
        .type = "send",
        .priority = {5},
        .payload = R"({"to":"bob"})",
        .run_at = kStart + 1h,
        .depends_on = {{"before", When::kSettled}},
        .on_dependency_failure = OnDependencyFailure::kRun,
        .on_dependency_cancel = OnDependencyCancel::kCancel,
        .unique_key = "the key, 鍵",
        .placement = Placement::kFront,
        .timeout_ms = 1'234,
        .retry = retry,
        .expires_at = kStart + 2h,
        .tags = {"red", "green"},
        .trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"});
  const Task got = task("A.b_c:d-1");
  EXPECT_EQ(got.queue, "mail.out_1-x");
  EXPECT_EQ(got.user, "ann:1");
  EXPECT_EQ(got.type, "send");
  EXPECT_EQ(got.priority.value, 5);
  EXPECT_EQ(got.payload, Json(R"({"to":"bob"})"));
  EXPECT_EQ(since_start(got.run_at), ms(1h));
  EXPECT_EQ(got.depends_on, (std::vector<Dependency>{{"before", When::kSettled}}));
  EXPECT_EQ(got.on_dependency_failure, OnDependencyFailure::kRun);
  EXPECT_EQ(got.on_dependency_cancel, OnDependencyCancel::kCancel);
  EXPECT_EQ(got.unique_key, "the key, 鍵");
  EXPECT_EQ(got.placement, Placement::kFront);
  EXPECT_EQ(got.timeout_ms, 1'234);
  EXPECT_EQ(got.retry, retry);
  EXPECT_EQ(got.max_attempts, 9);
  EXPECT_EQ(since_start(got.expires_at), ms(2h));
  EXPECT_EQ(got.tags, (std::vector<std::string>{"red", "green"}));
  EXPECT_EQ(got.trace, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
}

TEST_P(Tasks, ATaskTellsItsWholeRun) {
  push({.id = "a"});
  advance(5s);
  const ClaimReply held = start("a", {.worker = "w1"});
  Task got = task("a");
  EXPECT_EQ(got.state, kStarted);
  EXPECT_EQ(got.attempts, 1);
  EXPECT_EQ(since_start(got.started_at), 5'000);
  EXPECT_EQ(got.claim_id, held.claim_id);
  EXPECT_EQ(got.worker, "w1");
  EXPECT_EQ(got.fence, held.tasks.at(0).fence);
  EXPECT_EQ(since_start(got.lease_until), 65'000);
  advance(2s);
  const Settled settled = finish(held, "a", R"({"n":1})");
  EXPECT_TRUE(settled.ok);
  EXPECT_EQ(settled.state, kFinished);
  got = task("a");
  EXPECT_EQ(got.state, kFinished);
  EXPECT_EQ(got.result, Json(R"({"n":1})"));
  EXPECT_EQ(since_start(got.ended_at), 7'000);
  EXPECT_EQ(got.reason, Reason::kNone);
}

TEST_P(Tasks, PushingAnIdThatExistsChangesNothingInAnyState) {
  for (int i = 0; i < kStates; ++i) {
    const auto state = static_cast<State>(i);
    const std::string id = "t" + std::to_string(i);
    make(state, id);
    const Task before = task(id);
    const Pushed again = push({.id = id, .queue = "elsewhere", .user = "bob", .payload = "7"});
    EXPECT_EQ(again.id, id);
    EXPECT_FALSE(again.created);
    EXPECT_EQ(again.state, state);
    EXPECT_EQ(task(id), before);
  }
}

TEST_P(Tasks, TheSameIdTwiceInABatchIsOneTask) {
  const std::vector<Pushed> pushed =
      push_batch({{.id = "a", .payload = "1"}, {.id = "a", .payload = "2"}});
  EXPECT_TRUE(pushed.at(0).created);
  EXPECT_FALSE(pushed.at(1).created);
  EXPECT_EQ(pushed.at(1).id, "a");
  EXPECT_EQ(task("a").payload, Json("1"));
  EXPECT_EQ(claim_ids(10), Ids{"a"});
}

TEST_P(Tasks, ABatchIsAllOrNothing) {
  const Snapshot before = everything();
  EXPECT_REFUSED(ask(Push{.tasks = {{.id = "a"}, {.id = "b", .depends_on = {{"nowhere"}}}}}),
                 kUnknownDependency);
  EXPECT_TRUE(is_same(before, everything()));
}

TEST_P(Tasks, APartialBatchRefusesOnlyWhatIsWrong) {
  const PushReply reply = must(Push{.tasks = {{.id = "a"},
                                              {.id = "b", .depends_on = {{"nowhere"}}},
                                              {.id = "c", .depends_on = {{"b"}}},
                                              {.id = "d", .depends_on = {{"a"}}}},
                                    .partial = true});
  EXPECT_TRUE(reply.tasks.at(0).created);
  EXPECT_REFUSED(reply.tasks.at(1), kUnknownDependency);
  EXPECT_REFUSED(reply.tasks.at(2), kUnknownDependency);
  EXPECT_TRUE(reply.tasks.at(3).created);
  EXPECT_EQ(state_of("d"), kDeferred);
  EXPECT_FALSE(exists("b"));
  EXPECT_FALSE(exists("c"));
}

TEST_P(Tasks, ATaskOfTheFutureIsScheduledAndQueuedAtItsTime) {
  push({.id = "a", .run_at = kStart + 1h});
  EXPECT_EQ(state_of("a"), kScheduled);
  EXPECT_TRUE(claim().tasks.empty());
  advance(1h - 1ms);
  EXPECT_EQ(state_of("a"), kScheduled);
  advance(1ms);
  EXPECT_EQ(state_of("a"), kQueued);
  EXPECT_EQ(since_start(task("a").queued_at), ms(1h));
}

TEST_P(Tasks, WhatWasDueHappensAtItsOwnTimeHoweverLateSomebodyLooks) {
  push({.id = "a", .run_at = kStart + 1h});
  push({.id = "b", .expires_at = kStart + 2h});
  advance(10h);
  EXPECT_EQ(since_start(task("a").queued_at), ms(1h));
  EXPECT_EQ(since_start(task("b").ended_at), ms(2h));
}

TEST_P(Tasks, ARunAtInThePastIsNow) {
  EXPECT_EQ(push({.id = "a", .run_at = kStart - 1h}).state, kQueued);
  EXPECT_EQ(push({.id = "b", .run_at = kStart}).state, kQueued);
  EXPECT_EQ(since_start(task("a").queued_at), 0);
}

TEST_P(Tasks, WaitingTasksExpire) {
  push({.id = "queued", .expires_at = kStart + 1min});
  push({.id = "scheduled", .run_at = kStart + 1h, .expires_at = kStart + 1min});
  push({.id = "deferred",
        .depends_on = {{"missing"}},
        .allow_missing = true,
        .expires_at = kStart + 1min});
  advance(1min - 1ms);
  EXPECT_EQ(tasks_in(kFailed), 0);
  advance(1ms);
  for (const char* id : {"queued", "scheduled", "deferred"}) {
    EXPECT_EQ(state_of(id), kFailed) << id;
    EXPECT_EQ(task(id).reason, Reason::kExpired) << id;
    EXPECT_EQ(task(id).retryable, true) << id;
  }
  EXPECT_EQ(counter("expired"), 3);
}

TEST_P(Tasks, ARunningTaskDoesNotExpire) {
  push({.id = "a", .expires_at = kStart + 1s});
  const ClaimReply held = start("a");
  advance(10s);
  EXPECT_EQ(state_of("a"), kStarted);
  EXPECT_TRUE(finish(held, "a").ok);
}

TEST_P(Tasks, AnExpiryThatHasPassedIsRefused) {
  EXPECT_REFUSED(try_push({.id = "a", .expires_at = kStart}), kInvalid);
  EXPECT_REFUSED(try_push({.id = "a", .expires_at = kStart - 1ms}), kInvalid);
  EXPECT_FALSE(exists("a"));
}

TEST_P(Tasks, TimeNeverRunsBackwards) {
  push({.id = "later", .run_at = kStart + 2h});
  advance(1h);
  push({.id = "a"});
  set_clock(kStart);
  push({.id = "b"});
  EXPECT_EQ(since_start(task("b").created_at), ms(1h));
  EXPECT_EQ(since_start(must(Stats{}).now), ms(1h));
  set_clock(kStart + 1h + 1min);
  push({.id = "c"});
  EXPECT_EQ(since_start(task("c").created_at), ms(1h + 1min));
  EXPECT_EQ(state_of("later"), kScheduled);
  set_clock(kStart + 2h);
  EXPECT_EQ(state_of("later"), kQueued);
}

TEST_P(Tasks, GettingATaskMayWaitForItsEnd) {
  push({.id = "a"});
  const ClaimReply held = start("a");
  auto answer = ask_later(GetTask{.id = "a", .wait_ms = 30'000});
  must(Stats{});
  finish(held, "a", "42");
  const Result<Task> got = soon(answer);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->state, kFinished);
  EXPECT_EQ(got->result, Json("42"));
}

TEST_P(Tasks, GettingATaskThatHasEndedDoesNotWait) {
  make(kFailed, "a");
  EXPECT_EQ(must(GetTask{.id = "a", .wait_ms = 30'000}).state, kFailed);
}

TEST_P(Tasks, AWaitForAnEndGivesTheTaskAsItIsWhenItsTimeIsOver) {
  push({.id = "a"});
  auto answer = ask_later(GetTask{.id = "a", .wait_ms = 1'000});
  for (int i = 0; i < 1'000 && answer.wait_for(10ms) != std::future_status::ready; ++i) advance(1s);
  const Result<Task> got = soon(answer);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->state, kQueued);
}

TEST_P(Tasks, AnEndedTaskCanBeRemoved) {
  for (const State state : {kFinished, kFailed, kCanceled}) {
    const std::string id(name_of(state));
    make(state, id);
    remove(id);
    EXPECT_REFUSED(ask(GetTask{.id = id}), kNotFound);
  }
  EXPECT_EQ(counter("removed"), 3);
}

}  // namespace
}  // namespace retsu::conformance
