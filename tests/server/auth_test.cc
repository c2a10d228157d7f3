// Every row of the table, with every kind of token and with none.

#include "base/temporary_directory.h"
#include "server/server_test.h"

namespace retsu {
namespace {

using server::NewToken;
using server::Tokens;
using testing::HasSubstr;
using testing::StartsWith;

class Auth : public ServerTest {
 protected:
  void SetUp() override {
    auto opened = Tokens::open(directory_.path() + "/tokens.jsonl");
    ASSERT_TRUE(opened);
    tokens_ = std::make_unique<Tokens>(std::move(*opened));
    settings_.tokens = tokens_.get();
    settings_.audit_log = directory_.path() + "/audit.log";
    start();
  }

  std::string token(NewToken asked) {
    const auto created = tokens_->create(asked, TimePoint());
    EXPECT_TRUE(created) << created.error().message;
    return created->token;
  }
  HttpAnswer ask_as(const std::string& token, std::string method, const std::string& target,
                    std::string body = "") {
    std::vector<std::pair<std::string, std::string>> headers;
    if (!token.empty()) headers.emplace_back("Authorization", "Bearer " + token);
    return ask(std::move(method), target, std::move(body), std::move(headers));
  }
  // Whatever stands for the names in the braces.
  static std::string filled(std::string_view path, const std::string& value = "x") {
    std::string target;
    bool inside = false;
    for (const char c : path) {
      if (c == '{') target += value;
      if (c == '{' || c == '}') inside = c == '{';
      if (!inside && c != '}') target += c;
    }
    return target;
  }

