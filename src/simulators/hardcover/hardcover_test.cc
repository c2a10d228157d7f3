#include "simulators/hardcover/hardcover.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <sstream>

#include "base/http_client.h"
#include "base/json.h"
#include "base/temporary_directory.h"

namespace retsu::simulators {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

constexpr std::string_view kIsbn = "9784873113944";
constexpr std::string_view kByIsbn =
    "query($isbn: String!) { editions(where: {isbn_13: {_eq: $isbn}}) { id isbn_13 } }";
constexpr std::string_view kWhole =
    R"([{"id":487311395,"isbn_13":"9784873113944","book":{"id":968744189,)"
    R"("title":"Small Machines, Patiently Explained","slug":"small-machines-patiently-explained",)"
    R"("contributions":[{"author":{"id":1,"name":"Haruka Minami","slug":"haruka-minami"}}]}}])";

class HardcoverTest : public testing::Test {
 protected:
  void start(HardcoverSettings settings = {}) {
    settings.token = "right";
    settings.clock = [this] { return TimePoint(Millis(now_ms_.load())); };
    auto started = HardcoverSimulator::start(std::move(settings));
    ASSERT_TRUE(started) << started.error();
    simulator_ = *std::move(started);
  }
  void pass(Millis time) { now_ms_ += time.count(); }

