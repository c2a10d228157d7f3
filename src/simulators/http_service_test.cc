#include "simulators/http_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/http_client.h"

namespace retsu::simulators {
namespace {

using testing::HasSubstr;
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

TEST(HttpService, AConnectionOverTheLimitWaitsUntilAnotherEnds) {
  const auto service = serving(
      [](const ServiceRequest& request) -> ServiceAnswer {
        return {.body = "x", .cut = request.target == "/last" ? Cut::kInsideTheAnswer : Cut::kNot};
      },
      {.connections = 1});
  HttpClient first;
  HttpClient second;
  ASSERT_TRUE(first.call(call_to(*service)));  // and its connection stays
  std::promise<bool> answered;
  second.start(call_to(*service), [&](const auto& answer) { answered.set_value(bool(answer)); });
  EXPECT_FALSE(first.call(call_to(*service, "/last")));
  EXPECT_TRUE(answered.get_future().get());
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
