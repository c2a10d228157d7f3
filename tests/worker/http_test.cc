#include "patience.h"
#include "service.h"
#include "worker/http_run.h"
#include "worker/worker_test.h"

namespace retsu {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

class HttpRequests : public WorkerTest {
 protected:
  void start_http() { start(worker::run_http(std::make_shared<HttpClient>())); }
  void push_request(const std::string& payload) {
    push({.id = "a", .payload = payload, .max_attempts = 1, .trace = "00-1-2-03"});
  }
  // How a task ends whose request is answered so.
  Task answered(const std::string& answer) {
    Service service([&](const std::string&) { return answer; });
    push_request(fmt::format(R"({{"url":"{}"}})", service.url()));
    start_http();
    Task task = ended("a");
    stop();
    return task;
  }
};

TEST_F(HttpRequests, AreSentAsThePayloadSaysAndTheAnswerIsTheResult) {
  Service service([](const std::string&) {
    return Service::response("200 OK", R"({"id": 7})", "X-Kind: mail\r\n");
  });
  push_request(fmt::format(
      R"({{"method":"PUT","url":"{}","headers":{{"X-One":"1"}},"body":{{"to":"bob"}}}})",
      service.url("/mail?x=1")));
  start_http();
  EXPECT_THAT(std::string(ended("a").result.view()),
              AllOf(StartsWith(R"({"status":200,"headers":{)"), HasSubstr(R"("x-kind":"mail")"),
                    EndsWith(R"("body":{"id":7}})")));
  ASSERT_THAT(service.requests(), SizeIs(1));
  EXPECT_THAT(service.requests()[0],
              AllOf(StartsWith("PUT /mail?x=1 HTTP/1.1\r\n"), HasSubstr("\r\nX-One: 1\r\n"),
                    HasSubstr("\r\nContent-Type: application/json\r\n"),
                    HasSubstr("\r\ntraceparent: 00-1-2-03\r\n"), EndsWith("{\"to\":\"bob\"}")));
}

TEST_F(HttpRequests, MayHaveATextForABodyAndForAnAnswer) {
  Service service([](const std::string&) { return Service::response("201 Created", "thanks"); });
  push_request(fmt::format(R"({{"method":"POST","url":"{}","body":"a=1",)"
                           R"("headers":{{"content-type":"application/x-www-form-urlencoded"}}}})",
                           service.url()));
  start_http();
  EXPECT_THAT(std::string(ended("a").result.view()), EndsWith(R"("body":"thanks"})"));
  EXPECT_THAT(service.requests()[0],
              AllOf(HasSubstr("\r\ncontent-type: application/x-www-form-urlencoded\r\n"),
                    Not(HasSubstr("text/plain")), EndsWith("\r\n\r\na=1")));
}

struct StatusRow {
  const char* status;
  const char* headers;
  Reason reason;
};
class Statuses : public HttpRequests, public testing::WithParamInterface<StatusRow> {};
INSTANTIATE_TEST_SUITE_P(Http, Statuses,
                         testing::Values(StatusRow{"301 Moved", "", Reason::kRejected},
                                         StatusRow{"400 Bad", "", Reason::kRejected},
                                         StatusRow{"401 No", "", Reason::kRejected},
                                         StatusRow{"404 None", "", Reason::kRejected},
                                         StatusRow{"408 Late", "", Reason::kFailed},
                                         StatusRow{"410 Gone", "", Reason::kRejected},
                                         StatusRow{"500 Broken", "", Reason::kFailed},
                                         StatusRow{"503 Away", "", Reason::kFailed},
                                         StatusRow{"504 Late", "", Reason::kFailed}));

TEST_P(Statuses, AreAFailureThatMayPassOrNot) {
  const Task task = answered(Service::response(GetParam().status, "why", GetParam().headers));
  EXPECT_EQ(task.reason, GetParam().reason);
  EXPECT_EQ(task.error.view(), fmt::format("HTTP {:.3}: why", GetParam().status));
}

class Throttles : public HttpRequests, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Http, Throttles, testing::Values("429 Slow", "503 Away"));

