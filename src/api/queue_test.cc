#include "retsu/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "base/temporary_directory.h"
#include "model/operations.h"

namespace retsu_api {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

template <class Call>
std::string code_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_FALSE(error.message().empty());
    EXPECT_TRUE(error.details().is_object());
    return error.code();
  }
  return "";
}

template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

// Every test runs on a queue in memory and on one in a directory.
class QueueTest : public testing::TestWithParam<bool> {
 protected:
  retsu::TemporaryDirectory directory_;
  Queue queue_ = open(GetParam() ? directory_.path() + "/data" : "memory:");

  ClaimedTask claim_one(const std::string& queue = "default") {
    Claim claim = queue_.claim({.queues = {queue}});
    EXPECT_EQ(claim.tasks.size(), 1u);
    return claim.tasks.empty() ? ClaimedTask() : claim.tasks.front();
  }
};
INSTANTIATE_TEST_SUITE_P(Public, QueueTest, testing::Bool(), [](const auto& instance) {
  return instance.param ? "Directory" : "Memory";
});

TEST_P(QueueTest, ATaskIsPushedClaimedAndFinished) {
  const Pushed pushed = queue_.push({.queue = "mail", .user = "ann", .payload = {{"to", "bob"}}});
  EXPECT_TRUE(pushed.created);
  EXPECT_EQ(pushed.state, State::kQueued);
  EXPECT_FALSE(pushed.replayed);

  const Claim claim = queue_.claim({.queues = {"mail"}, .max = 5, .worker = "me"});
  ASSERT_EQ(claim.tasks.size(), 1u);
  EXPECT_TRUE(claim.lease_until);
  const ClaimedTask& task = claim.tasks.front();
  EXPECT_EQ(task.id, pushed.id);
  EXPECT_EQ(task.user, "ann");
  EXPECT_EQ(task.attempt, 1);
  EXPECT_EQ(task.claim_id, claim.claim_id);
  EXPECT_EQ(task.payload.at("to").as_string(), "bob");

  EXPECT_EQ(queue_.finish(task, {{"sent", true}}), State::kFinished);
  const Task ended = queue_.get_task(pushed.id);
  EXPECT_EQ(ended.state, State::kFinished);
  EXPECT_EQ(ended.result, Json({{"sent", true}}));
  EXPECT_TRUE(ended.ended_at);
}

TEST_P(QueueTest, ManyTasksArePushedAllOrNone) {
  const auto pushed = queue_.push_all({{.id = "a"}, {.id = "b", .depends_on = {"a"}}});
  ASSERT_EQ(pushed.size(), 2u);
  EXPECT_EQ(pushed[1].state, State::kDeferred);
  EXPECT_EQ(code_of([&] {
              queue_.push_all({{.id = "c"}, {.id = "d", .user = "not a user"}});
            }),
            "invalid");
  EXPECT_EQ(code_of([&] { (void)queue_.get_task("c"); }), "not_found");
}

TEST_P(QueueTest, APartialPushTellsWhatWasRefused) {
  const auto pushed =
      queue_.push_all({{.id = "a"}, {.id = "b", .depends_on = {"nobody"}}}, {.partial = true});
  ASSERT_EQ(pushed.size(), 2u);
  EXPECT_TRUE(pushed[0].created);
  EXPECT_FALSE(pushed[0].error);
  ASSERT_TRUE(pushed[1].error);
  EXPECT_EQ(pushed[1].error->code(), "unknown_dependency");
  EXPECT_EQ(code_of([&] { queue_.push({.depends_on = {"nobody"}}, {.partial = true}); }),
            "unknown_dependency");
}

