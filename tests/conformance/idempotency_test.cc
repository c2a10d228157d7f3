// One key, one effect, for 72 hours.

#include <set>

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

class Idempotency : public Conformance {
 protected:
  Answer ask_once(const std::string& key, Command command, const std::string& caller = {}) {
    Context context;
    context.idempotency_key = key;
    context.caller = caller;
    return call_any(broker(), std::move(command), std::move(context));
  }
  Answer push_once(const std::string& key, NewTask task, const std::string& caller = {}) {
    return ask_once(key, Push{.tasks = {std::move(task)}}, caller);
  }
  static std::string id_in(const Answer& answer) {
    if (!answer) throw Unexpected(answer.error().message);
    return std::get<PushReply>(*answer).tasks.at(0).id;
  }
  std::int64_t stored() { return count_of(must(Stats{}).tasks, "QUEUED"); }
};
FOR_EACH_BROKER(Idempotency);

TEST_P(Idempotency, TheSamePushAgainIsAnsweredAsTheFirstTimeAndDoesNothing) {
  const Answer first = push_once("k", {.payload = R"({"a":1,"b":[2]})"});
  const Answer again = push_once("k", {.payload = R"({"a":1,"b":[2]})"});
  EXPECT_FALSE(first.replayed);
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(id_in(first), id_in(again));
  EXPECT_EQ(stored(), 1);
}

TEST_P(Idempotency, TheAnswerIsTheFirstOneAlsoWhenTheTaskHasMovedOn) {
  const Answer first = push_once("k", {});
  const ClaimReply held = claim();
  finish(held, id_in(first));
  advance(1h);
  remove(id_in(first));
  const Answer again = push_once("k", {});
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(std::get<PushReply>(*again), std::get<PushReply>(*first));
  EXPECT_EQ(stored(), 0);
}

TEST_P(Idempotency, TheOrderOfKeysInAPayloadMakesNoDifference) {
  const Answer first = push_once("k", {.payload = R"({"a":1,"b":{"c":2,"d":"é"}})"});
  const Answer again = push_once("k", {.payload = R"({"b":{"d":"\u00e9","c":2},"a":1})"});
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(id_in(first), id_in(again));
}

TEST_P(Idempotency, AnotherBodyIsRefused) {
  id_in(push_once("k", {.payload = "1"}));
  for (const NewTask& other : {NewTask{.payload = "2"}, NewTask{.user = "ann", .payload = "1"},
                               NewTask{.payload = "1.0"}}) {
    const Answer refused = push_once("k", other);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, kIdempotencyMismatch);
    EXPECT_FALSE(refused.replayed);
  }
  EXPECT_EQ(stored(), 1);
}

TEST_P(Idempotency, CallersAndOperationsHaveTheirOwnKeys) {
  if (is_remote()) GTEST_SKIP() << "tokens tell who calls";
  push(NewTask{.id = "t"});
  id_in(push_once("k", {}, "ann"));
  id_in(push_once("k", {}, "bob"));
  EXPECT_EQ(stored(), 3);
  const Answer canceled = ask_once("k", CancelTask{.id = "t"}, "ann");
  EXPECT_TRUE(canceled.has_value());
  EXPECT_FALSE(canceled.replayed);
}

TEST_P(Idempotency, AKeyIsForgottenAfter72Hours) {
  id_in(push_once("k", {}));
  advance(72h - 1ms);
  EXPECT_TRUE(push_once("k", {}).replayed);
  EXPECT_EQ(must(Stats{}).idempotency_keys, 1);
  advance(1ms);
  EXPECT_EQ(must(Stats{}).idempotency_keys, 0);
  EXPECT_FALSE(push_once("k", {.payload = "2"}).replayed);
  EXPECT_EQ(stored(), 2);
}

TEST_P(Idempotency, WhatWasRefusedMayBeTriedAgain) {
  const NewTask waits{.depends_on = {{.id = "later"}}};
  EXPECT_EQ(push_once("k", waits).error().code, kUnknownDependency);
  push(NewTask{.id = "later"});
  const Answer done = push_once("k", waits);
  EXPECT_TRUE(done.has_value());
  EXPECT_FALSE(done.replayed);
  EXPECT_EQ(must(Stats{}).idempotency_keys, 1);
}

TEST_P(Idempotency, ARetryByHandHappensOnce) {
  put_queue("default", {.retry = {.max_attempts = 1}});
  push(NewTask{.id = "t"});
  const auto fail_it = [&] { fail(start("t"), "t"); };
  fail_it();
  EXPECT_TRUE(ask_once("k", RetryTask{.id = "t"}).has_value());
  fail_it();
  EXPECT_TRUE(ask_once("k", RetryTask{.id = "t"}).replayed);
  EXPECT_EQ(state_of("t"), kFailed);
}

TEST_P(Idempotency, OperationsThatNeedNoKeyTakeNoNotice) {
  push(NewTask{.id = "t"});
  EXPECT_FALSE(ask_once("k", GetTask{.id = "t"}).replayed);
  EXPECT_FALSE(ask_once("k", GetTask{.id = "t"}).replayed);
  EXPECT_FALSE(ask_once("k", PauseQueue{.queue = "default"}).replayed);
  EXPECT_EQ(must(Stats{}).idempotency_keys, 0);
}

TEST_P(Idempotency, BadKeysAreRefused) {
  for (const std::string& bad :
       {std::string(), std::string(256, 'k'), std::string("a b"), std::string("a\n"),
        std::string("\xc3\xa9"), std::string("a\0b", 3)}) {
    const Answer refused = push_once(bad, {});
    ASSERT_FALSE(refused.has_value()) << bad;
    EXPECT_EQ(refused.error().code, kInvalid);
  }
  EXPECT_TRUE(push_once(std::string(255, 'k'), {}).has_value());
  EXPECT_TRUE(push_once("123e4567-e89b-42d3-a456-426614174000", {}).has_value());
  EXPECT_TRUE(push_once("1a2b3c4d-1717171717171", {}).has_value());
  EXPECT_EQ(stored(), 3);
}

TEST_P(Idempotency, ThereIsALimitToHowManyKeys) {
  Limits limits;
  limits.idempotency_keys = 2;
  begin(limits);
  id_in(push_once("a", {}));
  id_in(push_once("b", {}));
  EXPECT_EQ(push_once("c", {}).error().code, kOverloaded);
  EXPECT_TRUE(push_once("a", {}).replayed);
  EXPECT_EQ(stored(), 2);
  push(NewTask{});
}

TEST_P(Idempotency, ManyAtOnceWithOneKeyHaveOneEffect) {
  std::vector<std::future<Answer>> answers;
  for (int i = 0; i < 100; ++i) {
    auto promise = std::make_shared<std::promise<Answer>>();
    answers.push_back(promise->get_future());
    Context context;
    context.idempotency_key = "k";
    broker().submit(Push{.tasks = {NewTask{}}}, std::move(context),
                    [promise](Answer answer) { promise->set_value(std::move(answer)); });
  }
  std::set<std::string> ids;
  int replayed = 0;
  for (auto& answer : answers) {
    const Answer got = soon(answer);
    ids.insert(id_in(got));
    replayed += got.replayed;
  }
  EXPECT_EQ(ids.size(), 1U);
  EXPECT_EQ(replayed, 99);
  EXPECT_EQ(stored(), 1);
}

}  // namespace
}  // namespace retsu::conformance