TEST_P(Throttles, HoldTheQueueForAsLongAsTheServiceAsks) {
  Service service(
      [](const std::string&) { return Service::response(GetParam(), "", "Retry-After: 120\r\n"); });
  push_request(fmt::format(R"({{"url":"{}"}})", service.url()));
  start_http();
  std::optional<TimePoint> hold;
  EXPECT_TRUE(succeeds_in_the_end([&] {
    hold = must(GetQueue{"default"}).hold_until;
    return hold.has_value();
  }));
  const auto left = *hold - must(Stats{}).now;
  EXPECT_GT(left, 100s);
  EXPECT_LE(left, 120s);
  EXPECT_EQ(must(GetTask{.id = "a"}).attempts, 0);
}

TEST_F(HttpRequests, AreNotTriedAgainBeforeRetryAfter) {
  Service service([](const std::string&) {
    return Service::response("500 Broken", "", "Retry-After: 120\r\n");
  });
  push({.id = "a", .payload = fmt::format(R"({{"url":"{}"}})", service.url())});
  start_http();
  std::optional<TimePoint> run_at;
  EXPECT_TRUE(succeeds_in_the_end([&] {
    const Task task = must(GetTask{.id = "a"});
    run_at = task.run_at;
    return task.state == State::kScheduled;
  }));
  EXPECT_GT(*run_at - must(Stats{}).now, 100s);
}

TEST_F(HttpRequests, ThatNobodyAnswersFail) {
  std::string url;
  {
    const Service gone([](const std::string&) { return ""; });
    url = gone.url();
  }
  push_request(fmt::format(R"({{"url":"{}"}})", url));
  start_http();
  EXPECT_EQ(ended("a").reason, Reason::kFailed);
}

TEST_F(HttpRequests, ThatAreCutFail) {
  EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf").reason, Reason::kFailed);
}

TEST_F(HttpRequests, MayAskForTheHeadOnly) {
  Service service(
      [](const std::string&) { return "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"; });
  push_request(fmt::format(R"({{"method":"HEAD","url":"{}"}})", service.url()));
  start_http();
  EXPECT_THAT(std::string(ended("a").result.view()), HasSubstr("\"content-length\":\"100\""));
}

TEST_F(HttpRequests, ThatFailAtLengthFailByTheirStatus) {
  EXPECT_EQ(answered(Service::response("500 Broken", std::string(2 << 20, 'x'))).reason,
            Reason::kFailed);
}

TEST_F(HttpRequests, WithAnAnswerThatIsTooLargeFailForGood) {
  EXPECT_EQ(answered(Service::response("200 OK", std::string(2 << 20, 'x'))).reason,
            Reason::kRejected);
}

struct BadRequest {
  const char* payload;
  const char* error;
};
class BadRequests : public HttpRequests, public testing::WithParamInterface<BadRequest> {};
INSTANTIATE_TEST_SUITE_P(
    Http, BadRequests,
    testing::Values(
        BadRequest{"null", "payload: "}, BadRequest{"{}", "payload: url"},
        BadRequest{R"({"url":"http://x","verb":"GET"})", "payload: verb"},
        BadRequest{R"({"url":"http://x","method":"GET /"})", "payload: method"},
        BadRequest{R"({"url":"http://x","headers":{"a b":"1"}})", "payload: headers: a b"},
        BadRequest{R"({"url":"http://x","headers":{"a":"1\r\nB: 2"}})", "payload: headers: a"},
        BadRequest{R"({"url":"http://x","headers":{"content-Length":"5"}})", "payload: headers"},
        BadRequest{R"({"url":"http://x","method":"HEAD","body":1})", "payload: body"},
        BadRequest{R"({"url":"file:///etc/passwd"})", "Protocol"},
        BadRequest{R"({"url":"no url at all"})", ""}));

TEST_P(BadRequests, FailForGood) {
  push_request(GetParam().payload);
  start_http();
  const Task task = ended("a");
  EXPECT_EQ(task.reason, Reason::kRejected);
  EXPECT_THAT(std::string(task.error.view()), StartsWith(GetParam().error));
}

TEST_F(HttpRequests, AreGivenUpWhenTheirTaskIsCanceled) {
  Moment came;
  Moment go_on;
  Service service([&](const std::string&) {
    came.come();
    (void)go_on.wait();
    return "";
  });
  push_request(fmt::format(R"({{"url":"{}"}})", service.url()));
  settings_.lease = 300ms;
  Moment over;
  settings_.on_end = [&](const worker::Ended&) { over.come(); };
  start_http();
  ASSERT_TRUE(came.wait());
  must(CancelTask{"a"});
  EXPECT_TRUE(over.wait());
  go_on.come();
}

}  // namespace
}  // namespace retsu
