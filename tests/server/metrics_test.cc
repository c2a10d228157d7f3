#include <regex>

#include "server/server_test.h"

namespace retsu {
namespace {

using testing::HasSubstr;

class Metrics : public ServerTest {
 protected:
  void SetUp() override { start(); }

  double value(const std::string& series) {
    const std::string text = "\n" + get("/metrics").body;
    const auto at = text.find("\n" + series + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + series.size() + 2));
  }
};

TEST_F(Metrics, CountWhatHappens) {
  post("/v1/tasks", R"({"tasks":[{"id":"a","queue":"mail"},{"id":"b","queue":"mail"}]})");
  post("/v1/tasks", R"({"queue":"mail","depends_on":["a"]})");
  post("/v1/claims", R"({"queues":["mail"],"claim_id":"c"})");
  EXPECT_EQ(value(R"(retsu_tasks{queue="mail",state="QUEUED"})"), 1);
  EXPECT_EQ(value(R"(retsu_tasks{queue="mail",state="STARTED"})"), 1);
  EXPECT_EQ(value(R"(retsu_tasks{queue="mail",state="DEFERRED"})"), 1);
  EXPECT_EQ(value(R"(retsu_queue_running{queue="mail"})"), 1);
  EXPECT_EQ(value("retsu_claims"), 1);
  EXPECT_EQ(value("retsu_dependencies"), 1);
  post("/v1/claims/c/settle", R"({"all":"finish"})");
  EXPECT_EQ(value(R"(retsu_task_events_total{queue="mail",event="finished"})"), 1);
  EXPECT_EQ(value(R"(retsu_task_events_total{queue="mail",event="freed"})"), 1);
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
}

TEST_F(Metrics, TellHowLongTasksWaitAndRun) {
  post("/v1/tasks", R"({"queue":"mail"})");
  post("/v1/claims", R"({"queues":["mail"],"claim_id":"c"})");
  post("/v1/claims/c/settle", R"({"all":"finish"})");
  for (const std::string name : {"retsu_task_wait_seconds", "retsu_task_run_seconds"}) {
    EXPECT_EQ(value(name + R"(_bucket{queue="mail",le="+Inf"})"), 1);
    EXPECT_EQ(value(name + R"(_bucket{queue="mail",le="60"})"), 1);
    EXPECT_EQ(value(name + R"(_count{queue="mail"})"), 1);
    EXPECT_LT(value(name + R"(_sum{queue="mail"})"), 60);
  }
}

TEST_F(Metrics, CountTheServersOwnWork) {
  ask("POST", "/v1/tasks", "{}", {{"Idempotency-Key", "k"}});
  ask("POST", "/v1/tasks", "{}", {{"Idempotency-Key", "k"}});
  get("/v1/tasks/nobody");
  EXPECT_EQ(value("retsu_idempotent_requests_total"), 2);
  EXPECT_EQ(value("retsu_idempotent_replays_total"), 1);
  EXPECT_EQ(value(R"(retsu_http_answers_total{status="4xx"})"), 1);
  EXPECT_GE(value(R"(retsu_http_answers_total{status="2xx"})"), 2);
  EXPECT_GE(value("retsu_http_connections"), 1);
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
