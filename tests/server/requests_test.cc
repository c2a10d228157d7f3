// What every request can rely on.

#include "server/server_test.h"

namespace retsu {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Requests : public ServerTest {
 protected:
  void SetUp() override { start(); }
};

TEST_F(Requests, APushAnswers201IfAnythingIsNewAnd200Otherwise) {
  EXPECT_EQ(post("/v1/tasks", R"({"id":"a"})").status, 201);
  EXPECT_EQ(post("/v1/tasks", R"({"id":"a"})").status, 200);
  EXPECT_EQ(post("/v1/tasks", R"({"tasks":[{"id":"a"},{"id":"b"}]})").status, 201);
}

TEST_F(Requests, AreAnsweredInTheirOrderOnOneConnection) {
  RawClient one = connect();
  one.send(request("POST", "/v1/claims", R"({"wait_ms":200})") + request("GET", "/healthz") +
           request("GET", "/v1/tasks/nobody"));
  EXPECT_THAT(one.receive_answer(), HasSubstr("claim_id"));
  EXPECT_THAT(one.receive_answer(), HasSubstr("ok"));
  EXPECT_THAT(one.receive_answer(), StartsWith("HTTP/1.1 404"));
}

TEST_F(Requests, ARefusedOneLeavesTheConnectionToTheNext) {
  RawClient one = connect();
  EXPECT_THAT(one.ask(request("POST", "/nowhere", R"({"a":1})")), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(one.ask(request("PUT", "/v1/tasks", R"({"a":1})")),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("POST, GET")));
  EXPECT_THAT(one.ask(request("GET", "/healthz")), StartsWith("HTTP/1.1 200"));
}

TEST_F(Requests, ABodyMayComeInChunks) {
  RawClient one = connect();
  one.send("POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  one.send("5\r\n{\"id\"\r\n5;note=x\r\n:\"a\"}\r\n0\r\n\r\n");
  EXPECT_THAT(one.receive_answer(), AllOf(StartsWith("HTTP/1.1 201"), HasSubstr(R"("id":"a")")));
}

TEST_F(Requests, MayComeByteByByte) {
  const std::string head = "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\n";
  const std::pair<std::string, std::string> table[] = {
      {head + "Content-Length: 10\r\n\r\n{\"id\":\"a\"}", "HTTP/1.1 201"},
      {head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "HTTP/1.1 201"},
      {head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nTrailer: x\r\n\r\n",
       "HTTP/1.1 201"},
      {head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 400"},
      {head + "Transfer-Encoding: chunked\r\n\r\n000\r\n\r\n", "HTTP/1.1 400"},
      {"POST /nowhere HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       "HTTP/1.1 404"},
  };
  for (const auto& [bytes, answer] : table) {
    RawClient one = connect();
    for (const char c : bytes) {
      one.send(std::string(1, c));
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    EXPECT_THAT(one.receive_answer(), StartsWith(answer)) << bytes;
    EXPECT_THAT(one.ask(request("GET", "/healthz")), StartsWith("HTTP/1.1 200")) << bytes;
  }
}

TEST_F(Requests, ABodyOfNoChunksThatStopsHalfwayDisturbsNobody) {
  RawClient half = connect();
  half.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n");
  EXPECT_EQ(get("/healthz").status, 200);
  half.end_sending();
  half.receive_all();
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(Requests, ThatAskForTheHeadGetNoBody) {
  RawClient one = connect();
  one.send("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + request("GET", "/v1/stats"));
  std::string both = one.receive_some();
  while (both.find("draining") == std::string::npos) both += one.receive_some();
  EXPECT_THAT(
      both, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Content-Length: 15\r\n\r\nHTTP/1.1 200")));
}

TEST_F(Requests, DoNotOvertakeEachOther) {
  RawClient one = connect();
  for (int i = 0; i < 20; ++i) {
    one.send(request("PUT", "/v1/xcom/k", "{\"value\":\"" + std::string(200'000, 'x') + "\"}") +
             request("DELETE", "/v1/xcom/k") + request("GET", "/v1/xcom/k"));
    EXPECT_THAT(one.receive_answer(), StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(one.receive_answer(), HasSubstr(R"({"removed":1})"));
    EXPECT_THAT(one.receive_answer(), StartsWith("HTTP/1.1 404"));
  }
}

TEST_F(Requests, ToAHostWithoutANameAreRefused) {
  for (const char* host : {":80", "", "[", "a b"}) {
    RawClient one = connect();
    const std::string answer =
        one.ask(fmt::format("GET /v1/stats HTTP/1.1\r\nHost: {}\r\n\r\n", host));
    EXPECT_THAT(answer, testing::AnyOf(StartsWith("HTTP/1.1 400"), StartsWith("HTTP/1.1 403"),
                                       StartsWith("HTTP/1.1 200")))
        << host;
    if (host[0] != '[') {
      EXPECT_THAT(answer, testing::Not(StartsWith("HTTP/1.1 200"))) << host;
    }
  }
}

TEST_F(Requests, ABodyMayBeAskedFor) {
  RawClient one = connect();
  one.send(
      "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
      "Content-Length: 2\r\n\r\n");
  EXPECT_THAT(one.receive_answer(), StartsWith("HTTP/1.1 100 Continue"));
  EXPECT_THAT(one.ask("{}"), StartsWith("HTTP/1.1 201"));
}

TEST_F(Requests, ABodyThatWouldBeRefusedIsNotAskedFor) {
  RawClient one = connect();
  one.send(
      "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
      "Content-Length: 5000000\r\n\r\n");
  EXPECT_THAT(one.receive_all(), AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("Connection: close")));
}

TEST_F(Requests, AClientOfTheOldVersionGetsOneAnswer) {
  RawClient old = connect();
  old.send("GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(old.receive_all(), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Connection: close")));
}

TEST_F(Requests, OneThatWantsToBeTheLastIs) {
  RawClient one = connect();
  one.send(request("GET", "/healthz", "", "Connection: close\r\n") + request("GET", "/v1/stats"));
  EXPECT_THAT(one.receive_all(), AllOf(HasSubstr("ok"), Not(HasSubstr("draining"))));
}

TEST_F(Requests, ALargeBodyIsReadBesideTheLoop) {
  std::string tasks;
  for (int i = 0; i < 1'000; ++i) {
    tasks += fmt::format(R"({}{{"id":"t{}","payload":"{}"}})", i == 0 ? "" : ",", i,
                         std::string(10'000, 'x'));
  }
  EXPECT_EQ(post("/v1/tasks", "{\"tasks\":[" + tasks + "]}").status, 201);
  EXPECT_EQ(stored(), 1'000);
}

TEST_F(Requests, AKeyMakesARepeatedPushOnePush) {
  const auto push = [&](const std::string& key, const std::string& body) {
    return ask("POST", "/v1/tasks", body, {{"Idempotency-Key", key}});
  };
  const HttpAnswer first = push("k1", R"({"payload":1})");
  const HttpAnswer again = push("\"k1\"", R"({ "payload" : 1 })");
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(first.header("idempotent-replayed"), "");
  EXPECT_EQ(again.header("idempotent-replayed"), "true");
  const HttpAnswer other = push("k1", R"({"payload":2})");
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(code_in(other), "idempotency_mismatch");
  EXPECT_EQ(push("a b", "{}").status, 400);
  EXPECT_EQ(stored(), 1);
}

TEST_F(Requests, APageOfAnotherSiteMayNotAsk) {
  const auto from = [&](const std::string& origin, const std::string& host) {
    RawClient one = connect();
    return one.ask(
        fmt::format("POST /v1/tasks HTTP/1.1\r\nHost: {}\r\nOrigin: {}\r\n"
                    "Content-Length: 2\r\n\r\n{{}}",
                    host, origin));
  };
  EXPECT_THAT(from("http://evil.example", "localhost"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(from("null", "localhost"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(from("http://evil.example", "evil.example"), StartsWith("HTTP/1.1 403"));
  EXPECT_EQ(stored(), 0);
  EXPECT_THAT(from("http://localhost:7380", "localhost:7380"), StartsWith("HTTP/1.1 201"));
  EXPECT_THAT(from("http://[::1]:7380", "[::1]:7380"), StartsWith("HTTP/1.1 201"));
}

TEST_F(Requests, AServerThatStopsAnswersThoseWhoWait) {
  RawClient waits = connect();
  waits.send(request("POST", "/v1/claims", R"({"wait_ms":60000})"));
  RawClient idle = connect();
  EXPECT_THAT(idle.ask(request("GET", "/healthz")), StartsWith("HTTP/1.1 200"));
  const auto began = std::chrono::steady_clock::now();
  server_->stop(Millis(4'000));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(3));
  EXPECT_THAT(waits.receive_all(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("shutdown")));
  EXPECT_THAT(idle.receive_all(), testing::IsEmpty());
}

}  // namespace
}  // namespace retsu
