#include <regex>

#include "server/server_test.h"

namespace retsu {
namespace {

using testing::HasSubstr;

class Metrics : public ServerTest {
 protected:
  void SetUp() override { start(); }
};

TEST_F(Metrics, CountWhatHappens) {
  post("/v1/tasks", R"({"tasks":[{"id":"a","queue":"mail"},{"id":"b","queue":"mail"}]})");
  post("/v1/tasks", R"({"queue":"mail","depends_on":["a"]})");
  post("/v1/claims", R"({"queues":["mail"],"claim_id":"c"})");
  EXPECT_EQ(metric(R"(retsu_tasks{queue="mail",state="QUEUED"})"), 1);
  EXPECT_EQ(metric(R"(retsu_tasks{queue="mail",state="STARTED"})"), 1);
  EXPECT_EQ(metric(R"(retsu_tasks{queue="mail",state="DEFERRED"})"), 1);
  EXPECT_EQ(metric(R"(retsu_queue_running{queue="mail"})"), 1);
  EXPECT_EQ(metric("retsu_claims"), 1);
  EXPECT_EQ(metric("retsu_dependencies"), 1);
  post("/v1/claims/c/settle", R"({"all":"finish"})");
  EXPECT_EQ(metric(R"(retsu_task_events_total{queue="mail",event="finished"})"), 1);
  EXPECT_EQ(metric(R"(retsu_task_events_total{queue="mail",event="freed"})"), 1);
  EXPECT_GT(metric("process_resident_memory_bytes"), 1e6);
}

TEST_F(Metrics, TellHowLongTasksWaitAndRun) {
  post("/v1/tasks", R"({"queue":"mail"})");
  post("/v1/claims", R"({"queues":["mail"],"claim_id":"c"})");
  post("/v1/claims/c/settle", R"({"all":"finish"})");
  for (const std::string name : {"retsu_task_wait_seconds", "retsu_task_run_seconds"}) {
    EXPECT_EQ(metric(name + R"(_bucket{queue="mail",le="+Inf"})"), 1);
    EXPECT_EQ(metric(name + R"(_bucket{queue="mail",le="60"})"), 1);
    EXPECT_EQ(metric(name + R"(_count{queue="mail"})"), 1);
    EXPECT_LT(metric(name + R"(_sum{queue="mail"})"), 60);
  }
}

TEST_F(Metrics, CountTheServersOwnWork) {
  ask("POST", "/v1/tasks", "{}", {{"Idempotency-Key", "k"}});
  ask("POST", "/v1/tasks", "{}", {{"Idempotency-Key", "k"}});
  get("/v1/tasks/nobody");
  EXPECT_EQ(metric("retsu_idempotent_requests_total"), 2);
  EXPECT_EQ(metric("retsu_idempotent_replays_total"), 1);
  EXPECT_EQ(metric(R"(retsu_http_answers_total{status="4xx"})"), 1);
  EXPECT_GE(metric(R"(retsu_http_answers_total{status="2xx"})"), 2);
  EXPECT_GE(metric("retsu_http_connections"), 1);
}

TEST_F(Metrics, CountWhatWasSentAgain) {
  const auto push = [&](const std::string& attempt, const std::string& key,
                        const std::string& body = "{}") {
    std::vector<std::pair<std::string, std::string>> headers{{"Retsu-Attempt", attempt}};
    if (!key.empty()) headers.emplace_back("Idempotency-Key", key);
    return ask("POST", "/v1/tasks", body, headers).status;
  };
  const auto counted = [&](const std::string& answer) {
    return metric("retsu_retried_requests_total{answer=\"" + answer + "\"}");
  };
  EXPECT_EQ(counted("created"), 0);
  EXPECT_EQ(push("2", "a"), 201);
  EXPECT_EQ(counted("created"), 1);
  EXPECT_EQ(push("3", "a"), 201);
  EXPECT_EQ(push("1000000", "a"), 201);
  EXPECT_EQ(counted("replayed"), 2);
  EXPECT_EQ(push("2", "a", R"({"payload":1})"), 409);
  EXPECT_EQ(push("2", "", R"({"payloat":1})"), 400);
  EXPECT_EQ(counted("refused"), 2);
  EXPECT_EQ(metric("retsu_idempotency_mismatches_total"), 1);
  // What is no such number says nothing, and loses nothing.
  for (const char* other :
       {"1", "0", "-2", "1000001", "2.5", "two", "2 3", "99999999999999999999"}) {
    EXPECT_EQ(push(other, ""), 201) << other;
  }
  RawClient twice = connect();
  EXPECT_THAT(
      twice.ask(request("POST", "/v1/tasks", "{}", "Retsu-Attempt: one\r\nRetsu-Attempt: 2\r\n")),
      testing::StartsWith("HTTP/1.1 201"));
  EXPECT_EQ(counted("created"), 1);
  EXPECT_EQ(counted("replayed"), 2);
  EXPECT_EQ(counted("refused"), 2);
}

TEST_F(Metrics, AreWrittenAsTheyMustBe) {
  post("/v1/tasks", R"({"queue":"a.b-c"})");
  const HttpAnswer answer = get("/metrics");
  EXPECT_THAT(std::string(answer.header("content-type")), HasSubstr("text/plain"));
  const std::regex line(
      R"(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [-0-9.e+]+)");
  std::istringstream lines(answer.body);
  std::set<std::string> begun;
  for (std::string text; std::getline(lines, text);) {
    EXPECT_TRUE(std::regex_match(text, line)) << text;
    if (text.starts_with("# TYPE ")) {
      EXPECT_TRUE(begun.insert(text).second) << text;
    }
  }
  EXPECT_GT(begun.size(), 15U);
}

}  // namespace
}  // namespace retsu
