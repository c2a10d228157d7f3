#include "simulators/http_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <future>

#include "base/http_client.h"

namespace retsu::simulators {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using Failure = HttpFailure::Kind;

constexpr Millis kPatience{20'000};

std::unique_ptr<HttpService> serving(HttpService::Handler handler, ServiceLimits limits = {}) {
  auto service = HttpService::start(0, std::move(handler), limits);
  EXPECT_TRUE(service) << service.error();
  return *std::move(service);
}

ServiceAnswer echo(const ServiceRequest& request) {
  return {
      .status = 201,
      .headers = {{"X-Method", request.method}, {"X-Told", std::string(request.header("x-say"))}},
      .body = request.target + " " + request.body};
}

HttpCall call_to(const HttpService& service, std::string_view target = "/") {
  return {.url = service.url(target), .timeout = kPatience};
}

// What comes back for these bytes on one connection, until the service closes it.
std::string raw(const HttpService& service, std::string_view sent) {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(service.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(file, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::send(file, sent.data(), sent.size(), MSG_NOSIGNAL), static_cast<ssize_t>(sent.size()))
      << "nobody takes it";
  std::string got;
  std::array<char, 4096> piece;
  for (ssize_t size = 0; (size = ::read(file, piece.data(), piece.size())) > 0;) {
    got.append(piece.data(), static_cast<std::size_t>(size));
  }
  ::close(file);
  return got;
}

TEST(HttpService, GivesTheRequestToItsHandlerAndSendsWhatItAnswers) {
  const auto service = serving(echo);
  HttpClient client;
  HttpCall call = call_to(*service, "/a?b=c");
  call.method = "POST";
  call.headers = {{"X-Say", "列"}};
  call.body = "body";
  const auto answer = client.call(call);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->header("x-method"), "POST");
  EXPECT_EQ(answer->header("x-told"), "列");
  EXPECT_EQ(answer->body, "/a?b=c body");
}

TEST(HttpService, KeepsAConnectionForTheNextRequestUntilItIsToldNotTo) {
  const auto service = serving(echo);
  const std::string got = raw(*service,
                              "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none"
                              "HEAD /2 HTTP/1.1\r\nHost: x\r\n\r\n"
                              "GET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                              "GET /4 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(got, AllOf(HasSubstr("Connection: keep-alive\r\n\r\n/1 oneHTTP/1.1 201 Created\r\n"),
                         Not(HasSubstr("/2 ")), EndsWith("Connection: close\r\n\r\n/3 ")));
}

TEST(HttpService, RefusesWhatIsNotHttp) {
  const auto service = serving(echo);
  EXPECT_THAT(raw(*service, "nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
}

TEST(HttpService, ManyClientsAreAnsweredAtOnceAlsoWhileOthersWait) {
  const auto service = serving([](const ServiceRequest& request) -> ServiceAnswer {
    return {.body = request.target,
            .delay = request.target == "/late" ? Millis(kPatience * 10) : Millis(0)};
  });
  HttpClient client;
  std::promise<void> canceled;
  const auto late = client.start({.url = service->url("/late")}, [&](const auto& answer) {
    EXPECT_FALSE(answer);
    canceled.set_value();
  });
  std::vector<std::promise<std::string>> bodies(50);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    client.start(call_to(*service, "/" + std::to_string(i)),
                 [&, i](auto answer) { bodies[i].set_value(answer ? answer->body : "failed"); });
  }
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_EQ(bodies[i].get_future().get(), "/" + std::to_string(i));
  }
  client.cancel(late);
  canceled.get_future().wait();
}

TEST(HttpService, CutsTheConnectionBeforeOrInsideTheAnswer) {
  const auto service = serving([](const ServiceRequest& request) -> ServiceAnswer {
    return {.body = std::string(1'000, 'x'),
            .cut = request.target == "/before" ? Cut::kBeforeTheAnswer : Cut::kInsideTheAnswer};
  });
  HttpClient client;
  for (const char* target : {"/before", "/inside"}) {
    std::string got;
    HttpCall call = call_to(*service, target);
    call.on_piece = [&](std::string_view piece) { got += piece; };
    const auto answer = client.call(call);
    ASSERT_FALSE(answer) << target;
    EXPECT_EQ(answer.error().kind, Failure::kBroken) << answer.error().message;
    EXPECT_EQ(got.size(), target == std::string_view("/before") ? 0U : 500U);
  }
}

TEST(HttpService, TellsWhenAnAnswerIsSent) {
  std::atomic<int> sent = 0;
  const auto service = serving([&](const ServiceRequest&) -> ServiceAnswer {
    return {.body = "x", .on_send = [&] { ++sent; }};
  });
  HttpClient client;
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(client.call(call_to(*service)));
    EXPECT_EQ(sent, i);
  }
}

TEST(HttpService, RefusesWhatIsTooLarge) {
  const auto service = serving(echo, {.header_bytes = 2'000, .body_bytes = 100});
  HttpClient client;
  HttpCall call = call_to(*service);
  call.method = "POST";
  call.body = std::string(100, 'x');
  EXPECT_EQ(client.call(call)->status, 201);
  call.body = std::string(std::size_t{500'000}, 'x');
  const auto large = client.call(call);
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_EQ(large->status, 413);
  call.body = "";
  call.headers = {{"X-Say", std::string(3'000, 'x')}};
  const auto header = client.call(call);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->status, 431);
}

TEST(HttpService, ARefusalReachesAClientThatIsStillSending) {
  const auto service = serving(echo, {.body_bytes = 100});
  const std::string large(std::size_t{5'000'000}, 'x');
  EXPECT_THAT(
      raw(*service, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n" + large),
      StartsWith("HTTP/1.1 413 "));
}

TEST(HttpService, AConnectionOverTheLimitWaitsUntilAnotherEnds) {
  std::vector<std::string> asked;
  auto service = serving(
      [&](const ServiceRequest& request) -> ServiceAnswer {
        asked.push_back(request.target);
        return {.body = "x", .cut = request.target == "/last" ? Cut::kInsideTheAnswer : Cut::kNot};
      },
      {.connections = 1});
  HttpClient first;
  HttpClient second;
  ASSERT_TRUE(first.call(call_to(*service, "/first")));  // and its connection stays
  std::promise<bool> answered;
  second.start(call_to(*service, "/second"),
               [&](const auto& answer) { answered.set_value(bool(answer)); });
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(first.call(call_to(*service, "/again")));
  EXPECT_FALSE(first.call(call_to(*service, "/last")));
  EXPECT_TRUE(answered.get_future().get());
  service.reset();
  ASSERT_THAT(asked, SizeIs(53));
  EXPECT_EQ(asked[51], "/last");
  EXPECT_EQ(asked[52], "/second");
}

TEST(HttpService, SaysWhichPortIsTaken) {
  const auto service = serving(echo);
  const auto second = HttpService::start(service->port(), echo);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error(), HasSubstr("port " + std::to_string(service->port())));
}

TEST(HttpService, EndsWhileAnAnswerIsStillToCome) {
  std::promise<void> asked;
  auto service = serving([&](const ServiceRequest&) -> ServiceAnswer {
    asked.set_value();
    return {.body = "x", .delay = kPatience * 10};
  });
  HttpClient client;
  std::promise<Failure> failed;
  client.start({.url = service->url("/")}, [&](const auto& answer) {
    failed.set_value(answer ? Failure::kInvalid : answer.error().kind);
  });
  asked.get_future().wait();
  service.reset();
  EXPECT_EQ(failed.get_future().get(), Failure::kBroken);
}

}  // namespace
}  // namespace retsu::simulators
