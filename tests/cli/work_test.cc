#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "cli/run_program.h"
#include "patience.h"

namespace retsu {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

using WorkTest = CliTest;

TEST_F(WorkTest, ATaskIsClaimedAndFinished) {
  done({"push", "--id", "a", "--queue", "mail", "{\"n\":1}"});
  const std::string claim = done({"claim", "--queue", "mail", "--worker", "w", "--json"});
  EXPECT_EQ(value_in(claim, "payload"), "{\"n\":1}");
  EXPECT_EQ(value_in(claim, "remaining"), "0");
  const std::string id = value_in(claim, "claim_id");
  EXPECT_EQ(done({"settle", id, "a", "--outcome", "finish", "--result", "{\"ok\": true}"}),
            "a FINISHED\n");
  EXPECT_EQ(field("a", "result"), "{\"ok\":true}");
  EXPECT_EQ(field("a", "worker"), "w");
}

TEST_F(WorkTest, EveryOptionOfAClaimArrives) {
  done({"push", "--file", "-"},
       R"({"id":"a","queue":"one","user":"ann"}
{"id":"b","queue":"two","user":"ben"}
{"id":"c","queue":"two","user":"carl"}
)");
  const std::vector<std::string> claim = {
      "claim", "--queue", "one", "--queue", "two", "--user",     "nobody", "--steal",
      "ben",   "--max",   "5",   "--lease", "0",   "--claim-id", "mine",   "--json"};
  const std::string first = done(claim);
  EXPECT_EQ(value_in(first, "id"), "b");
  EXPECT_EQ(value_in(first, "claim_id"), "mine");
  EXPECT_EQ(value_in(first, "lease_until"), "");
  EXPECT_EQ(done(claim), first);  // asked again, the same
  EXPECT_EQ(value_in(done({"claims", "--json"}), "tasks"), R"(["b"])");
  EXPECT_THAT(done({"claim", "--queue", "three", "--wait", "20ms"}), HasSubstr("nothing to claim"));
}

TEST_F(WorkTest, EveryOutcome) {
  std::string lines;
  for (const char* id : {"a", "b", "c", "d"}) lines += "{\"id\":\"" + std::string(id) + "\"}\n";
  done({"push", "--file", "-"}, lines);
  done({"claim", "--max", "4", "--claim-id", "c1"});
  EXPECT_EQ(done({"settle", "c1", "a", "--outcome", "fail", "--error", "x", "--retry-after", "1h"}),
            "a SCHEDULED\n");
  EXPECT_EQ(done({"settle", "c1", "b", "--outcome", "fail", "--error", "y", "--no-retry"}),
            "b FAILED\n");
  EXPECT_EQ(done({"settle", "c1", "c", "--outcome", "release"}), "c QUEUED\n");
  EXPECT_EQ(done({"settle", "c1", "d", "--outcome", "throttle", "--retry-after", "1h"}),
            "d QUEUED\n");
  EXPECT_EQ(field("b", "reason"), "rejected");
  EXPECT_THAT(done({"why", "d"}), HasSubstr("throttled"));
  EXPECT_THAT(done({"claim"}), HasSubstr("nothing to claim before"));
}

TEST_F(WorkTest, AWholeClaimIsSettledAlsoWithAnError) {
  done({"push", "--file", "-"}, "{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
  done({"claim", "--max", "2", "--claim-id", "c1"});
  EXPECT_THAT(lines_of(done({"settle", "c1", "--all", "--outcome", "fail", "--error", "both",
                             "--no-retry", "--json"})),
              SizeIs(2));
  EXPECT_EQ(field("a", "error"), "both");
  done({"retry", "a", "b"});
  done({"claim", "--max", "2", "--claim-id", "c2"});
  EXPECT_EQ(done({"settle", "c2", "--all", "--outcome", "finish"}), "a FINISHED\nb FINISHED\n");
}

TEST_F(WorkTest, AFileOfResultsMayAwaitChildren) {
  done({"push", "--file", "-"}, "{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
  done({"claim", "--max", "2", "--claim-id", "c1"});
  write("results.json", R"([{"id":"a","outcome":"await","children":[{"id":"child"}]},
                            {"id":"b","outcome":"finish","result":7}])");
  EXPECT_EQ(done({"settle", "c1", "--file", "results.json"}), "a DEFERRED\nb FINISHED\n");
  EXPECT_EQ(field("child", "state"), "QUEUED");
}

TEST_F(WorkTest, WhatIsNotTheClaimsIsRefusedTaskByTask) {
  done({"push", "--file", "-"}, "{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
  done({"claim", "--claim-id", "c1"});
  const Ran ran = retsu({"settle", "c1", "a", "b", "nobody", "--outcome", "finish"});
  EXPECT_EQ(ran.status, 4);
  EXPECT_EQ(ran.out, "a FINISHED\n");
  EXPECT_THAT(ran.err, HasSubstr("retsu: stale_claim: b: "));
  EXPECT_THAT(ran.err, HasSubstr("retsu: not_found: nobody: "));
  EXPECT_EQ(retsu({"settle", "unknown", "--all", "--outcome", "finish"}).status, 4);
}

TEST_F(WorkTest, BadInputOfEachKindChangesNothing) {
  done({"push", "--id", "a"});
  done({"claim", "--claim-id", "c1"});
  write("bad.json", "[{\"id\":\"a\"}]");
  const std::vector<std::vector<std::string>> kinds = {
      {"settle", "c1"},
      {"settle", "c1", "a"},
      {"settle", "c1", "a", "--outcome", "done"},
      {"settle", "c1", "a", "--outcome", "await"},
      {"settle", "c1", "a", "--outcome", "finish", "--result", "{"},
      {"settle", "c1", "a", "--outcome", "fail", "--retry-after", "soon"},
      {"settle", "c1", "a", "--all", "--outcome", "finish"},
      {"settle", "c1", "--file", "bad.json"},
      {"settle", "c1", "--file", "nowhere.json"},
      {"settle", "c1", "--file", "bad.json", "--outcome", "finish"},
      {"settle"},
      {"claim", "--max", "0"},
      {"claim", "--max", "1001"},
      {"claim", "--lease", "forever"},
      {"claim", "--lease", "1ms"},
      {"claim", "--wait", "1h"},
      {"claim", "--queue", "a b"},
      {"release"},
      {"release", "c1", "--older-than", "1h"},
      {"release", "--older-than", "x"}};
  for (const auto& arguments : kinds) {
    const Ran ran = retsu(arguments);
    EXPECT_EQ(ran.status, 2) << testing::PrintToString(arguments) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr("retsu: "));
  }
  EXPECT_EQ(field("a", "state"), "STARTED");
}

TEST_F(WorkTest, ACommandRunsEachTask) {
  done({"push", "--file", "-"},
       R"({"id":"a","queue":"sums","payload":{"n":1}}
{"id":"b","queue":"sums","payload":{"n":2}}
)");
  const std::string lines =
      done({"work", "--queue", "sums", "--concurrency", "2", "--until-empty", "--name", "me",
            "--json", "--", "sh", "-c", "cat; [ $RETSU_TASK_ID = a ] || exit 65"});
  EXPECT_THAT(lines, HasSubstr(R"({"id":"a","queue":"sums","user":"anonymous","outcome":"finish",)"
                               R"("state":"FINISHED","took_ms":)"));
  EXPECT_THAT(lines, HasSubstr(R"("outcome":"fail","state":"FAILED")"));
  EXPECT_EQ(field("a", "result"), R"({"n":1})");
  EXPECT_EQ(field("a", "worker"), "me");
  EXPECT_EQ(field("b", "error"), "exit 65");
}

TEST_F(WorkTest, ASignalLetsWhatRunsFinishAndASecondOneGivesItBack) {
  for (const int signals : {1, 2}) {
    const std::string id = "t" + std::to_string(signals);
    done({"push", "--id", id});
    const std::string running = path("running" + id);
    const std::string line =
        "touch " + running + "; while [ ! -e " + path("go") + id + " ]; do sleep 0.02; done";
    const pid_t worker = start({"work", "--", "sh", "-c", line});
    EXPECT_TRUE(succeeds_in_the_end([&] { return ::access(running.c_str(), F_OK) == 0; }));
    ::kill(worker, SIGTERM);
    EXPECT_TRUE(succeeds_in_the_end(
        [&] { return read(".started_err").find("finishing") != std::string::npos; }));
    signals == 1 ? write("go" + id, "") : void(::kill(worker, SIGTERM));
    int status = -1;
    ::waitpid(worker, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(field(id, "state"), signals == 1 ? "FINISHED" : "QUEUED");
  }
}

TEST_F(WorkTest, AWorkerThatCannotWorkSaysWhy) {
  done({"push"});
  const std::vector<std::vector<std::string>> kinds = {{"work"},
                                                       {"work", "--http", "--", "true"},
                                                       {"work", "--concurrency", "0", "--", "true"},
                                                       {"work", "--lease", "10ms", "--", "true"},
                                                       {"work", "--grace", "soon", "--", "true"},
                                                       {"work", "--patience", "-1", "--", "true"},
                                                       {"work", "--grace", "8d", "--", "true"},
                                                       {"work", "--", "/tmp"},
                                                       {"work", "--", "no-such-command"},
                                                       {"work", "--queue", "a b", "--", "true"}};
  for (const auto& arguments : kinds) {
    const Ran ran = retsu(arguments);
    EXPECT_EQ(ran.status, 2) << testing::PrintToString(arguments) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("retsu: "));
  }
}

TEST_F(WorkTest, ClaimsAreReleased) {
  done({"push", "--file", "-"}, "{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
  done({"claim", "--claim-id", "c1"});
  done({"claim", "--claim-id", "c2"});
  EXPECT_EQ(done({"release", "c1"}), "1 put back\n");
  EXPECT_EQ(done({"release", "--older-than", "1h"}), "0 put back\n");
  EXPECT_EQ(done({"release", "--older-than", "0"}), "1 put back\n");
  EXPECT_EQ(done({"claims"}), "");
}

}  // namespace
}  // namespace retsu
