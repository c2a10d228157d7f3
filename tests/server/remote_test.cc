// The remote broker's attempts, against a service that fails as it is told and against a server.

#include <fmt/chrono.h>

#include <atomic>
#include <condition_variable>
#include <future>

#include "broker/remote/remote_broker.h"
#include "server/server_test.h"
#include "service.h"

namespace retsu {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

using Steady = std::chrono::steady_clock;

const std::string kHangUp;
const std::string kPushed =
    Service::response("201 Created", R"({"tasks":[{"id":"a","state":"QUEUED","created":true}]})");
const std::string kClaimed = Service::response("200 OK", R"({"claim_id":"c","tasks":[]})");
const std::string kDrained = Service::response("200 OK", R"({"draining":false,"running":0})");

std::string refusal(ErrorCode code, const std::string& headers = "") {
  return Service::response(std::to_string(row_of(code).http_status) + " No",
                           to_json(Error{code, "no"}), headers);
}
std::string value_of(const std::string& request, const std::string& header) {
  const auto at = request.find("\r\n" + header + ": ");
  if (at == std::string::npos) return "";
  const auto begin = at + header.size() + 4;
  return request.substr(begin, request.find("\r\n", begin) - begin);
}

class Remote : public testing::Test {
 protected:
  // Answers with one after the other; the last one again and again.
  Service& service(std::vector<std::string> answers) {
    answers_ = std::move(answers);
    service_.emplace([this](const std::string&) {
      const std::string answer = answers_.front();
      if (answers_.size() > 1) answers_.erase(answers_.begin());
      {
        const std::lock_guard lock(mutex_);
        ++answered_;
      }
      came_.notify_all();
      return answer;
    });
    return *service_;
  }
  RemoteBroker& remote() {
    if (service_) settings_.url = service_->url("");
    broker_.emplace(settings_);
    return *broker_;
  }
  template <class Op>
  Answer ask(Op op, Context context = {}) {
    return call_any(remote(), Command(std::move(op)), std::move(context));
  }
  std::vector<std::string> requests() { return service_->requests(); }
  bool wait_for_a_request() {
    std::unique_lock lock(mutex_);
    return came_.wait_for(lock, 30s, [this] { return answered_ > 0; });
  }
  std::future<Answer> begin(Command command, Context context) {
    auto promise = std::make_shared<std::promise<Answer>>();
    auto answer = promise->get_future();
    remote().submit(std::move(command), std::move(context),
                    [promise](Answer reply) { promise->set_value(std::move(reply)); });
    return answer;
  }