  HttpClient::Answered post(std::string body, const std::string& token = "right") {
    return client_.call({.method = "POST",
                         .url = simulator_->url(),
                         .headers = {{"authorization", "Bearer " + token},
                                     {"Content-Type", "application/json"},
                                     {"User-Agent", "reader-7"}},
                         .body = std::move(body),
                         .timeout = Millis(20'000)});
  }
  static std::string body_of(std::string_view query, std::string_view variables = "{}") {
    std::string body;
    JsonWriter to(body);
    to.raw(R"({"query":)");
    to.string(query);
    to.raw(fmt::format(",\"variables\":{}}}", variables));
    return body;
  }
  HttpAnswer ask(std::string_view query, std::string_view variables = "{}") {
    auto answer = post(body_of(query, variables));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer.value_or(HttpAnswer());
  }
  HttpClient::Answered try_isbn(std::string_view isbn = kIsbn) {
    return post(body_of(kByIsbn, fmt::format(R"({{"isbn":"{}"}})", isbn)));
  }
  HttpAnswer ask_isbn(std::string_view isbn = kIsbn) {
    return try_isbn(isbn).value_or(HttpAnswer());
  }
  // Of a query that names no variables, the message of its error.
  std::string refusal(std::string_view query) {
    const HttpAnswer answer = ask(query);
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(answer.body, StartsWith(R"({"errors":[{"message":)"));
    return answer.body;
  }
  HttpAnswer door(const std::string& method, std::string_view path, std::string body = "") {
    std::string url = simulator_->url();
    url.replace(url.find("/v1/"), std::string::npos, path);
    return client_.call({.method = method, .url = url, .body = std::move(body)})
        .value_or(HttpAnswer());
  }

  std::atomic<std::int64_t> now_ms_ =
      TimePoint(std::chrono::sys_days{std::chrono::year{2026} / 11 / 15})
          .time_since_epoch()
          .count();
  std::unique_ptr<HardcoverSimulator> simulator_;
  HttpClient client_;
};

TEST_F(HardcoverTest, WhoHasNoTokenOrAWrongOneIsRefused) {
  start();
  const auto wrong = post(body_of("{ editions { id } }"), "wrong");
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->status, 401);
  EXPECT_THAT(wrong->body, StartsWith(R"({"error":"invalid_token","error_description":")"));
  EXPECT_EQ(wrong->header("ratelimit"), "");
  EXPECT_EQ(client_.call({.method = "POST", .url = simulator_->url()})->status, 401);
  EXPECT_EQ(door("GET", "/v1/graphql").status, 405);
  EXPECT_EQ(door("GET", "/v2").status, 404);
}

TEST_F(HardcoverTest, AnEditionIsFoundByItsIsbnWithExactlyTheSelectedFields) {
  start();
  const HttpAnswer answer = ask(
      "query($isbn: String!, $title: String, $name: String) {"
      "  editions(where: {title: {_eq: $title}, edition_format: {_is_null: false},"
      "                   contributions: {author: {name: {_eq: $name}}}, isbn_13: {_eq: $isbn}}) {"
      "    id isbn_13 book { id title slug contributions { author { id name slug } } } } }",
      R"({"isbn":"9784873113944","title":"Small Machines, Patiently Explained"})");
  EXPECT_EQ(answer.status, 200);
  const auto edition = HardcoverSimulator::edition_by_isbn(kIsbn).value();
  std::string whole(kWhole);
  whole.replace(whole.find("968744189"), 9, std::to_string(edition.book_id));
  whole.replace(whole.find("\"id\":1,") + 5, 1, std::to_string(edition.authors[0].id));
  EXPECT_EQ(answer.body, R"({"data":{"editions":)" + whole + "}}");
  EXPECT_EQ(
      ask(R"({ x: editions(where: {isbn_13: {_eq: "9784873113944"}}) { n: id __typename } })").body,
      R"({"data":{"x":[{"n":487311395,"__typename":"editions"}]}})");
}

TEST_F(HardcoverTest, AnEditionIsFoundByItsTitleAndAuthor) {
  start({.speed = 1'000});
  int found = 0;
  for (int i = 0; i < 10; ++i) {
    pass(Millis(1'000));
    const std::string title = fmt::format("Title {}", i);
    const auto edition = HardcoverSimulator::edition_by_title(title, "Ann");
    const HttpAnswer answer = ask(fmt::format(
        R"({{ editions(where: {{title: {{_eq: "{}"}}, contributions: {{author: {{name: {{_eq: "Ann"}}}}}}}}) {{ id isbn_13 }} }})",
        title));
    EXPECT_EQ(answer.body,
              edition ? fmt::format(R"({{"data":{{"editions":[{{"id":{},"isbn_13":null}}]}}}})",
                                    edition->id)
                      : R"({"data":{"editions":[]}})");
    found += edition ? 1 : 0;
  }
  EXPECT_GT(found, 0);
  EXPECT_LT(found, 10);
}

TEST_F(HardcoverTest, AllConditionsMustHold) {
  start();
  const auto found = [&](std::string_view where) {
    const HttpAnswer answer = ask(fmt::format(
        R"({{ editions(where: {{isbn_13: {{_eq: "{}"}} {} }}) {{ id }} }})", kIsbn, where));
    return answer.body != R"({"data":{"editions":[]}})";
  };
  EXPECT_TRUE(found(""));
  EXPECT_TRUE(found("edition_format: {_is_null: false}"));
  EXPECT_FALSE(found("edition_format: {_is_null: true}"));
  EXPECT_FALSE(found(R"(title: {_eq: "Another"})"));
  EXPECT_TRUE(found(R"(contributions: {author: {name: {_eq: "Haruka Minami"}}})"));
  EXPECT_FALSE(found(R"(contributions: {author: {name: {_eq: "Somebody"}}})"));
}

TEST_F(HardcoverTest, FaultsOfAQueryAreAnsweredAsGraphqlDoes) {
  start({.speed = HardcoverSettings::kMostSpeed});
  const std::string disabled = refusal(R"({ editions(where: {title: {_ilike: "%x%"}}) { id } })");
  EXPECT_THAT(disabled, HasSubstr("_ilike is disabled"));
  EXPECT_THAT(disabled,
              HasSubstr(R"("extensions":{"path":"$.selectionSet.editions.args.where.title._ilike",)"
                        R"("code":"validation-failed"})"));
  const auto each = {
      std::pair("{ editions { id ", "expected a field"),
      std::pair("{ books { id } }", "no field 'books'"),
      std::pair("{ editions { isbn } }", "no field 'isbn'"),
      std::pair("{ editions }", "needs a selection"),
      std::pair("{ editions { id { x } } }", "plain value"),
      std::pair("{ editions { book(a: 1) { id } } }", "takes no arguments"),
      std::pair("{ editions(order: 1) { id } }", "no argument named 'order'"),
      std::pair("{ editions(limit: -1) { id } }", "whole number"),
      std::pair("{ editions(where: 1) { id } }", "expected an object"),
      std::pair("{ editions(where: {title: \\\"x\\\"}) { id } }", "no meaning"),
      std::pair("{ editions(where: {title: {_in: 1}}) { id } }", "_in cannot be used here"),
      std::pair("{ editions(where: {title: {_eq: null}}) { id } }", "expected a string"),
      std::pair("{ editions(where: {pages: {_eq: 1}}) { id } }", "'pages' cannot be asked"),
      std::pair("{ editions(where: {edition_format: {_is_null: 1}}) { id } }", "true or false"),
  };
  for (const auto& [query, told] : each) {
    pass(Millis(1'000));
    EXPECT_THAT(refusal(query), HasSubstr(told)) << query;
  }
  EXPECT_THAT(post("nonsense")->body, HasSubstr("invalid-json"));
  EXPECT_THAT(post(R"({"variables":{}})")->body, HasSubstr("query"));
}

TEST_F(HardcoverTest, SixFieldsAreTooManyAndFiveCountAsFive) {
  start();
  std::string five;
  for (int i = 0; i < 5; ++i) {
    five += fmt::format(R"(f{}: editions(where: {{isbn_13: {{_eq: "{}"}}}}) {{ id }} )", i, kIsbn);
  }
  const HttpAnswer answer = ask("{" + five + "}");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr(R"("f4":[{"id":487311395}])"));
  EXPECT_THAT(answer.header("ratelimit"), StartsWith(R"("Free";r=5;t=5, "daily";r=4995;t=86400)"));
  EXPECT_EQ(ask("{" + five + "editions { id } }").status, 403);
  EXPECT_EQ(ask("{" + five + "}").status, 200);
  EXPECT_EQ(ask("{" + five + "}").header("retry-after"), "5");
  EXPECT_THAT(simulator_->calls().front().asked, SizeIs(5));
}

TEST_F(HardcoverTest, AfterTheBurstOneMustWaitAsLongAsTheHeadersSay) {
  start();
  for (int i = 9; i >= 0; --i) {
    const HttpAnswer answer = ask_isbn();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("ratelimit-policy"),
              R"("Free";q=60;w=60;burst=10, "daily";q=5000;w=86400)");
    EXPECT_EQ(answer.header("ratelimit"),
              fmt::format(R"("Free";r={};t={}, "daily";r={};t=86400)", i, 10 - i, 4'990 + i));
  }
  const HttpAnswer refused = ask_isbn();
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.body, StartsWith(R"({"error":"Too Many Requests","message":")"));
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_EQ(refused.header("ratelimit"), R"("Free";r=0;t=10, "daily";r=4990;t=86400)");
  pass(Millis(999));
  EXPECT_EQ(ask_isbn().status, 429);
  pass(Millis(1));
  EXPECT_EQ(ask_isbn().status, 200);
}

TEST_F(HardcoverTest, ADayHasFiveThousandRequests) {
  start({.speed = 300});
  const Millis day = Millis(std::chrono::days(1)) / 300;
  for (int i = 0; i < 500; ++i) {
    pass(Millis(40));
    for (int two = 0; two < 2; ++two) {
      ASSERT_EQ(ask("{ a: editions { id } b: editions { id } c: editions { id } d: editions { id } "
                    "e: editions { id } }")
                    .status,
                200);
    }
  }
  const HttpAnswer refused = ask_isbn();
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.header("retry-after"), "268");  // 288 s, of which 20 are over
  EXPECT_EQ(refused.header("ratelimit-policy"),
            R"("Free";q=18000;w=60;burst=10, "daily";q=5000;w=288)");
  EXPECT_THAT(refused.header("ratelimit"), HasSubstr(R"("daily";r=0;t=268)"));
  pass(day - Millis(500 * 40));
  EXPECT_EQ(ask_isbn().status, 200);
}

TEST_F(HardcoverTest, SpeedMakesTheLimitsFasterAndTheDailyOneCanBeSwitchedOff) {
  start({.speed = 300, .daily_limit = false});
  HttpAnswer answer;
  for (int i = 0; i < 10; ++i) answer = ask_isbn();
  EXPECT_EQ(answer.header("ratelimit-policy"), R"("Free";q=18000;w=60;burst=10)");
  EXPECT_EQ(answer.header("ratelimit"), R"("Free";r=0;t=1)");
  answer = ask_isbn();
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.header("retry-after"), "1");  // the least that can be said
  pass(Millis(4));
  EXPECT_EQ(ask_isbn().status, 200);
  EXPECT_EQ(ask_isbn().status, 429);
  EXPECT_EQ(simulator_->calls().back().remaining_today, std::nullopt);
}

TEST_F(HardcoverTest, EveryKindOfFaultIsAnsweredOnRequest) {
  start({.speed = HardcoverSettings::kMostSpeed});
  struct Row {
    std::string_view kind;
    int status;
    std::string_view body;
  };
  const Row rows[] = {
      {"401", 401, R"({"error":"invalid_token")"},
      {"408", 408, R"({"error":"Request timeout"})"},
      {"429", 429, R"({"error":"Too Many Requests","message":)"},
      {"500", 500, "<!DOCTYPE html>"},
      {"503", 503, R"({"error":"Service temporarily unavailable"})"},
      {"slow", 200, R"({"data":{"editions":[{"id":487311395)"},
      {"garbage", 200, R"({"data":{"editi)"},
      {"graphql_error", 200, R"({"errors":[{"message":)"},
      {"empty", 200, R"({"data":{"editions":[]}})"},
      {"no_body", 200, ""},
  };
  EXPECT_EQ(std::size(rows) + 1, names_of(std::type_identity<hardcover::FaultKind>{}).size());
  for (const Row& row : rows) {
    pass(Millis(1'000));
    const HttpAnswer added =
        door("POST", "/simulator/faults", fmt::format(R"({{"kind":"{}","delay_ms":1}})", row.kind));
    EXPECT_EQ(added.status, 200) << added.body;
    const HttpAnswer answer = ask_isbn();
    EXPECT_EQ(answer.status, row.status) << row.kind;
    EXPECT_THAT(answer.body, StartsWith(std::string(row.body))) << row.kind;
    EXPECT_EQ(is_json(answer.body),
              row.kind != "500" && row.kind != "garbage" && row.kind != "no_body");
    EXPECT_EQ(answer.header("retry-after"), row.kind == "429" ? "1" : "");
    EXPECT_EQ(simulator_->calls().back().fault, row.kind);
    EXPECT_EQ(ask_isbn().status, 200) << row.kind;
    EXPECT_EQ(simulator_->calls().back().fault, std::nullopt);
  }
  ASSERT_TRUE(simulator_->add_fault({.kind = hardcover::FaultKind::kCut}));
  const auto cut = try_isbn();
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, HttpFailure::Kind::kBroken);
  EXPECT_EQ(simulator_->calls().back().fault, "cut");
}

TEST_F(HardcoverTest, AFaultComesAsOftenAsItWasAskedForAndOnlyWhereItWasMeant) {
  start();
  ASSERT_TRUE(
      simulator_->add_fault({.kind = hardcover::FaultKind::kBroken, .isbn13 = "9780306406157"}));
  ASSERT_TRUE(simulator_->add_fault(
      {.kind = hardcover::FaultKind::kUnavailable, .times = 2, .retry_after_s = 7}));
  EXPECT_EQ(ask_isbn().header("retry-after"), "7");
  EXPECT_EQ(ask_isbn().status, 503);
  EXPECT_EQ(ask_isbn().status, 200);
  EXPECT_EQ(door("GET", "/simulator/faults").body,
            R"([{"kind":"500","times":1,"isbn13":"9780306406157"}])");
  EXPECT_EQ(ask_isbn("9780306406157").status, 500);
  ASSERT_TRUE(simulator_->add_fault({.kind = hardcover::FaultKind::kBroken}));
  EXPECT_EQ(door("DELETE", "/simulator/faults").body, "[]");
  EXPECT_EQ(ask_isbn().status, 200);
}

TEST_F(HardcoverTest, ASlowAnswerAndTheLatencyTakeTheirTime) {
  start({.latency = Millis(30)});
  ASSERT_TRUE(simulator_->add_fault({.kind = hardcover::FaultKind::kSlow, .delay_ms = 50}));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(ask_isbn().status, 200);
  EXPECT_GE(std::chrono::steady_clock::now() - began, Millis(80));
}

TEST_F(HardcoverTest, AFaultThatMakesNoSenseIsRefusedWithAReason) {
  start();
  const auto each = {
      std::pair("nonsense", "JSON"),
      std::pair("{}", "kind"),
      std::pair(R"({"kind":"418"})", "graphql_error"),
      std::pair(R"({"kind":"503","times":0})", "times: must be from 1"),
      std::pair(R"({"kind":"503","delay_ms":-1})", "delay_ms: must be from 0"),
      std::pair(R"({"kind":"503","retry_after_s":86401})", "retry_after_s: must be"),
      std::pair(R"({"kind":"503","isbn13":"1"})", "no ISBN-13"),
      std::pair(R"({"kind":"503","count":2})", "count"),
  };
  for (const auto& [body, told] : each) {
    const HttpAnswer answer = door("POST", "/simulator/faults", body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_THAT(answer.body, HasSubstr(told)) << body;
  }
  EXPECT_EQ(door("GET", "/simulator/faults").body, "[]");
}

TEST_F(HardcoverTest, EveryCallIsInTheLog) {
  const TemporaryDirectory directory;
  start({.log_file = directory.path() + "/calls.ndjson", .kept_calls = 3});
  (void)post(body_of("{ editions { id } }"), "wrong");
  EXPECT_EQ(ask_isbn().status, 200);
  pass(Millis(1'500));
  (void)ask(
      R"({ editions(where: {title: {_eq: "列"} contributions: {author: {name: {_eq: "Ann"}}}}) { id } })");
  (void)ask("{ nonsense { id } }");
  const auto calls = simulator_->calls();
  ASSERT_THAT(calls, SizeIs(3)) << "the oldest is dropped";
  EXPECT_EQ(calls[0].client, "reader-7");
  EXPECT_THAT(calls[0].asked, ElementsAre(hardcover::Asked{.isbn13 = std::string(kIsbn)}));
  EXPECT_EQ(calls[0].remaining, 9);
  EXPECT_EQ(calls[1].started_ms - calls[0].ended_ms, 1'500);
  EXPECT_THAT(calls[1].asked, ElementsAre(hardcover::Asked{.title = "列", .author = "Ann"}));
  EXPECT_THAT(calls[2].asked, IsEmpty());

  const HttpAnswer log = door("GET", "/simulator/log");
  EXPECT_EQ(log.header("content-type"), "application/x-ndjson");
  EXPECT_THAT(log.body,
              StartsWith(R"({"at":"2026-11-15T00:00:00.000Z","started_ms":1794700800000,)"
                         R"("ended_ms":1794700800000,"client":"reader-7",)"
                         R"("asked":[{"isbn13":"9784873113944"}],"status":200,"remaining":9,)"
                         R"("remaining_today":4999})"
                         "\n"));
  std::ifstream in(directory.path() + "/calls.ndjson");
  std::stringstream file;
  file << in.rdbuf();
  EXPECT_THAT(file.str(), HasSubstr(R"("asked":[],"status":401})"));
  EXPECT_TRUE(file.str().ends_with(log.body));
  EXPECT_THAT(simulator_->calls_by_status(), ElementsAre(Pair("200", 3), Pair("401", 1)));
  EXPECT_EQ(door("GET", "/simulator/stats").body, R"({"200":3,"401":1})");
}

TEST(Hardcover, SaysWhyItCannotStart) {
  EXPECT_THAT(HardcoverSimulator::start({.log_file = "/nowhere/at/all"}).error(),
              HasSubstr("/nowhere/at/all"));
  EXPECT_THAT(HardcoverSimulator::start({.speed = 0}).error(), HasSubstr("from 1 to 100000"));
}

}  // namespace
}  // namespace retsu::simulators
