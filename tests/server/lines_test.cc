// Pushes of one task a line, read while they come in.

#include "server/server_test.h"

namespace retsu {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class Lines : public ServerTest {
 protected:
  void SetUp() override { start(); }

  HttpAnswer push(std::string lines, const std::string& key = "", const std::string& query = "") {
    std::vector<std::pair<std::string, std::string>> headers{
        {"Content-Type", "application/x-ndjson; charset=utf-8"}};
    if (!key.empty()) headers.emplace_back("Idempotency-Key", key);
    return ask("POST", "/v1/tasks" + query, std::move(lines), headers);
  }
  static std::string numbered(int from, int to) {
    std::string lines;
    for (int i = from; i <= to; ++i) lines += fmt::format("{{\"id\":\"t{}\"}}\n", i);
    return lines;
  }
  // A stream whose body comes in chunks.
  static std::string head_of_stream(const std::string& key) {
    return fmt::format(
        "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
        "Idempotency-Key: {}\r\nTransfer-Encoding: chunked\r\n\r\n",
        key);
  }
  static std::string chunk(const std::string& bytes) {
    return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
  }
  // What happens in the server by and by. False: it has not.
  template <class Call>
  static bool wait_for(Call call) {
    for (int i = 0; i < 1'000; ++i) {
      if (call()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "it did not happen";
    return false;
  }
  static std::size_t created_in(const HttpAnswer& answer) {
    const auto reply = reply_from_json("push", answer.body);
    return static_cast<std::size_t>(
        std::ranges::count(std::get<PushReply>(*reply).tasks, true, &Pushed::created));
  }
};

TEST_F(Lines, AreEachATask) {
  const HttpAnswer answer = push("{\"id\":\"a\"}\n\n  \r\n{\"id\":\"b\"}\r\n{\"id\":\"c\"}");
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(created_in(answer), 3U);
  EXPECT_EQ(stored(), 3);
  EXPECT_EQ(push("{\"id\":\"a\"}\n").status, 200);
  EXPECT_EQ(push("").body, R"({"tasks":[]})");
}

TEST_F(Lines, AreAsManyAsThereAre) {
  const HttpAnswer answer = push(numbered(1, 12'345));
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(created_in(answer), 12'345U);
  EXPECT_EQ(stored(), 12'345);
}

TEST_F(Lines, BeforeABadOneArePushedAndItsNumberIsTold) {
  const HttpAnswer answer = push(numbered(1, 2'500) + "{\"idd\":1}\n" + numbered(2'501, 9'000));
  EXPECT_EQ(answer.status, 201);
  EXPECT_THAT(answer.body,
              HasSubstr(R"("error":{"code":"unknown_field","message":"line 2501: idd)"));
  EXPECT_EQ(stored(), 2'500);
}

TEST_F(Lines, WhoseFirstIsBadAreRefusedAsAnyPush) {
  const HttpAnswer answer = push("{\"priority\":9}\n" + numbered(1, 10));
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("line 1: "));
  EXPECT_EQ(stored(), 0);
}

TEST_F(Lines, ThatTheQueueRefusesAreNamed) {
  const HttpAnswer answer = push(numbered(1, 1'000) + "{\"id\":\"u\"}\n{\"user\":\"a b\"}\n");
  EXPECT_THAT(answer.body, HasSubstr(R"("message":"line 1002: user: )"));
  EXPECT_EQ(stored(), 1'000);
  const HttpAnswer waits = push("{\"depends_on\":[\"nobody\"]}\n");
  EXPECT_EQ(waits.status, 422);
}

TEST_F(Lines, MayBePushedInPart) {
  const HttpAnswer answer =
      push("{\"id\":\"a\"}\n{\"depends_on\":[\"nobody\"]}\n{\"id\":\"b\"}\n", "", "?partial=true");
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(stored(), 2);
  EXPECT_EQ(push("{}\n", "", "?partially=true").status, 400);
}

TEST_F(Lines, WithAKeyHaveOneEffect) {
  std::string lines;
  for (int i = 0; i < 2'100; ++i) lines += "{\"payload\":1}\n";
  const HttpAnswer first = push(lines, "k");
  EXPECT_EQ(created_in(first), 2'100U);
  EXPECT_EQ(push(lines, "k").body, first.body);
  EXPECT_EQ(stored(), 2'100);
  EXPECT_EQ(push("{\"payload\":0}\n" + lines, "k").status, 409);
  EXPECT_EQ(push(lines, "a b").status, 400);
  EXPECT_EQ(stored(), 2'100);
  EXPECT_EQ(created_in(push(lines, "another")), 2'100U);
}

TEST_F(Lines, AnswerThatSomethingIsNewWhereverItIs) {
  push(numbered(1, 1'000));
  EXPECT_EQ(push(numbered(1, 1'000)).status, 200);
  EXPECT_EQ(push(numbered(1, 1'001)).status, 201);
}

TEST_F(Lines, ThatAreAllKnownAreAReplay) {
  const std::string lines = numbered(1, 2'000) + "{\"idd\":1}\n";
  const HttpAnswer first = push(lines, "k");
  EXPECT_EQ(first.header("idempotent-replayed"), "");
  const HttpAnswer again = push(lines, "\"k\"");
  EXPECT_EQ(again.status, first.status);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.header("idempotent-replayed"), "true");
  EXPECT_EQ(metric("retsu_idempotent_replays_total"), 1);
}

TEST_F(Lines, MoreOrFewerOrOtherUnderTheSameKeyAreRefused) {
  const std::string lines = numbered(1, 2'000);
  ASSERT_EQ(push(lines, "k").status, 201);
  const std::pair<std::string, std::string> others[] = {
      {numbered(1, 1'000), ""},      {numbered(1, 1'999), ""},
      {numbered(1, 2'001), ""},      {numbered(1, 3'000), ""},
      {numbered(1, 5'500), ""},      {numbered(1, 1'000) + numbered(3'001, 4'000), ""},
      {lines + "{\"idd\":1}\n", ""}, {lines, "?partial=true"},
  };
  for (const auto& [other, query] : others) {
    const HttpAnswer refused = push(other, "k", query);
    EXPECT_EQ(refused.status, 409);
    EXPECT_EQ(code_in(refused), "idempotency_mismatch");
    EXPECT_EQ(refused.header("idempotent-replayed"), "");
    EXPECT_EQ(stored(), 2'000);
  }
  EXPECT_EQ(metric("retsu_idempotency_mismatches_total"), std::ssize(others));
  EXPECT_EQ(push(lines + "\n \r\n", "k").header("idempotent-replayed"), "true");
}

TEST_F(Lines, AndABatchDoNotShareAKey) {
  const auto batch = [&](const std::string& key) {
    return ask("POST", "/v1/tasks", R"({"tasks":[{"id":"t1"}]})", {{"Idempotency-Key", key}});
  };
  EXPECT_EQ(push(numbered(1, 1), "a").status, 201);
  EXPECT_EQ(code_in(batch("a")), "idempotency_mismatch");
  EXPECT_EQ(batch("b").status, 200);
  EXPECT_EQ(code_in(push(numbered(1, 1), "b")), "idempotency_mismatch");
}

TEST_F(Lines, ThatWereCutOffGoOnWhereTheyEnded) {
  {
    RawClient gone = connect();
    gone.send(head_of_stream("k") + chunk(numbered(1, 2'500)));
    wait_for([&] { return stored() == 2'000; });
  }
  HttpAnswer whole;
  wait_for([&] {  // until its end has been noticed
    whole = push(numbered(1, 3'000), "k");
    return whole.status != 409;
  });
  EXPECT_EQ(whole.status, 201);
  EXPECT_EQ(whole.header("idempotent-replayed"), "");
  EXPECT_EQ(created_in(whole), 3'000U);
  EXPECT_EQ(stored(), 3'000);
  EXPECT_EQ(push(numbered(1, 3'000), "k").header("idempotent-replayed"), "true");
}

TEST_F(Lines, KeepTheirKeyWhileTheyComeIn) {
  RawClient first = connect();
  first.send(head_of_stream("k") + chunk(numbered(1, 1'500)));
  wait_for([&] { return stored() == 1'000; });

  // Before anything of the body is there, and whatever it is.
  RawClient second = connect();
  second.send(head_of_stream("\"k\""));
  const std::string refused = second.receive_some();
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 409"));
  EXPECT_THAT(refused, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_THAT(refused, HasSubstr("idempotency_in_progress"));
  const HttpAnswer batch = ask("POST", "/v1/tasks", "{}", {{"Idempotency-Key", "k"}});
  EXPECT_EQ(code_in(batch), "idempotency_in_progress");
  EXPECT_EQ(batch.header("retry-after"), "1");

  EXPECT_EQ(push(numbered(2'001, 2'001), "another").status, 201);
  // Keys are an operation's own.
  EXPECT_EQ(ask("POST", "/v1/tasks/t1/cancel", "", {{"Idempotency-Key", "k"}}).status, 200);
  first.send("0\r\n\r\n");
  EXPECT_THAT(first.receive_answer(), StartsWith("HTTP/1.1 201"));
  EXPECT_EQ(push(numbered(1, 1'500), "k").header("idempotent-replayed"), "true");
  EXPECT_EQ(stored(), 1'501);
}

TEST_F(Lines, ThatEndInWhateverWayLeaveTheirKeyToOthers) {
  const auto is_free = [&](const std::string& key) {
    return wait_for([&] { return push(numbered(1, 1), key).status != 409; });
  };
  push("{\"idd\":1}\n", "refused");
  EXPECT_TRUE(is_free("refused"));
  {
    RawClient cut = connect();
    cut.send(head_of_stream("cut") + chunk("{\"id\":"));
    EXPECT_EQ(wait_for([&] { return push("", "cut").status == 409; }), true);
  }
  EXPECT_TRUE(is_free("cut"));
  // The connection stays for an answer that is still to come.
  RawClient half = connect();
  half.send(request("POST", "/v1/claims", R"({"queues":["none"],"wait_ms":60000})") +
            head_of_stream("half"));
  EXPECT_TRUE(wait_for([&] { return push("", "half").status == 409; }));
  half.end_sending();
  EXPECT_TRUE(is_free("half"));
}

TEST_F(Lines, ThatAreTooLongAreRefused) {
  const HttpAnswer answer =
      push("{\"id\":\"a\"}\n{\"payload\":\"" + std::string(3 << 20, 'x') + "\"}\n");
  EXPECT_THAT(answer.body, HasSubstr("line 2: has more than"));
}

TEST_F(Lines, OfACallerWhoGoesArePushedAsFarAsTheyCame) {
  {
    RawClient gone = connect();
    gone.send(
        "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
        "Content-Length: 100000000\r\n\r\n" +
        numbered(1, 2'500));
  }
  for (int i = 0; i < 400 && stored() < 2'000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(stored(), 2'000);
}

}  // namespace
}  // namespace retsu