  RemoteSettings settings_{.url = "http://127.0.0.1:1", .retry = {.base_ms = 1}};
  std::vector<std::string> answers_;
  std::mutex mutex_;
  std::condition_variable came_;
  int answered_ = 0;
  std::optional<Service> service_;
  std::optional<RemoteBroker> broker_;
};

const Push kPush{.tasks = {{}}};

TEST_F(Remote, WhatMayPassIsTriedAgain) {
  const std::string failures[] = {kHangUp,
                                  Service::response("408 Request Timeout", ""),
                                  Service::response("500 Internal Server Error", "oh"),
                                  Service::response("502 Bad Gateway", "<html>"),
                                  refusal(ErrorCode::kOverloaded),
                                  refusal(ErrorCode::kUnavailable),
                                  refusal(ErrorCode::kOutcomeUnknown),
                                  refusal(ErrorCode::kShutdown),
                                  refusal(ErrorCode::kDeadline),
                                  refusal(ErrorCode::kStorageFull),
                                  refusal(ErrorCode::kIdempotencyInProgress)};
  for (const std::string& failure : failures) {
    service({failure, failure, kPushed});
    const Answer pushed = ask(kPush);
    EXPECT_TRUE(pushed) << failure;
    EXPECT_FALSE(pushed.replayed);
    const auto sent = requests();
    ASSERT_THAT(sent, SizeIs(3)) << failure;
    EXPECT_THAT(sent[0], Not(HasSubstr("Retsu-Attempt")));
    EXPECT_EQ(value_of(sent[1], "Retsu-Attempt"), "2");
    EXPECT_EQ(value_of(sent[2], "Retsu-Attempt"), "3");
  }
}

TEST_F(Remote, OtherRefusalsAreFinal) {
  for (const ErrorRow& row : kErrors) {
    const bool passes = row.http_status == 429 || row.http_status >= 500;
    if (passes || row.code == ErrorCode::kIdempotencyInProgress) continue;
    service({refusal(row.code, "Retry-After: 1\r\n")});
    const Answer refused = ask(kPush);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, row.code);
    EXPECT_THAT(requests(), SizeIs(1)) << row.name;
  }
  service({Service::response("404 Not Found", "<html>")});
  EXPECT_EQ(ask(kPush).error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(requests(), SizeIs(1));
}

TEST_F(Remote, AnIntentHasOneKeyForAllItsAttempts) {
  service({kHangUp, refusal(ErrorCode::kUnavailable), kPushed});
  ASSERT_TRUE(ask(kPush));
  ASSERT_TRUE(call_any(*broker_, kPush));
  const auto sent = requests();
  ASSERT_THAT(sent, SizeIs(4));
  const std::string key = value_of(sent[0], "Idempotency-Key");
  EXPECT_THAT(key, SizeIs(36));
  EXPECT_EQ(value_of(sent[1], "Idempotency-Key"), key);
  EXPECT_EQ(value_of(sent[2], "Idempotency-Key"), key);
  EXPECT_NE(value_of(sent[3], "Idempotency-Key"), key);
}

TEST_F(Remote, ItsCallersKeyIsTheKey) {
  service({kHangUp, kPushed});
  ASSERT_TRUE(ask(kPush, {.idempotency_key = "mine"}));
  EXPECT_THAT(requests(), AllOf(SizeIs(2), Each(HasSubstr("\r\nIdempotency-Key: mine\r\n")),
                                Each(Not(HasSubstr("Retsu-Key-Age")))));
}

TEST_F(Remote, WhatNeedsNoKeyHasNone) {
  service({kHangUp, kDrained});
  EXPECT_TRUE(ask(EndDrain{}, {.idempotency_key = "k"}));
  EXPECT_THAT(requests(), AllOf(SizeIs(2), Each(Not(HasSubstr("Idempotency-Key")))));
}

TEST_F(Remote, AClaimIsRepeatedUnderItsNameOnly) {
  service({kHangUp, kClaimed});
  EXPECT_TRUE(ask(Claim{.claim_id = "c"}));
  EXPECT_THAT(requests(), SizeIs(2));
  for (const std::string& failure : {kHangUp, refusal(ErrorCode::kUnavailable)}) {
    service({failure, kClaimed});
    EXPECT_FALSE(ask(Claim{}));
    EXPECT_THAT(requests(), SizeIs(1));
  }
}

TEST_F(Remote, AnAttemptWaitsOnlyForWhatIsLeftOfItsTime) {
  service({kHangUp, kClaimed});
  settings_.retry.base_ms = 50;
  EXPECT_TRUE(ask(Claim{.wait_ms = 10'000, .claim_id = "c"}));
  const auto sent = requests();
  ASSERT_THAT(sent, SizeIs(2));
  const auto wait_ms = [](const std::string& request) {
    return std::stoi(request.substr(request.find("\"wait_ms\":") + 10));
  };
  EXPECT_EQ(wait_ms(sent[0]), 10'000);
  EXPECT_LE(wait_ms(sent[1]), 9'950);
  EXPECT_GT(wait_ms(sent[1]), 0);
}

TEST_F(Remote, WhatWasNotSentIsTriedAgainWhateverItIs) {
  settings_.retry.base_ms = 20;
  const auto began = Steady::now();
  EXPECT_EQ(ask(Claim{}).error().code, ErrorCode::kUnavailable);
  EXPECT_GE(Steady::now() - began, 60ms);
}

TEST_F(Remote, TheLastAttemptsErrorIsTold) {
  service({refusal(ErrorCode::kUnavailable), refusal(ErrorCode::kStorageFull),
           refusal(ErrorCode::kOverloaded)});
  EXPECT_EQ(ask(kPush).error().code, ErrorCode::kOverloaded);
  EXPECT_THAT(requests(), SizeIs(3));
}

TEST_F(Remote, WhatMayHaveBeenDoneStaysUnknown) {
  settings_.retry.base_ms = 1;
  for (const std::string& unknown : {kHangUp, Service::response("502 Bad Gateway", "<html>"),
                                     refusal(ErrorCode::kOutcomeUnknown)}) {
    service_.emplace([&](const std::string&) {
      service_->leave();
      return unknown;
    });
    const Answer pushed = ask(kPush);
    EXPECT_EQ(pushed.error().code, ErrorCode::kOutcomeUnknown);
    EXPECT_THAT(pushed.error().message, HasSubstr("may have been done or not"));
    EXPECT_THAT(requests(), SizeIs(1));
  }
  service({kHangUp, refusal(ErrorCode::kUnavailable)});
  EXPECT_EQ(ask(kPush).error().code, ErrorCode::kOutcomeUnknown);
  // A refusal says what became of it.
  service({kHangUp, refusal(ErrorCode::kConflict)});
  EXPECT_EQ(ask(kPush).error().code, ErrorCode::kConflict);
  // What changes nothing has not been done.
  service({kHangUp});
  EXPECT_EQ(ask(Stats{}).error().code, ErrorCode::kUnavailable);
}

TEST_F(Remote, RetryAfterIsAFloor) {
  const auto took = [&](const std::string& when) {
    service({refusal(ErrorCode::kUnavailable, "Retry-After: " + when + "\r\n"), kPushed});
    const auto began = Steady::now();
    EXPECT_TRUE(ask(kPush));
    EXPECT_THAT(requests(), SizeIs(2));
    return Steady::now() - began;
  };
  EXPECT_GE(took("1"), 1s);
  const auto soon = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() + 2s);
  EXPECT_GE(took(fmt::format("{:%a, %d %b %Y %H:%M:%S GMT}", fmt::gmtime(soon))), 900ms);
}

TEST_F(Remote, WhatWouldBeTooLateIsNotWaitedFor) {
  const auto began = Steady::now();
  service({refusal(ErrorCode::kOverloaded, "Retry-After: 31\r\n")});
  const Answer later = ask(kPush);
  EXPECT_EQ(later.error().code, ErrorCode::kOverloaded);
  EXPECT_THAT(requests(), SizeIs(1));

  service({refusal(ErrorCode::kUnavailable)});
  settings_.retry = {.base_ms = 30'000, .max_attempts = 100};
  EXPECT_EQ(ask(kPush, {.deadline = Steady::now() + 20s}).error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(requests(), SizeIs(1));
  EXPECT_LT(Steady::now() - began, 10s);
}

TEST_F(Remote, TheDeadlineIsForAllAttempts) {
  service({kHangUp});
  settings_.retry = {.base_ms = 40, .factor = 1, .max_attempts = 1'000};
  const auto deadline = Steady::now() + 200ms;
  EXPECT_EQ(ask(Stats{}, {.deadline = deadline}).error().code, ErrorCode::kUnavailable);
  EXPECT_LT(Steady::now(), deadline + 5s);
  EXPECT_LE(requests().size(), 6U);
}

TEST_F(Remote, AStopEndsThePause) {
  service({refusal(ErrorCode::kUnavailable)});
  settings_.retry.base_ms = 60'000;
  settings_.patience = 600s;
  std::stop_source stop;
  auto answer = begin(kPush, {.stop = stop.get_token()});
  ASSERT_TRUE(wait_for_a_request());
  EXPECT_EQ(answer.wait_for(50ms), std::future_status::timeout);
  const auto began = Steady::now();
  stop.request_stop();
  ASSERT_EQ(answer.wait_for(30s), std::future_status::ready);
  EXPECT_LT(Steady::now() - began, 5s);
  const Answer stopped = answer.get();
  EXPECT_EQ(stopped.error().code, ErrorCode::kShutdown);
  EXPECT_THAT(stopped.error().message, HasSubstr("gave up"));
}

TEST_F(Remote, AStopEndsALaterAttemptToo) {
  std::promise<void> let_go;
  auto gone = let_go.get_future();
  service_.emplace([&](const std::string& request) {
    if (request.find("Retsu-Attempt") == std::string::npos) return kHangUp;
    {
      const std::lock_guard lock(mutex_);
      ++answered_;
    }
    came_.notify_all();
    gone.wait();
    return kPushed;
  });
  std::stop_source stop;
  auto answer = begin(kPush, {.stop = stop.get_token()});
  ASSERT_TRUE(wait_for_a_request());
  stop.request_stop();
  ASSERT_EQ(answer.wait_for(30s), std::future_status::ready);
  EXPECT_EQ(answer.get().error().code, ErrorCode::kShutdown);
  let_go.set_value();
  service_.reset();  // it waits for what goes with this test
}

TEST_F(Remote, ABrokerThatGoesAnswersThoseWhoPause) {
  service({refusal(ErrorCode::kUnavailable)});
  settings_.retry.base_ms = 60'000;
  settings_.patience = 600s;
  std::stop_source stop;
  auto answer = begin(kPush, {.stop = stop.get_token()});
  ASSERT_TRUE(wait_for_a_request());
  EXPECT_EQ(answer.wait_for(50ms), std::future_status::timeout);
  broker_.reset();
  ASSERT_EQ(answer.wait_for(0s), std::future_status::ready);
  EXPECT_EQ(answer.get().error().code, ErrorCode::kShutdown);
}

TEST_F(Remote, OneAttemptIsOneAndNeedsNoKey) {
  service({kHangUp, kPushed});
  settings_.retry.max_attempts = 1;
  EXPECT_EQ(ask(kPush).error().code, ErrorCode::kOutcomeUnknown);
  EXPECT_THAT(requests(), AllOf(SizeIs(1), Each(Not(HasSubstr("Idempotency-Key")))));
  service({kHangUp, kPushed});
  settings_.retry.max_attempts = 3;
  EXPECT_EQ(ask(kPush, {.once = true}).error().code, ErrorCode::kOutcomeUnknown);
  EXPECT_THAT(requests(), AllOf(SizeIs(1), Each(Not(HasSubstr("Idempotency-Key")))));
  service({kHangUp, kDrained});
  EXPECT_FALSE(ask(EndDrain{}, {.once = true}));
  EXPECT_THAT(requests(), SizeIs(1));
}

// Between the remote broker and a server, it loses some of the answers.
class LossyLine : public ServerTest {
 protected:
  explicit LossyLine(Limits limits = {}) : ServerTest(limits, nullptr) {}
  void SetUp() override {
    start();
    line_.emplace([this](const std::string& request) {
      RawClient server = connect();
      server.send(request);
      std::string answer = server.receive_answer();
      answer.insert(answer.find("\r\n"), "\r\nConnection: close");  // as the line does
      if (lose_ == 0) return answer;
      --lose_;
      return std::string();
    });
    remote_.emplace(RemoteSettings{.url = line_->url(""), .retry = {.base_ms = 1}});
  }

  std::atomic<int> lose_ = 0;
  std::optional<Service> line_;
  std::optional<RemoteBroker> remote_;
};

TEST_F(LossyLine, APushWhoseAnswersWereLostIsOnePush) {
  lose_ = 2;
  const Answer pushed = call_any(*remote_, Push{.tasks = {{}, {}}});
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_FALSE(pushed.replayed);
  const auto& tasks = std::get<PushReply>(*pushed).tasks;
  EXPECT_TRUE(tasks.at(0).created);
  EXPECT_EQ(stored(), 2);
  EXPECT_EQ(metric("retsu_retried_requests_total{answer=\"replayed\"}"), 2);
  lose_ = 1;
  EXPECT_TRUE(call(*remote_, CancelTask{.id = tasks[0].id}));
  EXPECT_TRUE(call_any(*remote_, Push{.tasks = {{}}}, {.idempotency_key = "k"}));
  EXPECT_TRUE(call_any(*remote_, Push{.tasks = {{}}}, {.idempotency_key = "k"}).replayed);
  EXPECT_EQ(stored(), 3);
}

TEST_F(LossyLine, AClaimWhoseAnswerWasLostIsOneClaim) {
  call(queue_, Push{.tasks = {{.id = "a"}, {.id = "b"}}});
  lose_ = 1;
  const auto claimed = call(*remote_, Claim{.claim_id = "c"});
  ASSERT_TRUE(claimed);
  EXPECT_THAT(claimed->tasks, SizeIs(1));
  EXPECT_EQ(call(queue_, Stats{})->claims, 1);
  EXPECT_EQ(call(queue_, Stats{})->tasks.at("STARTED"), 1);
}

TEST_F(LossyLine, AKeyOfItsOwnIsSoonForgotten) {
  EXPECT_TRUE(call(*remote_, Push{.tasks = {{}}}));
  EXPECT_EQ(call(queue_, Stats{})->idempotency_keys, 1);
  queue_.set_clock(TimePoint(10min));
  EXPECT_EQ(call(queue_, Stats{})->idempotency_keys, 1);
  queue_.set_clock(TimePoint(11min));
  EXPECT_EQ(call(queue_, Stats{})->idempotency_keys, 0);
}

TEST_F(LossyLine, AQueueThatDrainsIsAskedOnce) {
  call(queue_, StartDrain{});
  EXPECT_EQ(call(*remote_, Push{.tasks = {{}}}).error().code, ErrorCode::kDraining);
  EXPECT_THAT(line_->requests(), SizeIs(1));
}

class FewKeys : public LossyLine {
 protected:
  FewKeys() : LossyLine(Limits{.idempotency_keys = 1}) {}
};

TEST_F(FewKeys, WithoutRoomForAKeyItGoesWithout) {
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(call(*remote_, Push{.tasks = {{}}}));
    EXPECT_EQ(stored(), i);
  }
  EXPECT_EQ(call_any(*remote_, Push{.tasks = {{}}}, {.idempotency_key = "k"}).error().code,
            ErrorCode::kOverloaded);
  // Then it is as it was without keys.
  lose_ = 2;
  EXPECT_EQ(call(*remote_, Push{.tasks = {{}}}).error().code, ErrorCode::kOutcomeUnknown);
}

// The server did it; who is told otherwise would not ask again, or take nothing for an answer.
TEST(CutAnswers, AreNotAnswersWhereverTheyEnd) {
  const std::string whole = Service::response("201 Created", R"({"tasks":[]})", "X-Other: 1\r\n");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    Service service([&](const std::string&) { return whole.substr(0, size); });
    HttpClient client;
    const auto answer = client.call({.method = "POST", .url = service.url(), .body = "{}"});
    ASSERT_FALSE(answer) << whole.substr(0, size);
    EXPECT_EQ(answer.error().kind, HttpFailure::Kind::kBroken) << whole.substr(0, size);
  }
}

}  // namespace
}  // namespace retsu
