// Clients that are slow, rude or broken. Others are served as if they were not there.

#include <thread>

#include "deep.h"
#include "patience.h"
#include "server/server_test.h"

namespace retsu {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Clock = std::chrono::steady_clock;

class Abuse : public ServerTest {
 protected:
  Abuse() {
    settings_.limits.request_time = 300ms;
    settings_.limits.stalled_time = 500ms;
    settings_.limits.linger_time = 300ms;
  }
  void SetUp() override { start(); }

  // The whole way through the server and the queue, for somebody well-behaved.
  void expect_others_are_served() {
    const auto began = Clock::now();
    EXPECT_EQ(post("/v1/tasks", "{}").status, 201);
    EXPECT_LT(Clock::now() - began, kSanitized ? 20s : 2s);
  }
};

TEST_F(Abuse, AHeaderThatComesTooSlowlyIsCutOff) {
  RawClient slow = connect();
  const auto began = Clock::now();
  const std::string whole = request("GET", "/v1/stats");
  while (Clock::now() - began < 5s && slow.send("G")) std::this_thread::sleep_for(20ms);
  EXPECT_LT(Clock::now() - began, 4s);
  expect_others_are_served();
}

TEST_F(Abuse, AHeaderThatStopsIsAnsweredAndClosed) {
  RawClient slow = connect();
  slow.send("GET /v1/stats HTTP/1.1\r\nHost: loc");
  EXPECT_THAT(slow.receive_all(), AllOf(StartsWith("HTTP/1.1 504"), HasSubstr("took too long")));
}

TEST_F(Abuse, ABodyThatTricklesIsCutOff) {
  RawClient slow = connect();
  slow.send("POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n");
  const auto began = Clock::now();
  while (Clock::now() - began < 5s && slow.send(" ")) std::this_thread::sleep_for(20ms);
  EXPECT_LT(Clock::now() - began, 4s);
  expect_others_are_served();
}

TEST_F(Abuse, ABodyThatComesFastEnoughMayTakeLong) {
  settings_.limits.body_bytes_per_second = 100;
  start();
  RawClient steady = connect();
  steady.send("POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 202\r\n\r\n{");
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(steady.send(std::string(20, ' ')));
    std::this_thread::sleep_for(80ms);
  }
  steady.send("}");
  EXPECT_THAT(steady.receive_answer(), StartsWith("HTTP/1.1 201"));
}

