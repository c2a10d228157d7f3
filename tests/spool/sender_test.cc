#include "spool/sender.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/temporary_directory.h"
#include "base/wall_clock.h"
#include "broker/embedded/embedded_broker.h"
#include "broker/remote/remote_broker.h"
#include "broker/remote/spooled_push.h"
#include "deep.h"
#include "faulty_proxy.h"
#include "patience.h"
#include "seed.h"
#include "server/server.h"
#include "service.h"
#include "spool/dead_letters.h"
#include "spool/watch.h"

namespace retsu::spool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using End = Sender::Pass::End;
using Ids = std::vector<std::string>;

Entry entry(const std::string& id, Urgency urgency = Urgency::kNormal) {
  return {.id = id,
          .type = "sync",
          .payload = Json("{}"),
          .priority = urgency,
          .created_at = wall_clock()};
}

class SenderTest : public testing::Test {
 protected:
  void add(const Entry& each) { ASSERT_TRUE(spool_.add(each)); }
  std::vector<Entry> entries() {
    std::vector<Entry> found;
    const auto contents = spool_.read();
    EXPECT_TRUE(contents);
    for (const Line& line : contents->in_order()) found.push_back(*contents->entry_of(line));
    return found;
  }
  Ids ids() {
    Ids found;
    for (const Entry& each : entries()) found.push_back(each.id);
    return found;
  }
  Ids dead() {
    Ids found;
    EXPECT_TRUE(read_dead(path_, [&](std::string_view, const DeadEntry* dead) {
      found.push_back(dead->entry.id + " " + dead->reason + " " + dead->entry.error.value_or(""));
    }));
    return found;
  }
  Sender::Pass send_to(const std::string& url) {
    Sender sender(spool_, {.url = url, .token = "secret", .timeout = Millis(2'000)}, {});
    const auto pass = sender.send_due({});
    EXPECT_TRUE(pass) << pass.error().message;
    sent_ = sender.sent();
    return pass.value_or(Sender::Pass{});
  }
  // To one who is healthy, and answers everything else so.
  Sender::Pass send_to_one_who_answers(const std::string& status, const std::string& headers = "",
                                       const std::string& body = "{}") {
    Service service([&](const std::string& request) {
      return request.starts_with("GET /healthz") ? Service::response("200 OK", "{}")
                                                 : Service::response(status, body, headers);
    });
    auto pass = send_to(service.url(""));
    requests_.clear();
    for (const std::string& each : service.requests()) {
      if (each.starts_with("POST")) requests_.push_back(each);
    }
    return pass;
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/queue.jsonl";
  Spool spool_{path_};
  Sent sent_;
  std::vector<std::string> requests_;
};

TEST_F(SenderTest, SendsInOrderEachUnderItsOwnKeyAndRemovesWhatWasTaken) {
  add(entry("low", Urgency::kLow));
  add(entry("normal"));
  add(entry("high", Urgency::kHigh));
  const auto pass = send_to_one_who_answers("201 Created");
  EXPECT_EQ(pass.end, End::kNothingDue);
  EXPECT_EQ(sent_.sent, 3);
  EXPECT_THAT(ids(), IsEmpty());
  EXPECT_THAT(requests_, ElementsAre(HasSubstr("\r\nIdempotency-Key: high\r\n"),
                                     HasSubstr("\r\nIdempotency-Key: normal\r\n"),
                                     HasSubstr("\r\nIdempotency-Key: low\r\n")));
  EXPECT_THAT(requests_[0], HasSubstr("POST /v1/tasks HTTP/1.1"));
  EXPECT_THAT(requests_[0], HasSubstr("\r\nAuthorization: Bearer secret\r\n"));
  EXPECT_THAT(requests_[0], Not(HasSubstr("Retsu-Attempt")));
}

TEST_F(SenderTest, AServerThatCannotBeReachedCostsNothingAndLeavesNoMark) {
  const Entry before = entry("a");
  add(before);
  const auto pass = send_to("http://127.0.0.1:1");
  EXPECT_EQ(pass.end, End::kOffline);
  EXPECT_THAT(pass.why, HasSubstr("127.0.0.1:1"));
  EXPECT_THAT(entries(), ElementsAre(before));
}

TEST_F(SenderTest, AnErrorThatItAnswersCostsARetryAndTheOthersGoOn) {
  add(entry("a"));
  add(entry("b"));
  const auto pass = send_to_one_who_answers("500 Internal Server Error");
  EXPECT_EQ(pass.end, End::kNothingDue);
  ASSERT_THAT(entries(), SizeIs(2));
  for (const Entry& each : entries()) {
    EXPECT_EQ(each.retries, 1);
    EXPECT_TRUE(each.last_attempt);
    EXPECT_GT(each.next_retry_at, wall_clock());
    EXPECT_EQ(each.error, "the server answered 500");
  }
  EXPECT_TRUE(pass.next) << "when to come back";
}

TEST_F(SenderTest, SaysHowOftenItHasTried) {
  Entry again = entry("a");
  again.retries = 2;
  again.last_attempt = wall_clock() - Millis(9'000);
  add(again);
  send_to_one_who_answers("200 OK");
  EXPECT_THAT(requests_, ElementsAre(HasSubstr("\r\nRetsu-Attempt: 3\r\n")));
  EXPECT_EQ(sent_.retried, 1);
}

TEST_F(SenderTest, WhatFailsForTheSixthTimeIsADeadLetter) {
  Entry failing = entry("a");
  failing.retries = 5;
  add(failing);
  send_to_one_who_answers("503 Service Unavailable");
  EXPECT_THAT(ids(), IsEmpty());
  EXPECT_THAT(dead(), ElementsAre("a max_retries the server answered 503"));
  EXPECT_EQ(sent_.dead, 1);
}

TEST_F(SenderTest, WhatWillNeverBeTakenIsADeadLetterAtOnce) {
  add(entry("a"));
  send_to_one_who_answers("400 Bad Request", "",
                          R"({"error":{"code":"invalid","message":"type: no"}})");
  EXPECT_THAT(dead(), ElementsAre("a refused 400 invalid: type: no"));
}

// Perhaps only its user has too many: the next may do. Three in a row are about all.
TEST_F(SenderTest, AThrottleCostsNothingAndHoldsAllInTheEnd) {
  for (const char* status :
       {"429 Too Many Requests", "503 Service Unavailable", "507 Insufficient Storage"}) {
    for (const char* id : {"a", "b", "c", "d"}) {
      (void)Spool(path_).done(id);
      add(entry(id));
    }
    const auto pass = send_to_one_who_answers(status, "Retry-After: 7\r\n");
    EXPECT_EQ(pass.end, End::kHeld);
    EXPECT_EQ(pass.wait, Millis(7'000));
    EXPECT_THAT(requests_, SizeIs(3)) << "the fourth is not even sent";
    for (const Entry& each : entries()) {
      EXPECT_EQ(each.retries, 0);
      EXPECT_FALSE(each.last_attempt) << "it was read and refused";
      EXPECT_EQ(each.next_retry_at.has_value(), each.id != "d");
    }
  }
}

TEST_F(SenderTest, AFullQueueOfOneUserDoesNotStopTheOthers) {
  add(entry("full"));
  add(entry("fine"));
  Service service([&](const std::string& request) {
    return request.find("Idempotency-Key: full") == std::string::npos
               ? Service::response("200 OK", "{}")
               : Service::response("429 Too Many Requests", "{}", "Retry-After: 0\r\n");
  });
  const auto pass = send_to(service.url(""));
  EXPECT_EQ(pass.end, End::kNothingDue);
  ASSERT_THAT(ids(), ElementsAre("full"));
  EXPECT_GT(entries()[0].next_retry_at, wall_clock()) << "nor is it asked without a pause";
}

TEST_F(SenderTest, WhatWeMayNotDoWaitsAndTheOthersGoOn) {
  add(entry("secret"));
  add(entry("fine"));
  Service service([&](const std::string& request) {
    return request.find("Idempotency-Key: secret") == std::string::npos
               ? Service::response("200 OK", "{}")
               : Service::response("403 Forbidden", "{}");
  });
  EXPECT_EQ(send_to(service.url("")).end, End::kNothingDue);
  EXPECT_THAT(ids(), ElementsAre("secret"));
  for (const char* id : {"x", "y", "z"}) add(entry(id));
  EXPECT_EQ(send_to_one_who_answers("403 Forbidden").end, End::kTurnedAway);
}

TEST_F(SenderTest, ALongAnswerIsAnAnswer) {
  add(entry("a"));
  send_to_one_who_answers("200 OK", "", std::string(2 << 20, 'x'));
  EXPECT_THAT(ids(), IsEmpty());
  EXPECT_EQ(sent_.sent, 1);
}

TEST_F(SenderTest, WhatAServerSaysIsKeptShort) {
  add(entry("a"));
  send_to_one_who_answers(
      "500 Internal Server Error", "",
      R"({"error":{"code":"x","message":")" + std::string(900'000, 'y') + "\"}}");
  EXPECT_LT(entries()[0].error->size(), 1'100U);
}

TEST_F(SenderTest, AUrlThatIsNoneIsADeadLetterAtOnce) {
  Entry bad = entry("a");
  bad.type = "upload";
  bad.payload = Json(R"({"url":"/v1/ta\nsks","data":{}})");
  add(bad);
  send_to_one_who_answers("200 OK");
  EXPECT_THAT(dead(), ElementsAre(HasSubstr("a refused")));
}

TEST_F(SenderTest, WhatIsOnItsWayWhenItIsStoppedStaysMarked) {
  add(entry("a"));
  add(entry("b"));
  std::stop_source stop;
  Service service([&](const std::string& request) -> std::string {
    if (request.starts_with("GET")) return Service::response("200 OK", "{}");
    stop.request_stop();
    return "";
  });
  Sender sender(spool_, {.url = service.url("")}, {});
  const auto pass = sender.send_due(stop.get_token());
  ASSERT_TRUE(pass);
  EXPECT_EQ(pass->end, End::kStopped);
  EXPECT_TRUE(entries()[0].last_attempt) << "it may have been received";
  EXPECT_FALSE(entries()[1].last_attempt);
}

TEST_F(SenderTest, DoesNotWaitForAnotherSenderWhenItIsToStop) {
  add(entry("a"));
  const auto held = Lock::take(path_, Lock::What::kSending);
  Service service([&](const std::string&) { return Service::response("200 OK", "{}"); });
  std::stop_source stop;
  Sender sender(spool_, {.url = service.url("")}, {});
  std::thread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(sender.send_due(stop.get_token())->end, End::kStopped);
  stopper.join();
}

TEST_F(SenderTest, AWrongTokenStopsAtOnceAndCostsNothing) {
  add(entry("a"));
  add(entry("b"));
  const auto before = entries();
  const auto pass = send_to_one_who_answers(
      "401 Unauthorized", "", R"({"error":{"code":"unauthorized","message":"no such token"}})");
  EXPECT_EQ(pass.end, End::kTurnedAway);
  EXPECT_THAT(pass.why, HasSubstr("401 unauthorized: no such token"));
  EXPECT_EQ(entries(), before);
  EXPECT_THAT(requests_, SizeIs(1));
}

TEST_F(SenderTest, SomebodyElseSendingTheSameIsWaitedFor) {
  add(entry("a"));
  add(entry("b"));
  send_to_one_who_answers("409 Conflict", "Retry-After: 1\r\n",
                          R"({"error":{"code":"idempotency_in_progress","message":"wait"}})");
  ASSERT_THAT(entries(), SizeIs(2));
  EXPECT_EQ(entries()[0].retries, 0);
  EXPECT_TRUE(entries()[0].next_retry_at);
}

TEST_F(SenderTest, AConnectionThatAlwaysBreaksOverAnEntryCostsItARetryInTheEnd) {
  add(entry("poison"));
  add(entry("fine"));
  std::atomic<int> broken = 0;
  Service service([&](const std::string& request) -> std::string {
    if (request.find("Idempotency-Key: poison") == std::string::npos) {
      return Service::response("200 OK", "{}");
    }
    ++broken;
    return "";
  });
  EXPECT_EQ(send_to(service.url("")).end, End::kOffline);
  EXPECT_GE(broken, 10);
  EXPECT_EQ(send_to(service.url("")).end, End::kNothingDue);
  ASSERT_THAT(ids(), ElementsAre("poison")) << "the others go on";
  EXPECT_EQ(entries()[0].retries, 1);
}

TEST_F(SenderTest, WhatWasSentAndNotAnsweredStaysMarked) {
  add(entry("a"));
  add(entry("b"));
  std::unique_ptr<Service> service;
  service = std::make_unique<Service>([&](const std::string& request) -> std::string {
    if (request.starts_with("GET")) return Service::response("200 OK", "{}");
    service->leave();
    return "";
  });
  EXPECT_EQ(send_to(service->url("")).end, End::kOffline);
  ASSERT_THAT(entries(), SizeIs(2));
  EXPECT_TRUE(entries()[0].last_attempt) << "it may have been received";
  EXPECT_EQ(entries()[0].retries, 0);
  EXPECT_FALSE(entries()[1].last_attempt) << "it was never sent";
}

TEST_F(SenderTest, AWrongAddressDoesNotBuryEverything) {
  add(entry("a"));
  const auto before = entries();
  Service service([](const std::string&) { return Service::response("404 Not Found", "<html>"); });
  EXPECT_EQ(send_to(service.url("")).end, End::kOffline);
  EXPECT_EQ(entries(), before);
}

// --------------------------------------------------------------------------------- a real server

class SpoolToServer : public SenderTest {
 protected:
  void SetUp() override {
    auto opened = EmbeddedBroker::open(directory_.path() + "/store");
    ASSERT_TRUE(opened) << opened.error().message;
    broker_ = std::move(*opened);
    server::ServerSettings settings;
    settings.port = 0;
    auto started = server::Server::start(*broker_, settings);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }
  void TearDown() override { server_.reset(); }

  // In the order in which they came.
  Ids pushed() {
    Ids found;
    ListTasks list{.limit = 1'000};
    for (;;) {
      const auto page = call(*broker_, list);
      EXPECT_TRUE(page);
      for (const Task& task : page->tasks) found.push_back(task.id);
      if (!page->next_cursor) break;
      list.cursor = *page->next_cursor;
    }
    std::ranges::reverse(found);
    return found;
  }
  double metric(const std::string& series) {
    HttpClient client;
    const auto answer = client.call({.url = server_->address() + "/metrics"});
    const std::string text = "\n" + answer->body;
    const auto at = text.find("\n" + series + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + series.size() + 2));
  }

  std::unique_ptr<EmbeddedBroker> broker_;
  std::unique_ptr<server::Server> server_;
};

TEST_F(SpoolToServer, AThousandTasksArriveOnceEachAndInOrderThroughABadNetwork) {
  const std::uint64_t seed = seed_of_this_run();
  const int count = scaled(1'000);
  std::mt19937_64 random(seed);
  Ids expected[3];
  for (int i = 0; i < count; ++i) {
    const auto urgency = static_cast<Urgency>(random() % 3);
    Entry each = entry(fmt::format("e{:04}", i), urgency);
    each.created_at = wall_clock() - Millis(100'000) + Millis(i);
    add(each);
    expected[static_cast<std::size_t>(urgency)].push_back(each.id);
  }
  Ids in_order = expected[0];
  for (const Ids& more : {expected[1], expected[2]}) {
    in_order.insert(in_order.end(), more.begin(), more.end());
  }

  const FaultyProxy::Percent bad = {{Fate::kDrop, 8},        {Fate::kCutRequest, 5},
                                    {Fate::kDelay, 5},       {Fate::kRepeatAtOnce, 4},
                                    {Fate::kRepeatAfter, 4}, {Fate::kCutAnswer, 5},
                                    {Fate::kLoseAnswer, 5}};
  FaultyProxy proxy({.upstream = server_->address(),
                     .seed = seed,
                     .percent = bad,
                     .longest_delay = std::chrono::milliseconds(20)});
  std::mutex mutex;
  std::vector<Link> links;
  Sender sender(spool_, {.url = proxy.url(), .timeout = Millis(2'000)}, {});
  std::stop_source stop;
  std::thread watching([&] {
    const auto ended = watch(spool_, sender,
                             {.health_interval = Millis(20),
                              .look_interval = Millis(10),
                              .on_link =
                                  [&](Link link, const std::string&) {
                                    const std::lock_guard lock(mutex);
                                    links.push_back(link);
                                  }},
                             stop.get_token());
    EXPECT_TRUE(ended) << ended.error().message;
  });
  // Away five times, for as long as it takes to be noticed.
  for (int times = 1; times <= 5; ++times) {
    const auto target = static_cast<std::size_t>(count * times / 6);
    ASSERT_TRUE(succeeds_in_the_end([&] { return proxy.log().size() >= target; }));
    proxy.set_percent({{Fate::kDrop, 100}});  // so that it knows what became of all that it passed
    (void)proxy.log();
    proxy.go_offline();
    ASSERT_TRUE(succeeds_in_the_end([&] {
      const std::lock_guard lock(mutex);
      return std::ranges::count(links, Link::kOffline) >= times;
    }));
    proxy.set_percent(bad);
    proxy.go_online();
  }
  EXPECT_TRUE(succeeds_in_the_end([&] { return ids().empty(); }));
  stop.request_stop();
  watching.join();

  EXPECT_EQ(pushed(), in_order);
  EXPECT_THAT(dead(), IsEmpty());
  EXPECT_EQ(call(*broker_, Stats{})->counters["pushed"], count);
  const auto fates = proxy.counts();
  for (const auto& [fate, chance] : bad) EXPECT_GT(fates.at(fate), 0);
  EXPECT_THAT(links, testing::Contains(Link::kReconnecting));
  EXPECT_THAT(links, testing::Contains(Link::kOnline));

  // What the server counted is what the network saw.
  std::map<std::string, int> first;  // attempt, by key
  int duplicates = 0;
  for (const FaultyProxy::Answered& each : proxy.log()) {
    if (each.target != "/v1/tasks") continue;
    EXPECT_TRUE(each.status == 201 || each.status == 200) << each.status;
    const int attempt = each.attempt.empty() ? 1 : std::stoi(each.attempt);
    if (!first.emplace(each.key, attempt).second) ++duplicates;
  }
  EXPECT_THAT(first, SizeIs(count));
  EXPECT_GT(duplicates, 0);
  EXPECT_EQ(metric("retsu_idempotent_replays_total"), duplicates);
  const auto retried =
      std::ranges::count_if(first, [](const auto& each) { return each.second > 1; });
  EXPECT_GT(retried, 0);
  EXPECT_EQ(metric("retsu_retried_requests_total{answer=\"created\"}"), retried);
  EXPECT_EQ(sender.sent().sent, count);
}

TEST_F(SpoolToServer, TwoSendersAndATakerDoNotMeet) {
  constexpr int kCount = 300;
  for (int i = 0; i < kCount; ++i) add(entry(fmt::format("e{:03}", i)));
  const auto send = [this] {
    Spool own(path_);
    Sender sender(own, {.url = server_->address()}, {});
    const auto pass = sender.send_due({});
    EXPECT_TRUE(pass && pass->end == End::kNothingDue);
  };
  std::set<std::string> taken;
  std::thread one(send);
  std::thread two(send);
  Spool own(path_);
  for (int i = 0; i < 20; ++i) {
    const auto got = own.take();
    ASSERT_TRUE(got) << got.error().message;
    if (got->entry) taken.insert(got->entry->id);
  }
  one.join();
  two.join();
  Ids arrived = pushed();
  for (const std::string& id : arrived) EXPECT_FALSE(taken.contains(id)) << id;
  EXPECT_EQ(arrived.size() + taken.size(), static_cast<std::size_t>(kCount));
  EXPECT_EQ(metric("retsu_idempotent_replays_total"), 0);
}

// The direct try may have been received: then it and the entry are one task.
TEST_F(SpoolToServer, APushWhoseAnswerWasLostIsNotDoubledByTheSpool) {
  FaultyProxy proxy({.upstream = server_->address(), .percent = {{Fate::kLoseAnswer, 100}}});
  RemoteBroker remote({.url = proxy.url(), .retry = {.max_attempts = 1}});
  NewTask task{.queue = "mail", .payload = Json(R"({"to":"bob","n":1.50})")};
  task.priority.value = 5;
  task.tags = {"x"};
  for (const auto& key : {std::optional<std::string>(), std::optional<std::string>("order/7")}) {
    const SpoolablePush push(task, key, "t-1");
    const Answer answer =
        call_any(remote, Push{.tasks = {push.task}}, {.idempotency_key = push.key});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kOutcomeUnknown);
    ASSERT_TRUE(may_be_spooled(answer.error()));
    const Entry spooled = push.entry(wall_clock(), answer.error());
    EXPECT_EQ(spooled.priority, Urgency::kHigh);
    EXPECT_TRUE(spooled.last_attempt);
    add(spooled);
    EXPECT_EQ(send_to(server_->address()).end, End::kNothingDue);
    EXPECT_EQ(sent_.known, 1);
    EXPECT_THAT(dead(), IsEmpty());
  }
  EXPECT_THAT(pushed(), SizeIs(2));
}

TEST_F(SpoolToServer, ASpooledTasksIdIsItsEntrysId) {
  add(entry("abc-123"));
  const SpoolablePush push({.queue = "mail"}, std::nullopt, "own-1");
  add(push.entry(wall_clock()));
  EXPECT_EQ(send_to(server_->address()).end, End::kNothingDue);
  EXPECT_THAT(pushed(), ElementsAre("abc-123", "own-1"));
  const auto task = call(*broker_, GetTask{.id = "abc-123"});
  EXPECT_EQ(task->type, "sync");
  EXPECT_EQ(task->priority.value, 3);
}

}  // namespace
}  // namespace retsu::spool
