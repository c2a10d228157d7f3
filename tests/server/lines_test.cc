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
