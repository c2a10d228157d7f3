#include "spool/delivery.h"

#include <gmock/gmock.h>

namespace retsu::spool {
namespace {

using testing::HasSubstr;
using Kind = Verdict::Kind;

const std::string kServer = "http://queue.example:7380";

Entry upload(const std::string& payload) {
  return {.id = "e-1", .type = "upload", .payload = Json(payload), .priority = Urgency::kHigh};
}

TEST(Deliveries, GoWhereAnUploadSaysIfThatIsTheServer) {
  for (const char* url :
       {"/v1/tasks", "http://queue.example:7380/v1/tasks", "HTTP://Queue.Example:7380/v1/tasks"}) {
    const Delivery delivery = delivery_of(
        upload(std::string(R"({"url":")") + url + R"(","data":{"queue":"mail"},"filePath":"x"})"),
        kServer);
    EXPECT_EQ(delivery.url, "http://queue.example:7380/v1/tasks") << url;
    EXPECT_EQ(delivery.body, R"({"queue":"mail"})");
    EXPECT_EQ(delivery.key, "e-1");
  }
  EXPECT_EQ(delivery_of(upload(R"({"url":"https://q.example:443/v1/bookmarks?x=1","data":1})"),
                        "https://q.example")
                .url,
            "https://q.example/v1/bookmarks?x=1");
}

TEST(Deliveries, BecomeTasksOtherwise) {
  for (const char* payload :
       {R"({"url":"http://elsewhere.example/v1/tasks","data":1})", R"({"filePath":"/doc.pdf"})",
        R"({"url":"//elsewhere.example/v1"})", R"({"url":"http://queue.example:7380.evil/v1"})",
        R"({"url":7})", R"([1])", R"({"url":"http://queue.example:7381/v1/tasks"})"}) {
    const Delivery delivery = delivery_of(upload(payload), kServer);
    EXPECT_EQ(delivery.url, kServer + "/v1/tasks") << payload;
    EXPECT_EQ(delivery.body, std::string(R"({"id":"e-1","type":"upload","payload":)") + payload +
                                 R"(,"priority":4})");
  }
  Entry download{.id = "d",
                 .type = "download",
                 .payload = Json(R"({"url":"/v1/tasks"})"),
                 .priority = Urgency::kLow};
  EXPECT_THAT(delivery_of(download, kServer).body, HasSubstr(R"("type":"download")"));
  EXPECT_THAT(delivery_of(download, kServer).body, HasSubstr(R"("priority":2)"));
}

TEST(Deliveries, HaveAKeyThatAHeaderCanHold) {
  Entry odd = upload("{}");
  odd.id = "日本 語";
  const Delivery delivery = delivery_of(odd, kServer);
  EXPECT_EQ(delivery.key.size(), 64U);
  EXPECT_THAT(delivery.body, HasSubstr("\"id\":\"" + delivery.key));
  odd.id = "a/b";  // a key, and no id
  EXPECT_EQ(delivery_of(odd, kServer).key, "a/b");
  EXPECT_THAT(delivery_of(odd, kServer).body, testing::Not(HasSubstr("a/b")));
}

struct Case {
  int status;
  std::string retry_after;
  std::string body;
  Kind kind;
};
class Verdicts : public testing::TestWithParam<Case> {};
TEST_P(Verdicts, AreThoseOfTheAnswer) {
  HttpAnswer answer{.status = GetParam().status, .body = GetParam().body};
  if (!GetParam().retry_after.empty()) {
    answer.headers.emplace_back("retry-after", GetParam().retry_after);
  }
  const Verdict verdict = verdict_of(answer, *parse_time("2026-11-16T10:00:00Z"));
  EXPECT_EQ(verdict.kind, GetParam().kind);
  EXPECT_EQ(verdict.wait.has_value(), !GetParam().retry_after.empty());
}
INSTANTIATE_TEST_SUITE_P(
    All, Verdicts,
    testing::Values(Case{200, "", "{}", Kind::kDone}, Case{201, "", "", Kind::kDone},
                    Case{204, "", "", Kind::kDone}, Case{301, "", "", Kind::kStop},
                    Case{400, "", R"({"error":{"code":"invalid","message":"no"}})", Kind::kRefused},
                    Case{401, "", "", Kind::kStop}, Case{403, "", "", Kind::kForbidden},
                    Case{404, "", "", Kind::kRefused}, Case{408, "", "", Kind::kFailed},
                    Case{409, "", R"({"error":{"code":"idempotency_mismatch","message":"x"}})",
                         Kind::kRefused},
                    Case{409, "1", R"({"error":{"code":"idempotency_in_progress","message":"x"}})",
                         Kind::kBusy},
                    Case{413, "", "", Kind::kRefused}, Case{422, "", "", Kind::kRefused},
                    Case{429, "", "", Kind::kHold}, Case{429, "7", "", Kind::kHold},
                    Case{500, "", "<html>", Kind::kFailed}, Case{502, "", "", Kind::kFailed},
                    Case{503, "", "", Kind::kFailed}, Case{503, "3", "", Kind::kHold},
                    Case{504, "", "", Kind::kFailed}, Case{507, "", "", Kind::kHold},
                    Case{999, "", "", Kind::kFailed}));

TEST(Verdicts, SayWhatTheServerSaid) {
  const HttpAnswer answer{.status = 400,
                          .body = R"({"error":{"code":"invalid","message":"user: no","x":1}})"};
  EXPECT_EQ(verdict_of(answer, {}).message, "400 invalid: user: no");
  EXPECT_EQ(verdict_of({.status = 502, .body = "<html>"}, {}).message, "the server answered 502");
  EXPECT_TRUE(
      verdict_of({.status = 201, .headers = {{"idempotent-replayed", "true"}}}, {}).was_known);
}

}  // namespace
}  // namespace retsu::spool
