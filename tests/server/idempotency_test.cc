// Idempotency keys over HTTP: every operation that uses one, by the table.

#include "ingest/idempotency.h"

#include "server/server_test.h"

namespace retsu {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using Headers = std::vector<std::pair<std::string, std::string>>;

// A request, one that differs from it, and what must be there for both.
struct Case {
  std::string_view operation;
  std::vector<Command> before;
  std::string target;
  std::string body;
  std::string other_target;
  std::string other_body;
};

std::vector<Case> cases() {
  const Command tasks = Push{.tasks = {{.id = "a"}, {.id = "b"}}};
  const std::vector<Command> canceled = {tasks, CancelTask{.id = "a"}, CancelTask{.id = "b"}};
  std::vector<Command> dead = {tasks, Claim{.max = 2, .claim_id = "c"}};
  for (const char* id : {"a", "b"}) {
    dead.push_back(Settle{.claim_id = "c",
                          .results = {{.id = id, .outcome = Outcome::kFail, .retryable = false}}});
  }
  const ScheduleSpec hourly{.cron = "0 * * * *"};
  return {
      {"push", {}, "/v1/tasks", R"({"payload":1})", "/v1/tasks", R"({"payload":2})"},
      {"cancel_task", {tasks}, "/v1/tasks/a/cancel", "", "/v1/tasks/b/cancel", ""},
      {"retry_task", canceled, "/v1/tasks/a/retry", "", "/v1/tasks/b/retry", ""},
      {"remove_task", canceled, "/v1/tasks/a", "", "/v1/tasks/b", ""},
      {"retry_tasks", canceled, "/v1/tasks/retry", R"({"filter":{"q":"a"},"expect":1})",
       "/v1/tasks/retry", R"({"filter":{"q":"b"},"expect":1})"},
      {"redrive_dead", dead, "/v1/dead/redrive", R"({"filter":{"q":"a"},"expect":1})",
       "/v1/dead/redrive", R"({"filter":{"q":"b"},"expect":1})"},
      {"delete_queue",
       {PutQueue{.queue = "x"}, PutQueue{.queue = "y"}},
       "/v1/queues/x",
       "",
       "/v1/queues/y",
       ""},
      {"run_schedule",
       {PutSchedule{.name = "x", .schedule = hourly}, PutSchedule{.name = "y", .schedule = hourly}},
       "/v1/schedules/x/run",
       "",
       "/v1/schedules/y/run",
       ""},
  };
}

class Keys : public ServerTest {
 protected:
  using ServerTest::ServerTest;
  void SetUp() override { start(); }

  HttpAnswer push(const std::string& key, std::string body = "{}") {
    return ask("POST", "/v1/tasks", std::move(body), {{"Idempotency-Key", key}});
  }
};

// A queue for each operation.
class EveryOperation : public Keys, public testing::WithParamInterface<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Keys, EveryOperation, testing::Range(std::size_t{0}, kOperations.size()),
                         [](const auto& row) { return std::string(kOperations[row.param].name); });

TEST_P(EveryOperation, ThatUsesAKeyHasOneEffectWithIt) {
  const Operation& operation = kOperations[GetParam()];
  if (!uses_key(operation)) return;
  const auto all = cases();
  const auto found = std::ranges::find(all, operation.name, &Case::operation);
  ASSERT_NE(found, all.end()) << "no case for " << operation.name;
  for (const Command& command : found->before) ASSERT_TRUE(call_any(queue_, command));
  const std::string method(operation.method);
  const auto send = [&](const std::string& key) {
    return ask(method, found->target, found->body, {{"Idempotency-Key", key}});
  };

  const HttpAnswer first = send("0199a0b1-c2d3-7e4f-8a5b-6c7d8e9f0a1b");
  EXPECT_EQ(first.status / 100, 2) << first.body;
  EXPECT_EQ(first.header("idempotent-replayed"), "");
  int replays = 0;
  for (const std::string key :
       {"0199a0b1-c2d3-7e4f-8a5b-6c7d8e9f0a1b", "\"0199a0b1-c2d3-7e4f-8a5b-6c7d8e9f0a1b\""}) {
    const HttpAnswer again = send(key);
    EXPECT_EQ(again.status, first.status);
    EXPECT_EQ(again.body, first.body);
    EXPECT_EQ(again.header("idempotent-replayed"), "true");
    EXPECT_EQ(metric("retsu_idempotent_replays_total"), ++replays);
    EXPECT_EQ(metric("retsu_idempotent_requests_total"), 1 + replays);
  }

  const HttpAnswer other = ask(method, found->other_target, found->other_body,
                               {{"Idempotency-Key", "0199a0b1-c2d3-7e4f-8a5b-6c7d8e9f0a1b"}});
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(code_in(other), "idempotency_mismatch");
  EXPECT_EQ(metric("retsu_idempotency_mismatches_total"), 1);
  EXPECT_EQ(metric("retsu_idempotent_replays_total"), replays);
  // It was not done, and may be with a key of its own.
  const HttpAnswer own =
      ask(method, found->other_target, found->other_body, {{"Idempotency-Key", "own"}});
  EXPECT_EQ(own.status, first.status) << own.body;
  EXPECT_EQ(own.header("idempotent-replayed"), "");
}

