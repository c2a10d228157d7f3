#include "patience.h"
#include "server/config.h"
#include "server/server_test.h"
#include "service.h"

namespace retsu {
namespace {

using namespace std::chrono_literals;
using server::AlertBook;
using server::AlertRules;
using server::AlertState;
using server::Sample;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

// ------------------------------------------------------------------------------------- the rules

Sample sample(Millis at, std::map<std::string, double, std::less<>> values) {
  return {TimePoint(at), {{"", std::move(values)}}};
}
const AlertState& only(const std::vector<AlertState>& states) { return states.at(0); }

TEST(AlertRules, CountWhatHappenedInTheWindow) {
  AlertBook book({{"dead", {.count = {"failed"}, .above = 10, .window_ms = 60'000}}});
  EXPECT_THAT(book.add(sample(0s, {{"failed", 100}})), IsEmpty());
  EXPECT_THAT(book.add(sample(30s, {{"failed", 110}})), IsEmpty());
  const auto fires = book.add(sample(40s, {{"failed", 111}}));
  ASSERT_THAT(fires, SizeIs(1));
  EXPECT_TRUE(only(fires).firing);
  EXPECT_EQ(only(fires).value, 11);
  EXPECT_EQ(only(fires).since, TimePoint(40s));
  EXPECT_THAT(book.add(sample(60s, {{"failed", 111}})), IsEmpty());
  const auto over = book.add(sample(95s, {{"failed", 111}}));
  ASSERT_THAT(over, SizeIs(1));
  EXPECT_FALSE(only(over).firing);
  EXPECT_EQ(only(over).since, std::nullopt);
}

TEST(AlertRules, OfAShareNeedEnoughEvents) {
  AlertBook book({{"share", {.count = {"a"}, .of = {"a", "b"}, .above = 0.5, .from_events = 20}}});
  book.add(sample(0s, {{"a", 0}, {"b", 0}}));
  EXPECT_THAT(book.add(sample(1s, {{"a", 19}})), IsEmpty());
  EXPECT_EQ(only(book.states()).value, std::nullopt);
  EXPECT_THAT(book.add(sample(2s, {{"a", 19}, {"b", 19}})), IsEmpty());
  EXPECT_EQ(only(book.states()).value, 0.5);
  EXPECT_THAT(book.add(sample(3s, {{"a", 20}, {"b", 19}})), SizeIs(1));
}

TEST(AlertRules, OfAGaugeFireWhenItWasTooHighAllTheTime) {
  AlertBook book({{"full", {.gauge = "QUEUED", .above = 5, .window_ms = 10'000}}});
  book.add(sample(0s, {{"QUEUED", 9}}));
  EXPECT_THAT(book.add(sample(9s, {{"QUEUED", 9}})), IsEmpty());
  EXPECT_THAT(book.add(sample(11s, {{"QUEUED", 9}})), SizeIs(1));
  EXPECT_THAT(book.add(sample(12s, {{"QUEUED", 1}})), SizeIs(1));
  EXPECT_THAT(book.add(sample(20s, {{"QUEUED", 9}})), IsEmpty());
  EXPECT_THAT(book.add(sample(31s, {{"QUEUED", 9}})), SizeIs(1));
}

TEST(AlertRules, OfShortWindowsDoNotSufferFromLongOnes) {
  AlertBook book({{"long", {.count = {"failed"}, .above = 1e9, .window_ms = 7 * 86'400'000}},
                  {"short", {.count = {"failed"}, .above = 7, .window_ms = 60'000}}});
  double failed = 0;
  for (Millis at = 0s; at < 1h; at += 10s)
    EXPECT_THAT(book.add(sample(at, {{"failed", ++failed}})), IsEmpty()) << at.count();
}

TEST(AlertRules, CountAnewWhenAQueueWasRemoved) {
  AlertBook book({{"dead", {.count = {"failed"}, .above = 5, .window_ms = 60'000}}});
  book.add(sample(0s, {{"failed", 100}}));
  book.add(sample(10s, {}));
  EXPECT_THAT(book.add(sample(20s, {{"failed", 6}})), SizeIs(1));
}

TEST(AlertRules, ThatAreOffNeverFire) {
  AlertBook book({{"dead", {.count = {"failed"}, .above = 0, .enabled = false}}});
  book.add(sample(0s, {}));
  EXPECT_THAT(book.add(sample(1s, {{"failed", 5}})), IsEmpty());
}

TEST(AlertRules, AreReadFromTheSettings) {
  const auto config = server::config_from_toml(R"(
[alerts]
webhook = "https://example.org/hook"
[alerts.rules.dead_letters]
above = 20
[alerts.rules.full]
queue = "mail"
gauge = "oldest_age_ms"
above = 60000
window_ms = 300000
)");
  ASSERT_TRUE(config) << config.error().message;
  const auto rules = server::alert_rules(config->alerts.rules);
  ASSERT_TRUE(rules);
  EXPECT_THAT(*rules, SizeIs(5));
  EXPECT_EQ(rules->at("dead_letters").above, 20);
  EXPECT_EQ(rules->at("dead_letters").count, std::vector<std::string>{"failed"});
  EXPECT_EQ(rules->at("full").gauge, "oldest_age_ms");
}

TEST(AlertRules, ThatMakeNoSenseAreRefused) {
  for (const char* rule :
       {"above = 1", "count = [\"nonsense\"]", "count = [\"failed\"]\nof = [\"x\"]",
        "count = [\"failed\"]\ngauge = \"QUEUED\"", "gauge = \"BUSY\"", "gauge = \"oldest_age_ms\"",
        "gauge = \"QUEUED\"\nof = [\"failed\"]", "count = [\"failed\"]\nabove = -1",
        "count = [\"failed\"]\nwindow_ms = 10", "count = [\"failed\"]\nwindow_ms = 999999999999",
        "count = [\"failed\"]\nfrom_events = -1", "count = \"failed\"", "threshold = 5"}) {
    const auto config = server::config_from_toml(std::string("[alerts.rules.x]\n") + rule);
    ASSERT_FALSE(config) << rule;
    EXPECT_THAT(config.error().message, StartsWith("alerts.rules.x: ")) << rule;
  }
  EXPECT_FALSE(server::config_from_toml("[alerts]\nwebhook = \"ftp://x\""));
}

// ------------------------------------------------------------------------------------ the server

class Alerts : public ServerTest {
 protected:
  void dead_letters(int count) {
    for (int i = 0; i < count; ++i) {
      post("/v1/tasks", "{}");
      const HttpAnswer claim =
          post("/v1/claims", R"({"claim_id":"c)" + std::to_string(++claims_) + "\"}");
      const auto id = claim.body.substr(claim.body.find("\"id\":\"") + 6, 36);
      post("/v1/claims/c" + std::to_string(claims_) + "/settle",
           R"({"results":[{"id":")" + id + R"(","outcome":"fail","retryable":false}]})");
    }
  }
  bool fires(const std::string& name) {
    return get("/v1/alerts").body.find(R"({"name":")" + name + R"(","firing":true)") !=
           std::string::npos;
  }

  int claims_ = 0;
};

TEST_F(Alerts, HaveTheFourRulesOfTheSeed) {
  start();
  const std::string body = get("/v1/alerts").body;
  for (const char* name : {"dead_letters", "retry_failures", "duplicate_keys", "slow_start"}) {
    EXPECT_THAT(body, HasSubstr(std::string(R"({"name":")") + name + R"(","firing":false)"));
  }
}

TEST_F(Alerts, OfDeadLettersFireAboveTenAndAreToldToTheWebhook) {
  Service hook([n = 0](const std::string&) mutable {
    return Service::response(++n == 1 ? "500 Not yet" : "200 OK", "");
  });
  settings_.alerts.webhook = hook.url("/hook");
  start();
  get("/v1/alerts");
  dead_letters(10);
  EXPECT_FALSE(fires("dead_letters"));
  dead_letters(1);
  EXPECT_TRUE(fires("dead_letters"));
  EXPECT_TRUE(succeeds_in_the_end([&] { return hook.requests().size() == 2; }));
  EXPECT_THAT(
      hook.requests()[1],
      AllOf(StartsWith("POST /hook"),
            HasSubstr(R"({"alert":"dead_letters","state":"firing","value":11,"above":10,)")));
}

TEST_F(Alerts, OfDuplicateKeysFireWhenMostRequestsAreRepeated) {
  start();
  get("/v1/alerts");
  const auto push = [&](int key) {
    ask("POST", "/v1/tasks", "{}", {{"Idempotency-Key", "k" + std::to_string(key)}});
  };
  for (int i = 0; i < 10; ++i) push(i);
  for (int i = 0; i < 10; ++i) push(i);
  EXPECT_FALSE(fires("duplicate_keys"));
  push(0);
  EXPECT_TRUE(fires("duplicate_keys"));
}

TEST_F(Alerts, OfFailedRetriesFireWhenTooManyEndAsDeadLetters) {
  call(queue_, PutQueue{"default", {.retry = {.base_ms = 0, .jitter = 0, .max_attempts = 2}}});
  start();
  get("/v1/alerts");
  const auto run = [&](const std::string& id, Outcome last) {
    call(queue_, Push{.tasks = {{.id = id}}});
    for (const Outcome how : {Outcome::kFail, last}) {
      const auto held = call(queue_, Claim{.wait_ms = 10'000});
      SettleOne one;
      one.id = held->tasks.at(0).id;
      one.outcome = how;
      call(queue_, Settle{.claim_id = held->claim_id, .results = {one}});
    }
  };
  for (int i = 0; i < 19; ++i) run("good" + std::to_string(i), Outcome::kFinish);
  run("bad", Outcome::kFail);
  EXPECT_FALSE(fires("retry_failures"));  // 5 %
  run("worse", Outcome::kFail);
  EXPECT_TRUE(fires("retry_failures"));
}

class AlertsOverTime : public Alerts {
 protected:
  AlertsOverTime() {
    slow_.set_clock(now_);
    settings_.move_clock = [this](Millis by) { slow_.set_clock(now_ += by); };
    auto started = server::Server::start(slow_, settings_);
    server_ = std::move(*started);
  }
  void advance(Millis by) {
    post("/v1/clock", "{\"advance_ms\":" + std::to_string(by.count()) + "}");
  }

  TimePoint now_ = std::chrono::sys_days(std::chrono::year(2026) / 11 / 16);
  MemoryBroker slow_{Limits()};
};

TEST_F(AlertsOverTime, OfSlowStartsFireAboveFiveMinutesOnAverage) {
  get("/v1/alerts");
  const auto wave = [&](Millis wait) {
    for (int i = 0; i < 20; ++i) post("/v1/tasks", "{}");
    advance(wait);
    post("/v1/claims", R"({"max":20,"claim_id":"c"})");
    post("/v1/claims/c/settle", R"({"all":"finish"})");
  };
  wave(299s);
  EXPECT_FALSE(fires("slow_start"));
  wave(310s);
  EXPECT_TRUE(fires("slow_start"));
  advance(61min);
  EXPECT_FALSE(fires("slow_start"));
}

}  // namespace
}  // namespace retsu
