// Server-sent events.

#include "base/event_stream.h"
#include "server/server_test.h"

namespace retsu {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Stream : public ServerTest {
 protected:
  void SetUp() override { start(); }

  RawClient listen(const std::string& query = "", const std::string& headers = "") {
    RawClient client = connect();
    client.send(request("GET", "/v1/events" + query, "", headers));
    EXPECT_THAT(client.receive_some(), StartsWith("HTTP/1.1 200"));
    return client;
  }
  // What comes until the text does.
  static std::string up_to(RawClient& client, const std::string& text) {
    std::string all;
    while (all.find(text) == std::string::npos) {
      const std::string some = client.receive_some();
      if (some.empty()) break;
      all += some;
    }
    return all;
  }
  static std::string last_id(const std::string& text) {
    const auto at = text.rfind("id: ");
    return text.substr(at + 4, text.find('\n', at) - at - 4);
  }
};

TEST_F(Stream, TellsWhatHappens) {
  RawClient client = listen();
  post("/v1/tasks", R"({"id":"a","queue":"mail","user":"ann"})");
  const std::string text = up_to(client, "QUEUED");
  EXPECT_THAT(text, HasSubstr("event: task\n"));
  EXPECT_THAT(text, HasSubstr(R"("id":"a","queue":"mail","user":"ann","from":null,"to":"QUEUED")"));
}

TEST_F(Stream, TellsOnlyWhatIsAskedFor) {
  RawClient client = listen("?queue=mail&user=ann&state=FINISHED");
  post("/v1/tasks", R"({"id":"a","queue":"mail","user":"ann"})");
  post("/v1/tasks", R"({"id":"b","queue":"mail","user":"bob"})");
  post("/v1/claims", R"({"queues":["mail"],"max":2,"claim_id":"c"})");
  post("/v1/claims/c/settle", R"({"all":"finish"})");
  const std::string text = up_to(client, "FINISHED");
  EXPECT_THAT(text, HasSubstr(R"("id":"a")"));
  EXPECT_THAT(text, testing::Not(HasSubstr(R"("id":"b")")));
  EXPECT_THAT(text, testing::Not(HasSubstr(R"("to":"QUEUED")")));
}

TEST_F(Stream, GoesOnWhereTheReaderWas) {
  RawClient first = listen();
  post("/v1/tasks", R"({"id":"a"})");
  const std::string seen = last_id(up_to(first, R"("id":"a")"));
  post("/v1/tasks", R"({"id":"b"})");
  up_to(first, R"("id":"b")");
  RawClient again = connect();
  again.send(request("GET", "/v1/events", "", "Last-Event-ID: " + seen + "\r\n"));
  std::string text = up_to(again, R"("id":"b")");
  post("/v1/tasks", R"({"id":"c"})");
  text += up_to(again, R"("id":"c")");
  EXPECT_THAT(text, HasSubstr(R"("id":"b")"));
  EXPECT_THAT(text, testing::Not(HasSubstr(R"("id":"a")")));
  EXPECT_THAT(text, testing::Not(HasSubstr("gap")));
}

TEST_F(Stream, TellsOfAGap) {
  RawClient stranger = connect();
  stranger.send(request("GET", "/v1/events", "", "Last-Event-ID: 12\r\n"));
  EXPECT_THAT(up_to(stranger, "gap"), HasSubstr("event: gap\ndata: {\"missed\":"));
}

TEST_F(Stream, ASlowReaderMissesNothingThatIsStillRemembered) {
  RawClient slow(port(), 4'096);
  slow.send(request("GET", "/v1/events"));
  EXPECT_THAT(slow.receive_some(), StartsWith("HTTP/1.1 200"));
  std::vector<NewTask> tasks(1'000);
  for (int i = 0; i < 5; ++i) call(queue_, Push{.tasks = tasks});
  post("/v1/tasks", R"({"id":"last"})");
  const std::string text = up_to(slow, R"("id":"last")");
  std::size_t events = 0;
  for (auto at = text.find("event: task"); at != std::string::npos;
       at = text.find("event: task", at + 1)) {
    ++events;
  }
  EXPECT_EQ(events, 5'001U);
  EXPECT_THAT(text, testing::Not(HasSubstr("gap")));
}

TEST_F(Stream, AReaderWhoIsTooSlowIsToldWhatItMissed) {
  RawClient slow(port(), 4'096);
  slow.send(request("GET", "/v1/events"));
  EXPECT_THAT(slow.receive_some(), StartsWith("HTTP/1.1 200"));
  std::vector<NewTask> tasks(1'000);
  for (int i = 0; i < 60; ++i) call(queue_, Push{.tasks = tasks});
  EXPECT_THAT(up_to(slow, "event: gap"), HasSubstr("event: gap"));
}

TEST_F(Stream, EndsWhenTheServerDoes) {
  RawClient client = listen();
  server_->stop(Millis(4'000));
  client.receive_all();
  EXPECT_TRUE(client.closed());
}

TEST_F(Stream, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(get("/v1/events?stat=QUEUED").status, 400);
  EXPECT_EQ(get("/v1/events?state=BUSY").status, 400);
}

}  // namespace
}  // namespace retsu