TEST_F(Abuse, AnAnswerThatNobodyReadsIsGivenUp) {
  for (int i = 0; i < 20; ++i) {
    call(queue_, Push{.tasks = std::vector<NewTask>(
                          10, NewTask{.payload = Json('"' + std::string(100'000, 'x') + '"')})});
  }
  RawClient rude(port(), 4'096);
  // 20 MB each, and nobody takes them.
  rude.send(request("GET", "/v1/tasks?limit=200") + request("GET", "/v1/tasks?limit=200"));
  expect_others_are_served();
  std::this_thread::sleep_for(2s);
  std::size_t received = 0;
  for (auto some = rude.receive_some(2s); !some.empty(); some = rude.receive_some(2s)) {
    received += some.size();
  }
  EXPECT_TRUE(rude.closed());
  EXPECT_LT(received, 20'000'000U);
  expect_others_are_served();
}

TEST_F(Abuse, WhoSendsWithoutReadingIsNotReadFurther) {
  RawClient rude(port(), 4'096);
  const std::string many = [] {
    std::string text;
    for (int i = 0; i < 1'000; ++i) text += request("GET", "/v1/stats");
    return text;
  }();
  std::thread sender([&] {
    for (int i = 0; i < 300 && rude.send(many); ++i) {
    }
  });
  for (int i = 0; i < 20; ++i) expect_others_are_served();
  sender.join();  // it was closed
}

TEST_F(Abuse, ManyIdleConnectionsDisturbNobody) {
  std::vector<RawClient> idle;
  for (int i = 0; i < 2'000; ++i) idle.push_back(connect());
  expect_others_are_served();
  for (std::size_t i = 0; i < idle.size(); i += 199) {
    EXPECT_THAT(idle[i].ask(request("GET", "/healthz")), StartsWith("HTTP/1.1 200"));
  }
}

TEST_F(Abuse, BeyondTheLimitConnectionsAreTurnedAwayWithAWord) {
  settings_.connections = 10;
  start();
  std::vector<RawClient> held;
  for (int i = 0; i < 10; ++i) {
    held.push_back(connect());
    EXPECT_THAT(held.back().ask(request("GET", "/healthz")), StartsWith("HTTP/1.1 200"));
  }
  RawClient extra = connect();
  EXPECT_THAT(extra.receive_all(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1"),
                                         HasSubstr("too many connections")));
  held.pop_back();
  // Its place is free when the server has seen it go.
  for (int i = 0; i < 100; ++i) {
    RawClient next = connect();
    if (next.ask(request("GET", "/healthz")).starts_with("HTTP/1.1 200")) return;
    std::this_thread::sleep_for(20ms);
  }
  FAIL() << "no place becomes free";
}

TEST_F(Abuse, ABodyThatStopsIsCutOffThoughItCameFast) {
  settings_.limits.stalled_time = 1s;
  start();
  RawClient client = connect();
  const std::string whole = request("POST", "/v1/tasks", std::string(1'000'000, ' ') + "{}");
  ASSERT_TRUE(client.send(whole.substr(0, 500'000)));
  EXPECT_THAT(client.receive_some(20s), StartsWith("HTTP/1.1 504"));
}

TEST_F(Abuse, BodiesOfAllConnectionsTogetherHaveALimit) {
  settings_.limits.bodies = std::make_shared<server::BodyBudget>(700'000);
  start();
  const std::string body = "{\"payload\":\"" + std::string(500'000, 'x') + "\"}";
  const std::string whole = request("POST", "/v1/tasks", body);
  RawClient slow = connect();
  ASSERT_TRUE(slow.send(whole.substr(0, 400'000)));
  EXPECT_TRUE(succeeds_in_the_end([&] { return post("/v1/tasks", body).status == 429; }));
  EXPECT_EQ(post("/v1/tasks", "{}").status, 201);
  ASSERT_TRUE(slow.send(whole.substr(400'000)));
  EXPECT_THAT(slow.receive_some(), StartsWith("HTTP/1.1 201"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(post("/v1/tasks", body).status, 201);
  {
    RawClient leaves = connect();
    ASSERT_TRUE(leaves.send(whole.substr(0, 400'000)));
  }
  EXPECT_TRUE(succeeds_in_the_end([&] { return post("/v1/tasks", body).status == 201; }));
}

TEST_F(Abuse, AHalfClosedSocketGetsItsAnswer) {
  RawClient half = connect();
  half.send(request("POST", "/v1/tasks", R"({"id":"a"})") + request("GET", "/v1/tasks/a"));
  half.end_sending();
  EXPECT_THAT(half.receive_all(), AllOf(StartsWith("HTTP/1.1 201"), HasSubstr(R"("id":"a")"),
                                        HasSubstr("HTTP/1.1 200")));
}

TEST_F(Abuse, WhoHangsUpInTheMiddleLeavesNothingBehind) {
  for (int i = 0; i < 100; ++i) {
    RawClient gone = connect();
    gone.send("POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{\"id\"");
  }
  expect_others_are_served();
  EXPECT_EQ(stored(), 1);
}

TEST_F(Abuse, ATaskClaimedForSomebodyWhoHasGoneComesBack) {
  {
    RawClient gone = connect();
    gone.send(request("POST", "/v1/claims", R"({"wait_ms":60000})"));
    // It waits when the queue has heard of it.
    for (int i = 0; i < 500; ++i) {
      const auto why = post("/v1/tasks", R"({"id":"probe","run_at":"2099-01-01T00:00:00.000Z"})");
      if (why.status == 200 && i > 3) break;
      std::this_thread::sleep_for(10ms);
    }
  }
  ask("POST", "/v1/tasks", R"({"id":"a"})");
  const auto claimed = post("/v1/claims", R"({"wait_ms":10000})");
  EXPECT_THAT(claimed.body, HasSubstr(R"("id":"a")"));
}

// The one that says it wants no more answers waits all the same.
TEST_F(Abuse, ATaskIsNotGivenToSomebodyWhoWaitedAndHasGone) {
  {
    RawClient gone = connect();
    gone.send(request("POST", "/v1/claims", R"({"wait_ms":60000})", "Connection: close\r\n"));
    std::this_thread::sleep_for(200ms);
  }
  std::this_thread::sleep_for(200ms);
  post("/v1/tasks", R"({"id":"a"})");
  EXPECT_THAT(post("/v1/claims", "{}").body, HasSubstr(R"("id":"a")"));
}

TEST_F(Abuse, AClaimThatArrivedStaysThoughTheConnectionEndsLater) {
  for (int i = 0; i < 20; ++i) {
    call(queue_, Push{.tasks = std::vector<NewTask>(
                          10, NewTask{.queue = "large",
                                      .payload = Json('"' + std::string(100'000, 'x') + '"')})});
  }
  post("/v1/tasks", R"({"id":"a"})");
  {
    RawClient rude(port(), 4'096);
    rude.send(request("POST", "/v1/claims", "{}") + request("GET", "/v1/tasks?limit=200"));
    EXPECT_THAT(rude.receive_some(), HasSubstr(R"("id":"a")"));
  }
  std::this_thread::sleep_for(300ms);
  EXPECT_THAT(get("/v1/tasks/a").body, HasSubstr("STARTED"));
}

TEST_F(Abuse, AHeaderInManyPiecesHasItsLimitToo) {
  RawClient rude = connect();
  rude.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nA");
  for (int i = 0; i < 20'000 && rude.send(": b\r\nA"); ++i) {
    if (i % 50 == 0) std::this_thread::sleep_for(100us);
  }
  rude.send(": b\r\n\r\n");
  EXPECT_THAT(rude.receive_all(), testing::AnyOf(StartsWith("HTTP/1.1 413"), IsEmpty()));
}

struct Nonsense {
  std::string_view name;
  std::string bytes;
  std::string_view answer;
};

TEST_F(Abuse, NonsenseIsRefusedAndTheConnectionClosed) {
  const std::string head = "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\n";
  const Nonsense table[] = {
      {"garbage", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + "\r\n\r\n",
       "HTTP/1.1 400"},
      {"no version", "GET /healthz\r\n\r\n", "HTTP/1.1 400"},
      {"a version to come", "GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n", "HTTP/1.1 400"},
      {"two lengths", head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "HTTP/1.1 400"},
      {"length and chunks",
       head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 400"},
      {"chunks and length",
       head + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", "HTTP/1.1 400"},
      {"another coding", head + "Transfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 400"},
      {"two codings", head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 400"},
      {"a length of letters", head + "Content-Length: two\r\n\r\n{}", "HTTP/1.1 400"},
      {"a negative length", head + "Content-Length: -2\r\n\r\n{}", "HTTP/1.1 400"},
      {"a length beyond all", head + "Content-Length: 99999999999999999999999\r\n\r\n",
       "HTTP/1.1 400"},
      {"a bad chunk", head + "Transfer-Encoding: chunked\r\n\r\nzzz\r\n", "HTTP/1.1 400"},
      {"a folded line", head + "Idempotency-Key: a\r\n b\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1"},
      {"a name with a space", head + "Content Length: 2\r\n\r\n{}", "HTTP/1.1 400"},
      {"two hosts", "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "HTTP/1.1 400"},
      {"a bare line feed in the middle", "GET /healthz HTTP/1.1\nHost: localhost\n\n", "HTTP/1.1"},
      {"a body that is too long", head + "Content-Length: 68000000000\r\n\r\n", "HTTP/1.1 413"},
      {"a header that is too long", head + "X: " + std::string(20'000, 'x') + "\r\n\r\n",
       "HTTP/1.1 413"},
      {"too many headers",
       head +
           [] {
             std::string many;
             for (int i = 0; i < 5'000; ++i) many += "a: b\r\n";
             return many;
           }() +
           "\r\n",
       "HTTP/1.1 413"},
      {"a chunk's note without end",
       head + "Transfer-Encoding: chunked\r\n\r\n2;" + std::string(50'000, 'x'), "HTTP/1.1 413"},
  };
  for (const Nonsense& row : table) {
    RawClient rude = connect();
    rude.send(row.bytes);
    rude.end_sending();
    EXPECT_THAT(rude.receive_all(), StartsWith(std::string(row.answer))) << row.name;
  }
  expect_others_are_served();
  EXPECT_EQ(stored(), 1);
}

TEST_F(Abuse, AHeaderWithoutEndIsNotKept) {
  RawClient rude = connect();
  rude.send("GET /healthz HTTP/1.1\r\n");
  const std::string line = "X-Long: " + std::string(60'000, 'x') + "\r\n";
  std::size_t sent = 0;
  while (sent < (std::size_t{1} << 30) && rude.send(line)) sent += line.size();
  EXPECT_LT(sent, std::size_t{64} << 20);
  expect_others_are_served();
}

TEST_F(Abuse, RandomBytesNeverStopTheServer) {
  unsigned seed = 20261116;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string good = request("POST", "/v1/tasks", R"({"id":"a","payload":[1,2,3]})");
  for (int i = 0; i < 300; ++i) {
    std::string bytes = good + good;
    for (int changes = static_cast<int>(random() % 8); changes >= 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    RawClient rude = connect();
    rude.send(bytes);
    rude.end_sending();
    rude.receive_all();
  }
  expect_others_are_served();
}

}  // namespace
}  // namespace retsu