TEST_P(QueueTest, TheSameIdempotencyKeyPushesOnce) {
  const Pushed first = queue_.push({.payload = 1}, {.idempotency_key = "k"});
  const Pushed again = queue_.push({.payload = 1}, {.idempotency_key = "k"});
  EXPECT_FALSE(first.replayed);
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(queue_.stats().tasks.at("QUEUED"), 1);
  EXPECT_EQ(code_of([&] { queue_.push({.payload = 2}, {.idempotency_key = "k"}); }),
            "idempotency_mismatch");
  const Json task = {{"payload", 3}};
  const Json called = queue_.call("push", task, "called");
  EXPECT_EQ(queue_.call("push", task, "called"), called);
}

TEST_P(QueueTest, AFailedTaskIsTriedAgainOrBecomesADeadLetter) {
  const std::string id = queue_.push({.max_attempts = 2}).id;
  EXPECT_EQ(queue_.fail(claim_one(), "no answer", {.retry_after = 0ms}), State::kScheduled);
  const Task waiting = queue_.get_task(id);
  EXPECT_TRUE(waiting.retrying);
  ASSERT_EQ(waiting.history.size(), 1u);
  EXPECT_EQ(waiting.history[0].error, "no answer");

  const std::string hopeless = queue_.push({.queue = "other"}).id;
  EXPECT_EQ(queue_.fail(claim_one("other"), "no such user", {.retryable = false}), State::kFailed);
  EXPECT_EQ(queue_.get_task(hopeless).error, "no such user");
  EXPECT_EQ(queue_.get_task(hopeless).reason, "rejected");
  EXPECT_EQ(queue_.retry_task(hopeless).state, State::kQueued);
}

TEST_P(QueueTest, AReleasedTaskLosesNoAttempt) {
  queue_.push({});
  EXPECT_EQ(queue_.release(claim_one()), State::kQueued);
  const Claim claim = queue_.claim();
  ASSERT_EQ(claim.tasks.size(), 1u);
  EXPECT_EQ(claim.tasks[0].attempt, 1);
  EXPECT_EQ(queue_.release(claim), 1);
  EXPECT_EQ(claim_one().attempt, 1);
}

TEST_P(QueueTest, AThrottleHoldsTheQueue) {
  queue_.push({.id = "t"});
  EXPECT_EQ(queue_.throttle(claim_one(), 30s), State::kQueued);
  EXPECT_TRUE(queue_.claim().tasks.empty());
  const Why why = queue_.why("t");
  EXPECT_EQ(why.state, State::kQueued);
  ASSERT_FALSE(why.causes.empty());
  EXPECT_EQ(why.causes[0].cause, "throttled");
  EXPECT_TRUE(why.causes[0].until);
}

TEST_P(QueueTest, AwaitedChildrenGiveTheirResultsToTheirParent) {
  queue_.push({.id = "parent"});
  EXPECT_EQ(queue_.await(claim_one(), {{.id = "child", .queue = "small"}}), State::kDeferred);
  queue_.finish(claim_one("small"), {{"pages", 3}});
  const ClaimedTask parent = claim_one();
  EXPECT_EQ(parent.id, "parent");
  ASSERT_TRUE(parent.inputs.contains("child"));
  EXPECT_EQ(parent.inputs.at("child").state, State::kFinished);
  EXPECT_EQ(parent.inputs.at("child").result.at("pages"), 3);
}

TEST_P(QueueTest, SeveralTasksOfAClaimAreSettledAtOnce) {
  queue_.push_all({{.id = "a"}, {.id = "b"}, {.id = "c"}, {.id = "d"}});
  const Claim claim = queue_.claim({.max = 4});
  const auto some = queue_.settle(
      claim, {{.id = "a", .result = 1},
              {.id = "b", .kind = OutcomeKind::kFail, .error = "x", .retryable = false},
              {.id = "nobody"}});
  ASSERT_EQ(some.size(), 3u);
  EXPECT_EQ(some[0].state, State::kFinished);
  EXPECT_EQ(some[1].state, State::kFailed);
  EXPECT_FALSE(some[2].ok);
  ASSERT_TRUE(some[2].error);
  EXPECT_FALSE(some[2].error->code().empty());
  queue_.settle_all(claim, OutcomeKind::kFinish);
  EXPECT_EQ(queue_.get_task("b").state, State::kFailed);
  EXPECT_EQ(queue_.get_task("c").state, State::kFinished);
  EXPECT_EQ(queue_.get_task("d").state, State::kFinished);
}

