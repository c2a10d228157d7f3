// The bad network itself, before a service that is always well.

#include "faulty_proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "base/http_client.h"
#include "server/raw_client.h"
#include "service.h"

namespace retsu {
namespace {

using Kind = HttpFailure::Kind;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

class BadNetwork : public testing::Test {
 protected:
  FaultyProxy& proxy(FaultyProxy::Percent percent) {
    proxy_ = std::make_unique<FaultyProxy>(
        FaultyProxy::Settings{.upstream = service_.url(""), .percent = std::move(percent)});
    return *proxy_;
  }
  HttpClient::Answered ask() {
    return client_.call({.method = "POST",
                         .url = proxy_->url() + "/v1/tasks?a=b",
                         .headers = {{"Idempotency-Key", "k"}, {"Retsu-Attempt", "2"}},
                         .body = "hello"});
  }
  // What became of one request.
  std::string meet(Fate fate) {
    proxy({{fate, 100}});
    const auto answer = ask();
    EXPECT_EQ(proxy_->counts(), (std::map<Fate, int>{{fate, 1}}));
    return answer ? answer->body : answer.error().kind == Kind::kBroken ? "broken" : "other";
  }
  // Whether each answer reached its client.
  std::vector<bool> reached() {
    std::vector<bool> reached;
    for (const FaultyProxy::Answered& each : proxy_->log()) reached.push_back(each.reached_client);
    return reached;
  }

  std::atomic<int> answers_ = 0;
  Service service_{[this](const std::string&) {
    return Service::response("201 Created", "answer " + std::to_string(++answers_));
  }};
  HttpClient client_;
  std::unique_ptr<FaultyProxy> proxy_;
};

TEST_F(BadNetwork, PassesARequestOnAndNotesIt) {
  EXPECT_EQ(meet(Fate::kPass), "answer 1");
  const auto log = proxy_->log();
  ASSERT_THAT(log, SizeIs(1));
  EXPECT_EQ(log[0].method, "POST");
  EXPECT_EQ(log[0].target, "/v1/tasks?a=b");
  EXPECT_EQ(log[0].key, "k");
  EXPECT_EQ(log[0].attempt, "2");
  EXPECT_EQ(log[0].status, 201);
  EXPECT_TRUE(log[0].reached_client);
  EXPECT_THAT(service_.requests().at(0),
              AllOf(StartsWith("POST /v1/tasks?a=b HTTP/1.1\r\nConnection: close\r\n"),
                    testing::EndsWith("\r\n\r\nhello")));
}

TEST_F(BadNetwork, ADelayedRequestArrives) {
  EXPECT_EQ(meet(Fate::kDelay), "answer 1");
  EXPECT_EQ(reached(), std::vector{true});
}

TEST_F(BadNetwork, ADroppedRequestNeverArrives) {
  EXPECT_EQ(meet(Fate::kDrop), "broken");
  EXPECT_THAT(proxy_->log(), SizeIs(0));
  EXPECT_THAT(service_.requests(), SizeIs(0));
}

TEST_F(BadNetwork, OfACutRequestSomeArrives) {
  EXPECT_EQ(meet(Fate::kCutRequest), "broken");
  EXPECT_THAT(proxy_->log(), SizeIs(0));
  while (service_.requests().empty()) std::this_thread::yield();
  EXPECT_THAT(service_.requests().at(0),
              AllOf(StartsWith("P"), testing::Not(testing::EndsWith("hello"))));
}

TEST_F(BadNetwork, ARepeatedRequestArrivesTwiceAndIsAnsweredOnce) {
  EXPECT_EQ(meet(Fate::kRepeatAfter), "answer 2");
  EXPECT_EQ(reached(), (std::vector{false, true}));
  EXPECT_EQ(service_.requests().at(0), service_.requests().at(1));
  EXPECT_THAT(meet(Fate::kRepeatAtOnce), StartsWith("answer "));
  EXPECT_EQ(reached(), (std::vector{false, true}));
  EXPECT_THAT(service_.requests(), SizeIs(4));
}

TEST_F(BadNetwork, ALostAnswerWasGiven) {
  EXPECT_EQ(meet(Fate::kLoseAnswer), "broken");
  EXPECT_EQ(reached(), std::vector{false});
  EXPECT_EQ(proxy_->log().at(0).status, 201);
  EXPECT_EQ(answers_, 1);
}

TEST_F(BadNetwork, OfACutAnswerSomeArrives) {
  proxy({{Fate::kCutAnswer, 100}});
  std::set<std::size_t> sizes;
  for (int i = 0; i < 20; ++i) {
    RawClient client(proxy_->port());
    ASSERT_TRUE(client.send("GET / HTTP/1.1\r\n\r\n"));
    const std::string some = client.receive_all();
    EXPECT_THAT(some,
                AllOf(StartsWith("H"), testing::Not(HasSubstr("answer " + std::to_string(i + 1)))));
    sizes.insert(some.size());
  }
  EXPECT_GT(sizes.size(), 5U);
  EXPECT_EQ(reached(), std::vector<bool>(20, false));
}

TEST_F(BadNetwork, OfflineNobodyIsReachedAndOnlineTheSamePortIs) {
  proxy({});
  for (int i = 1; i <= 20; ++i) {
    ASSERT_TRUE(ask());
    proxy_->go_offline();
    const auto answer = ask();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, Kind::kUnreachable);
    proxy_->go_online();
  }
  EXPECT_EQ(answers_, 20);
}

TEST_F(BadNetwork, DiceOfOneSeedFallAlike) {
  const auto fall = [this] {
    proxy({{Fate::kDrop, 20}, {Fate::kRepeatAfter, 20}, {Fate::kLoseAnswer, 20}});
    for (int i = 0; i < 50; ++i) (void)ask();
    return proxy_->counts();
  };
  const auto first = fall();
  EXPECT_THAT(first, SizeIs(4));
  EXPECT_EQ(fall(), first);
}

TEST_F(BadNetwork, GoesThoughAClientStaysAndSaysNothing) {
  proxy({});
  const RawClient silent(proxy_->port());
  ASSERT_TRUE(ask());
  proxy_.reset();
}

}  // namespace
}  // namespace retsu