TEST_P(EveryOperation, RefusesAKeyThatIsNone) {
  const Operation& operation = kOperations[GetParam()];
  if (!uses_key(operation)) return;
  const auto all = cases();
  const auto found = std::ranges::find(all, operation.name, &Case::operation);
  ASSERT_NE(found, all.end());
  for (const Command& command : found->before) ASSERT_TRUE(call_any(queue_, command));
  const std::string method(operation.method);
  for (const std::string& bad :
       {std::string(256, 'k'), std::string("a b"), std::string("a\tb"), std::string("\"\""),
        std::string("a\x01z"), std::string("a\x7fz"), std::string("\xc3\xa9")}) {
    RawClient one = connect();
    EXPECT_THAT(one.ask(request(operation.method, found->target, found->body,
                                "Idempotency-Key: " + bad + "\r\n")),
                StartsWith("HTTP/1.1 400"))
        << bad;
  }
  EXPECT_EQ(
      ask(method, found->target, found->body, {{"Idempotency-Key", std::string(255, 'k')}}).status /
          100,
      2);
}

TEST_F(Keys, WhatIsNotValidIsNotRemembered) {
  EXPECT_EQ(push("k", R"({"payloat":1})").status, 400);
  EXPECT_EQ(push("k", R"({"priority":9})").status, 400);
  EXPECT_EQ(push("k", R"({"depends_on":["nobody"]})").status, 422);
  const HttpAnswer done = push("k", R"({"payload":1})");
  EXPECT_EQ(done.status, 201);
  EXPECT_EQ(done.header("idempotent-replayed"), "");
  EXPECT_EQ(metric("retsu_idempotent_replays_total"), 0);
  EXPECT_EQ(metric("retsu_idempotency_mismatches_total"), 0);
  EXPECT_EQ(metric("retsu_idempotent_requests_total"), 4);
}

class FullQueue : public Keys {
 protected:
  FullQueue() : Keys(Limits{.queue_tasks = 1}) {}
};

TEST_F(FullQueue, WhatIsRefusedByItIsNotRemembered) {
  EXPECT_EQ(push("a", R"({"id":"a"})").status, 201);
  const HttpAnswer full = push("b");
  EXPECT_EQ(full.status, 429);
  EXPECT_EQ(full.header("retry-after"), "1");
  post("/v1/tasks/a/cancel", "");
  const HttpAnswer done = push("b");
  EXPECT_EQ(done.status, 201);
  EXPECT_EQ(done.header("idempotent-replayed"), "");
}

TEST_F(Keys, WhatIsRefusedWhileItDrainsMayBeTriedLater) {
  post("/v1/drain", "");
  const HttpAnswer refused = push("k");
  EXPECT_EQ(code_in(refused), "draining");
  EXPECT_EQ(refused.header("retry-after"), "60");
  ask("DELETE", "/v1/drain");
  EXPECT_EQ(push("k").status, 201);
}

class StillClock : public Keys {
 protected:
  StillClock() : Keys({}, nullptr) {}
};

TEST_F(StillClock, AKeyIsRememberedForAsLongAsIsAskedAndNot72HoursMore) {
  const auto push_for = [&](const std::string& age) {
    const Headers headers{{"Idempotency-Key", age}, {"Retsu-Key-Age", age}};
    EXPECT_EQ(ask("POST", "/v1/tasks", "{}", headers).status, 201) << age;
  };
  const auto keys = [&] { return call(queue_, Stats{})->idempotency_keys; };
  push_for("600");
  for (const char* other : {"0", "-1", "999999999", "soon", "1.5"}) push_for(other);
  push("usual");
  queue_.set_clock(TimePoint(std::chrono::minutes(10) - Millis(1)));
  EXPECT_EQ(keys(), 7);
  queue_.set_clock(TimePoint(std::chrono::minutes(10)));
  EXPECT_EQ(keys(), 6);
  queue_.set_clock(TimePoint(std::chrono::hours(72) - Millis(1)));
  EXPECT_EQ(keys(), 6);
  queue_.set_clock(TimePoint(std::chrono::hours(72)));
  EXPECT_EQ(keys(), 0);
}

class KeysOfTokens : public Keys {
 protected:
  void SetUp() override {
    auto opened = server::Tokens::open(directory_.path() + "/tokens.jsonl");
    ASSERT_TRUE(opened);
    tokens_ = std::make_unique<server::Tokens>(std::move(*opened));
    settings_.tokens = tokens_.get();
    start();
  }
  std::string token(std::vector<Scope> scopes, std::vector<std::string> queues = {}) {
    return tokens_->create({.scopes = std::move(scopes), .queues = std::move(queues)}, TimePoint())
        ->token;
  }
  HttpAnswer push_as(const std::string& token, const std::string& body = "{}") {
    return ask("POST", "/v1/tasks", body,
               {{"Authorization", "Bearer " + token}, {"Idempotency-Key", "k"}});
  }

  const TemporaryDirectory directory_;
  std::unique_ptr<server::Tokens> tokens_;
};

TEST_F(KeysOfTokens, WhatMayNotBeDoneIsNotRemembered) {
  const std::string ann = token({Scope::kPush}, {"mail"});
  EXPECT_EQ(push_as("nobody").status, 401);
  EXPECT_EQ(push_as(token({Scope::kRead})).status, 403);
  EXPECT_EQ(push_as(ann, R"({"queue":"other"})").status, 403);
  const HttpAnswer done = push_as(ann, R"({"queue":"mail"})");
  EXPECT_EQ(done.status, 201);
  EXPECT_EQ(done.header("idempotent-replayed"), "");
  EXPECT_EQ(call(queue_, Stats{})->idempotency_keys, 1);
}

TEST_F(KeysOfTokens, AreEachTokensOwn) {
  const std::string ann = token({Scope::kPush});
  EXPECT_EQ(push_as(ann).status, 201);
  EXPECT_EQ(push_as(ann).header("idempotent-replayed"), "true");
  EXPECT_EQ(push_as(token({Scope::kPush})).header("idempotent-replayed"), "");
  EXPECT_EQ(stored(), 2);
}

}  // namespace
}  // namespace retsu