TEST_P(QueueTest, WhatIsNoLongerHeldCannotBeSettled) {
  queue_.push({.id = "a"});
  const ClaimedTask task = claim_one();
  EXPECT_EQ(queue_.cancel_task("a").state, State::kCanceled);
  EXPECT_EQ(code_of([&] { queue_.finish(task); }), "stale_claim");
  ClaimedTask invented = task;
  invented.claim_id = "nobody";
  EXPECT_EQ(code_of([&] { queue_.finish(invented); }), "stale_claim");
}

TEST_P(QueueTest, AClaimIsExtendedWithProgressAndLearnsWhatWasCanceled) {
  queue_.push_all({{.id = "a"}, {.id = "b"}});
  const Claim claim = queue_.claim({.max = 2, .lease = 1min});
  queue_.cancel_task("b");
  const Extended extended =
      queue_.extend(claim, {.lease = 1h, .progress = {{"a", {{"done", 0.5}}}}});
  EXPECT_GT(extended.lease_until, claim.lease_until);
  EXPECT_EQ(extended.canceled, std::vector<std::string>{"b"});
  EXPECT_TRUE(extended.lost.empty());
  EXPECT_EQ(queue_.get_task("a").progress.at("done"), 0.5);
}

TEST_P(QueueTest, AClaimWaitsForWorkUntilItIsStopped) {
  std::stop_source stop;
  Claim got = {.claim_id = "unset"};
  std::thread waiting([&] { got = queue_.claim({.wait = 5min}, stop.get_token()); });
  stop.request_stop();
  waiting.join();
  EXPECT_TRUE(got.tasks.empty());

  std::thread worker([&] { got = queue_.claim({.wait = 5min}); });
  queue_.push({.id = "late"});
  worker.join();
  ASSERT_EQ(got.tasks.size(), 1u);
  EXPECT_EQ(got.tasks[0].id, "late");
}

TEST_P(QueueTest, WhoeverPushedATaskCanWaitForItsEnd) {
  const std::string id = queue_.push({}).id;
  std::thread worker([&] { queue_.finish(claim_one(), "done"); });
  const Task task = queue_.get_task(id, 5min);
  worker.join();
  EXPECT_EQ(task.state, State::kFinished);
  EXPECT_EQ(task.result, "done");
  EXPECT_TRUE(has_ended(task.state));
}

TEST_P(QueueTest, TasksAreServedUserByUserAndByPriority) {
  queue_.push_all({{.id = "a1", .user = "ann"},
                   {.id = "a2", .user = "ann", .priority = kHigh},
                   {.id = "b1", .user = "ben"}});
  std::vector<std::string> order;
  for (const ClaimedTask& task : queue_.claim({.max = 3}).tasks) order.push_back(task.id);
  EXPECT_EQ(order, (std::vector<std::string>{"a2", "b1", "a1"}));
}

TEST_P(QueueTest, ATaskForLaterWaitsForItsTime) {
  const Pushed pushed = queue_.push({.run_at = now() + 1h});
  EXPECT_EQ(pushed.state, State::kScheduled);
  EXPECT_GT(queue_.get_task(pushed.id).run_at, now());
}