  const TemporaryDirectory directory_;
  std::unique_ptr<Tokens> tokens_;
};

struct Row {
  std::string_view method;
  std::string_view path;
  Scope scope;
};

// Those of the table of operations, and those that only a server has.
std::vector<Row> rows() {
  std::vector<Row> all;
  for (const Operation& operation : kOperations) {
    all.push_back({operation.method, operation.path, operation.scope});
  }
  all.push_back({"GET", "/v1/events", Scope::kRead});
  all.push_back({"GET", "/v1/alerts", Scope::kRead});
  all.push_back({"GET", "/v1/tokens", Scope::kAdmin});
  all.push_back({"POST", "/v1/tokens", Scope::kAdmin});
  all.push_back({"DELETE", "/v1/tokens/{id}", Scope::kAdmin});
  return all;
}

TEST_F(Auth, UntilTheFirstTokenEverybodyOnThisMachineMayDoEverything) {
  EXPECT_EQ(post("/v1/tasks", "{}").status, 201);
  const HttpAnswer made = post("/v1/tokens", R"({"scopes":["admin"]})");
  EXPECT_EQ(made.status, 201);
  EXPECT_THAT(made.body, HasSubstr("retsu_"));
  EXPECT_EQ(post("/v1/tasks", "{}").status, 401);
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(Auth, ARevokedTokenDoesNotOpenTheDoorAgain) {
  const auto created = tokens_->create({.scopes = {Scope::kAdmin}}, TimePoint());
  EXPECT_EQ(ask_as(created->token, "GET", "/v1/stats").status, 200);
  EXPECT_EQ(ask_as(created->token, "DELETE", "/v1/tokens/" + created->info.id).status, 200);
  EXPECT_EQ(ask_as(created->token, "GET", "/v1/stats").status, 401);
  EXPECT_EQ(get("/v1/stats").status, 401);
}

TEST_F(Auth, NoRowIsServedWithoutAToken) {
  token({.scopes = {Scope::kAdmin}});
  for (const Row& row : rows()) {
    for (const char* authorization :
         {"", "Bearer", "Bearer ", "Bearer retsu_", "Bearer retsu_000000000000_00", "Basic eDp5"}) {
      const HttpAnswer answer =
          ask(std::string(row.method), filled(row.path), "", {{"Authorization", authorization}});
      EXPECT_EQ(answer.status, 401) << row.method << ' ' << row.path << ' ' << authorization;
      EXPECT_EQ(answer.header("www-authenticate"), "Bearer");
    }
  }
}

TEST_F(Auth, NoRowIsServedWithAnotherScope) {
  std::map<Scope, std::string> by_scope;
  for (const Scope scope : {Scope::kPush, Scope::kWork, Scope::kRead, Scope::kAdmin}) {
    by_scope[scope] = token({.scopes = {scope}});
  }
  for (const Row& row : rows()) {
    if (row.path == "/v1/events") continue;  // answers for ever
    for (const auto& [scope, secret] : by_scope) {
      const HttpAnswer answer = ask_as(secret, std::string(row.method), filled(row.path));
      const bool may = scope == row.scope || scope == Scope::kAdmin;
      EXPECT_EQ(answer.status != 403, may)
          << row.method << ' ' << row.path << " as " << name_of(scope) << ": " << answer.body;
      EXPECT_NE(answer.status, 401);
    }
  }
}

TEST_F(Auth, ATokenOfAUserSeesNothingOfOthers) {
  const std::string ann = token({.scopes = {Scope::kAdmin}, .user = "ann"});
  const std::string all = token({.scopes = {Scope::kAdmin}});
  ask_as(all, "POST", "/v1/tasks", R"({"id":"bobs","user":"bob","payload":"secret"})");
  ask_as(all, "POST", "/v1/tasks", R"({"id":"anns","user":"ann","depends_on":["bobs"]})");
  ask_as(all, "PUT", "/v1/xcom/bob:k", R"({"value":"secret"})");
  for (const Row& row : rows()) {
    if (row.path == "/v1/events") continue;
    const HttpAnswer answer = ask_as(ann, std::string(row.method), filled(row.path, "bobs"),
                                     row.method == "POST" ? R"({"user":"bob"})" : "");
    EXPECT_THAT(answer.body, testing::Not(HasSubstr("secret"))) << row.method << ' ' << row.path;
  }
  EXPECT_EQ(ask_as(ann, "GET", "/v1/tasks/bobs").status, 404);
  EXPECT_EQ(ask_as(ann, "POST", "/v1/tasks/bobs/cancel", "{}").status, 404);
  EXPECT_EQ(ask_as(ann, "GET", "/v1/tasks/anns").status, 200);
  EXPECT_EQ(ask_as(ann, "GET", "/v1/tasks?user=bob").status, 403);
  EXPECT_THAT(ask_as(ann, "GET", "/v1/tasks").body, testing::Not(HasSubstr("secret")));
  EXPECT_THAT(ask_as(ann, "GET", "/v1/graph/anns").body,
              testing::Not(HasSubstr(R"("user":"bob")")));
  EXPECT_EQ(ask_as(ann, "GET", "/v1/xcom/bob:k").status, 403);
  EXPECT_EQ(ask_as(ann, "GET", "/v1/events?user=bob").status, 403);
  EXPECT_EQ(ask_as(ann, "POST", "/v1/tokens", R"({"scopes":["admin"]})").status, 403);
  EXPECT_EQ(ask_as(ann, "POST", "/v1/tasks", R"({"id":"new","payload":1})").status, 201);
  EXPECT_THAT(ask_as(all, "GET", "/v1/tasks/new").body, HasSubstr(R"("user":"ann")"));
  EXPECT_EQ(ask_as(ann, "POST", "/v1/tasks", R"({"user":"bob"})").status, 403);
  EXPECT_THAT(ask_as(ann, "POST", "/v1/claims", R"({"max":10})").body,
              testing::Not(HasSubstr("bobs")));
  EXPECT_EQ(ask_as(ann, "POST", "/v1/claims", R"({"users":["bob"]})").status, 403);
  EXPECT_EQ(ask_as(ann, "POST", "/v1/claims", R"({"steal":["bob"]})").status, 403);
}

TEST_F(Auth, ATokenOfAQueueSeesNothingOfOthers) {
  const std::string mail = token({.scopes = {Scope::kAdmin}, .queues = {"mail"}});
  const std::string all = token({.scopes = {Scope::kAdmin}});
  ask_as(all, "POST", "/v1/tasks", R"({"id":"m","queue":"mail"})");
  ask_as(all, "POST", "/v1/tasks", R"({"id":"o","queue":"other","payload":"secret"})");
  EXPECT_EQ(ask_as(mail, "POST", "/v1/tasks", R"({"queue":"other"})").status, 403);
  EXPECT_EQ(ask_as(mail, "GET", "/v1/tasks/o").status, 404);
  EXPECT_EQ(ask_as(mail, "GET", "/v1/tasks/m").status, 200);
  EXPECT_THAT(ask_as(mail, "GET", "/v1/tasks").body, HasSubstr(R"("id":"m")"));
  EXPECT_EQ(ask_as(mail, "GET", "/v1/tasks?queue=other").status, 403);
  EXPECT_EQ(ask_as(mail, "GET", "/v1/queues/other").status, 403);
  EXPECT_EQ(ask_as(mail, "POST", "/v1/queues/other/pause", "{}").status, 403);
  EXPECT_EQ(ask_as(mail, "POST", "/v1/queues/mail/pause", "{}").status, 200);
  EXPECT_EQ(ask_as(mail, "POST", "/v1/queues/mail/resume", "{}").status, 200);
  EXPECT_THAT(ask_as(mail, "GET", "/v1/queues").body, testing::Not(HasSubstr("other")));
  EXPECT_EQ(ask_as(mail, "GET", "/v1/stats").status, 403);
  EXPECT_EQ(ask_as(mail, "POST", "/v1/claims", R"({"queues":["mail","other"]})").status, 403);
  EXPECT_EQ(ask_as(mail, "POST", "/v1/tasks/cancel", R"({"filter":{"queue":"other"}})").status,
            403);
  EXPECT_THAT(ask_as(mail, "POST", "/v1/tasks/cancel", R"({"filter":{},"dry_run":true})").body,
              HasSubstr(R"("matched":1)"));
  EXPECT_THAT(ask_as(all, "GET", "/v1/tasks/o").body, HasSubstr("QUEUED"));
}

TEST_F(Auth, ATokenThatIsLimitedReadsNoResultsOfOthersThroughDependencies) {
  const std::string all = token({.scopes = {Scope::kAdmin}});
  const std::string ann = token({.scopes = {Scope::kPush, Scope::kWork}, .user = "ann"});
  ask_as(all, "POST", "/v1/tasks", R"({"id":"bobs","user":"bob","unique_key":"k"})");
  ask_as(all, "POST", "/v1/claims", R"({"claim_id":"c"})");
  ask_as(all, "POST", "/v1/claims/c/settle",
         R"({"results":[{"id":"bobs","outcome":"finish","result":"secret"}]})");
  for (const char* body : {R"({"id":"x","depends_on":["bobs"]})",
                           R"({"id":"x","depends_on":["later"],"allow_missing":true})",
                           R"({"tasks":[{"id":"x"},{"id":"y","depends_on":["x","bobs"]}]})"}) {
    EXPECT_EQ(ask_as(ann, "POST", "/v1/tasks", body).status, 422) << body;
  }
  EXPECT_EQ(
      ask_as(ann, "POST", "/v1/tasks", R"({"tasks":[{"id":"x"},{"id":"y","depends_on":["x"]}]})")
          .status,
      201);
  EXPECT_EQ(ask_as(ann, "POST", "/v1/tasks", R"({"id":"z","depends_on":["x"]})").status, 201);
  ask_as(ann, "POST", "/v1/claims", R"({"claim_id":"d"})");
  EXPECT_EQ(
      ask_as(ann, "POST", "/v1/claims/d/settle",
             R"({"results":[{"id":"x","outcome":"await","children":[{"depends_on":["bobs"]}]}]})")
          .status,
      422);
  // A key that somebody else holds is another key.
  EXPECT_THAT(ask_as(ann, "POST", "/v1/tasks", R"({"unique_key":"k"})").body,
              HasSubstr(R"("created":true)"));
  EXPECT_EQ(ask_as(ann, "PUT", "/v1/xcom/user:ann:k", R"({"value":1})").status, 200);
  EXPECT_EQ(ask_as(ann, "PUT", "/v1/xcom/user:annb:k", R"({"value":1})").status, 403);
  EXPECT_EQ(ask("POST", "/v1/tasks", "{\"depends_on\":[\"bobs\"]}\n",
                {{"Authorization", "Bearer " + ann}, {"Content-Type", "application/x-ndjson"}})
                .status,
            403);
}

TEST_F(Auth, AStreamOfEventsEndsWithItsToken) {
  const auto created = tokens_->create({.scopes = {Scope::kRead}}, TimePoint());
  RawClient client = connect();
  client.send(request("GET", "/v1/events", "", "Authorization: Bearer " + created->token + "\r\n"));
  EXPECT_THAT(client.receive_some(), StartsWith("HTTP/1.1 200"));
  ASSERT_TRUE(tokens_->revoke(created->info.id, TimePoint()));
  std::string rest;
  for (int i = 0; i < 50 && rest.find("0\r\n\r\n") == std::string::npos; ++i) {
    rest += client.receive_some(std::chrono::milliseconds(200));
  }
  EXPECT_THAT(rest, HasSubstr("0\r\n\r\n"));
}

TEST_F(Auth, AClaimOfATokenThatIsLimitedIsItsOwn) {
  const std::string ann = token({.scopes = {Scope::kWork, Scope::kPush}, .user = "ann"});
  const std::string bob = token({.scopes = {Scope::kWork}, .user = "bob"});
  ask_as(ann, "POST", "/v1/tasks", R"({"id":"a"})");
  const HttpAnswer held = ask_as(ann, "POST", "/v1/claims", R"({"claim_id":"c"})");
  EXPECT_THAT(held.body, HasSubstr(R"("id":"a")"));
  EXPECT_EQ(ask_as(bob, "POST", "/v1/claims/c/settle", R"({"all":"finish"})").status, 409);
  EXPECT_EQ(ask_as(bob, "POST", "/v1/claims/c/extend", "{}").status, 409);
  EXPECT_THAT(ask_as(ann, "POST", "/v1/claims/c/settle", R"({"all":"finish"})").body,
              HasSubstr("FINISHED"));
}

TEST_F(Auth, KeysOfDifferentTokensAreDifferent) {
  const std::string ann = token({.scopes = {Scope::kPush}});
  const std::string bob = token({.scopes = {Scope::kPush}});
  for (const std::string& secret : {ann, bob}) {
    const HttpAnswer pushed =
        ask("POST", "/v1/tasks", "{}",
            {{"Authorization", "Bearer " + secret}, {"Idempotency-Key", "k"}});
    EXPECT_EQ(pushed.header("idempotent-replayed"), "");
  }
  EXPECT_EQ(stored(), 2);
}

TEST_F(Auth, TokensAreKeptAsHashesAndComeBack) {
  const std::string secret = token({.scopes = {Scope::kRead}, .name = "for the wall"});
  std::ifstream file(directory_.path() + "/tokens.jsonl");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, testing::Not(HasSubstr(secret)));
  EXPECT_THAT(text, HasSubstr("for the wall"));
  const auto again = Tokens::open(directory_.path() + "/tokens.jsonl");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->caller_of("Bearer " + secret));
  EXPECT_FALSE(again->caller_of("Bearer " + secret + "0"));
}

TEST_F(Auth, ATokenMadeByAnotherProcessCountsSoon) {
  token({.scopes = {Scope::kAdmin}});
  auto other = Tokens::open(directory_.path() + "/tokens.jsonl");
  const auto created = other->create({.scopes = {Scope::kRead}}, TimePoint());
  ASSERT_TRUE(created);
  int status = 0;
  for (int i = 0; i < 200 && status != 200; ++i) {
    status = ask_as(created->token, "GET", "/v1/stats").status;
    if (status != 200) std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  EXPECT_EQ(status, 200);
}

TEST_F(Auth, WhoChangedWhatIsWrittenDownWithoutSecrets) {
  const std::string all = token({.scopes = {Scope::kAdmin}});
  ask_as(all, "PATCH", "/v1/queues/mail", R"({"concurrency":3})");
  ask_as(all, "PUT", "/v1/schedules/s", R"({"every_ms":60000,"task":{"payload":"password"}})");
  ask_as(all, "POST", "/v1/queues/nowhere/nothing", "{}");
  const HttpAnswer made = ask_as(all, "POST", "/v1/tokens", R"({"scopes":["read"]})");
  server_.reset();  // then it is written
  std::ifstream file(directory_.path() + "/audit.log");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, HasSubstr(R"("operation":"patch_queue")"));
  EXPECT_THAT(text, HasSubstr(R"("concurrency":3)"));
  EXPECT_THAT(text, HasSubstr(R"("operation":"put_schedule")"));
  EXPECT_THAT(text, HasSubstr(R"("operation":"create_token")"));
  EXPECT_THAT(text, HasSubstr(tokens_->list().front().id));
  EXPECT_THAT(text, testing::Not(HasSubstr("password")));
  EXPECT_THAT(text, testing::Not(HasSubstr(all)));
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
}

TEST_F(Auth, ListeningElsewhereNeedsAToken) {
  server::ServerSettings elsewhere{.host = "0.0.0.0", .port = 0, .tokens = tokens_.get()};
  const auto refused = server::Server::start(queue_, elsewhere);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("retsu token create"));
  token({.scopes = {Scope::kRead}});
  EXPECT_TRUE(server::Server::start(queue_, elsewhere));
}

TEST_F(Auth, BadTokensAreRefused) {
  for (const char* body :
       {R"({})", R"({"scopes":[]})", R"({"scopes":["root"]})",
        R"({"scopes":["read"],"queues":["a b"]})", R"({"scopes":["read"],"user":"a b"})",
        R"({"scopes":["read"],"usr":"a"})", R"([])", ""}) {
    EXPECT_EQ(post("/v1/tokens", body).status, 400) << body;
  }
  EXPECT_TRUE(tokens_->is_open());
  EXPECT_EQ(ask("DELETE", "/v1/tokens/nobody").status, 404);
}

}  // namespace
}  // namespace retsu