TEST_P(QueueTest, APolicyIsReadAsItWasPut) {
  const QueuePolicy policy{.concurrency = 2,
                           .interval = 5ms,
                           .rate = Rate{.limit = 10, .per = 1min, .burst = 3},
                           .throttle = 7s,
                           .retry = {.kind = RetryKind::kFixed, .base = 2s, .max_attempts = 9},
                           .breaker = Breaker{.after = 4},
                           .lease = 90s,
                           .aging = {.strict = true},
                           .retention = {.finished = 2h}};
  queue_.put_queue("mail", policy);
  const QueueInfo info = queue_.get_queue("mail");
  EXPECT_EQ(info.queue, "mail");
  EXPECT_EQ(info.policy.concurrency, 2);
  EXPECT_EQ(info.policy.interval, 5ms);
  ASSERT_TRUE(info.policy.rate);
  EXPECT_EQ(info.policy.rate->per, 1min);
  EXPECT_EQ(info.policy.throttle, 7s);
  EXPECT_EQ(info.policy.retry.kind, RetryKind::kFixed);
  EXPECT_EQ(info.policy.retry.max_attempts, 9);
  ASSERT_TRUE(info.policy.breaker);
  EXPECT_EQ(info.policy.breaker->after, 4);
  EXPECT_EQ(info.policy.lease, 90s);
  EXPECT_TRUE(info.policy.aging.strict);
  EXPECT_EQ(info.policy.retention.finished, 2h);
  EXPECT_EQ(queue_.put_queue("mail", {.aging = {.step = 1min}}).policy.aging.step, 1min);
  EXPECT_FALSE(queue_.get_queue("mail").policy.concurrency);
  EXPECT_EQ(code_of([&] { queue_.put_queue("mail", {.concurrency = -1}); }), "invalid");
}

TEST_P(QueueTest, EveryOperationIsReachedByItsName) {
  for (const retsu::Operation& operation : retsu::kOperations) {
    try {
      queue_.call(operation.name);
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), testing::Not(HasSubstr("no operation"))) << operation.name;
      EXPECT_EQ(error.code(), "invalid") << operation.name << ": " << error.what();
    }
  }
  EXPECT_EQ(queue_.call("put_xcom", {{"key", "k"}, {"value", {1, 2}}}).at("value"), Json({1, 2}));
  EXPECT_EQ(queue_.call("get_xcom", {{"key", "k"}}).at("value").at(1), 2);
}

TEST_P(QueueTest, ErrorsSayWhatAndWhere) {
  EXPECT_EQ(code_of([&] { queue_.call("fly"); }), "not_found");
  EXPECT_EQ(code_of([&] { queue_.call("why", {{"idd", "x"}}); }), "unknown_field");
  EXPECT_EQ(code_of([&] { queue_.call("why", "x"); }), "invalid");
  EXPECT_EQ(code_of([&] { (void)queue_.get_task("nobody"); }), "not_found");
  EXPECT_EQ(code_of([&] { queue_.push({.priority = 9}); }), "invalid");
  EXPECT_THAT(message_of([&] { queue_.push({.user = "a b"}); }), HasSubstr("user"));
  EXPECT_EQ(code_of([&] { queue_.push({.payload = std::string(2 << 20, 'x')}); }), "too_large");
  EXPECT_EQ(code_of([&] { queue_.push({.payload = "\xff"}); }), "invalid");
  EXPECT_EQ(code_of([&] { queue_.push_all({}); }), "invalid");
  queue_.push({.id = "a"});
  EXPECT_EQ(code_of([&] { queue_.retry_task("a"); }), "invalid_transition");
  Json deep;
  for (int i = 0; i < 70; ++i) deep = Json::array({std::move(deep)});
  EXPECT_EQ(code_of([&] { queue_.push({.payload = deep}); }), "invalid");
}

TEST_P(QueueTest, AHandleCanBeMovedAndTheOldOneSaysSo) {
  queue_.push({.id = "a"});
  Queue moved = std::move(queue_);
  EXPECT_EQ(moved.get_task("a").id, "a");
  EXPECT_EQ(code_of([&] { queue_.stats(); }), "invalid");  // NOLINT(bugprone-use-after-move)
  queue_ = std::move(moved);
  EXPECT_EQ(queue_.get_task("a").id, "a");
}

TEST_P(QueueTest, ManyThreadsShareOneHandle) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 25;
  std::mutex mutex;
  std::multiset<std::string> ran;
  const auto finish_all = [&](const Claim& claim) {
    for (const ClaimedTask& task : claim.tasks) {
      queue_.finish(task, {{"by", claim.claim_id}});
      const std::lock_guard lock(mutex);
      ran.insert(task.id);
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kTasks; ++i) {
        const std::string id = std::to_string(thread) + "-" + std::to_string(i);
        EXPECT_TRUE(queue_.push({.id = id}).created);
        finish_all(queue_.claim({.max = 2}));
        EXPECT_GT(queue_.stats().counters.at("pushed"), i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  finish_all(queue_.claim({.max = 1'000}));
  EXPECT_EQ(ran.size(), kThreads * kTasks);
  EXPECT_EQ(std::set<std::string>(ran.begin(), ran.end()).size(), ran.size());
}

TEST(PublicOpen, ADirectoryKeepsItsTasks) {
  const retsu::TemporaryDirectory directory;
  const std::string where = directory.path() + "/made/on/the/way";
  {
    Queue queue = open(where);
    queue.push({.id = "kept", .payload = {{"n", 1}}}, {.idempotency_key = "k"});
    queue.push({.id = "done"});
    queue.put_queue("mail", {.concurrency = 3});
    const Claim claim = queue.claim({.max = 2});
    queue.finish(claim.tasks.at(1), "yes");
    queue.release(claim.tasks.at(0));
  }
  Queue queue = open(where);
  EXPECT_EQ(queue.get_task("kept").state, State::kQueued);
  EXPECT_EQ(queue.get_task("kept").payload, Json({{"n", 1}}));
  EXPECT_EQ(queue.get_task("done").result, "yes");
  EXPECT_EQ(queue.get_queue("mail").policy.concurrency, 3);
  EXPECT_TRUE(queue.push({.id = "kept", .payload = {{"n", 1}}}, {.idempotency_key = "k"}).replayed);
}

TEST(PublicOpen, ADirectoryThatIsHeldIsRefused) {
  const retsu::TemporaryDirectory directory;
  {
    const Queue queue = open(directory.path());
    EXPECT_EQ(code_of([&] { open(directory.path()); }), "conflict");
    const std::string message = message_of([&] { open(directory.path()); });
    EXPECT_THAT(message, HasSubstr(directory.path()));
    EXPECT_THAT(message, HasSubstr("is held by process"));
    EXPECT_THAT(message, HasSubstr("one program at a time"));
  }
  EXPECT_NO_THROW(open(directory.path()));
}

TEST(PublicOpen, WhatIsNotBuiltInSaysSo) {
  EXPECT_EQ(code_of([&] { open("redis://localhost:6379/0"); }), "unavailable");
  EXPECT_THAT(message_of([&] { open("redis://localhost:6379/0"); }), HasSubstr("not built"));
  EXPECT_EQ(code_of([] { open("ftp://host"); }), "invalid");
  EXPECT_EQ(code_of([] { open(""); }), "invalid");
}

TEST(PublicOpen, AServerThatIsNotThereIsToldByTheFirstCall) {
  Queue queue = open("http://127.0.0.1:1");
  EXPECT_EQ(code_of([&] { queue.stats(); }), "unavailable");
}

TEST(PublicOpen, APlaceThatCannotBeADirectoryIsRefused) {
  const retsu::TemporaryDirectory directory;
  const std::string file = directory.path() + "/file";
  std::ofstream(file) << "not a directory";
  EXPECT_EQ(code_of([&] { open(file); }), "unavailable");
  EXPECT_EQ(code_of([&] { open(file + "/below"); }), "unavailable");
}

TEST(PublicOpen, QueuesInMemoryHaveNothingInCommon) {
  Queue one = open("memory:");
  Queue two = open("memory:");
  one.push({.id = "a"});
  EXPECT_EQ(code_of([&] { (void)two.get_task("a"); }), "not_found");
}

}  // namespace
}  // namespace retsu_api
