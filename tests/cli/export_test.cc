#include <filesystem>

#include "base/json.h"
#include "cli/run_program.h"

namespace retsu {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class ExportTest : public CliTest {
 protected:
  // The ids of a file of lines.
  std::vector<std::string> ids(const std::string& lines) {
    std::vector<std::string> found;
    for (const std::string& line : lines_of(lines)) found.push_back(value_in(line, "id"));
    return found;
  }
  std::string state_in_copy(const std::string& id) {
    return value_in(done({"show", id, "--at", "copy", "--json"}), "state");
  }
  // Runs the oldest task that is ready and ends it in that way.
  void run_one(const std::vector<std::string>& outcome) {
    done({"claim", "--claim-id", "c"});
    std::vector<std::string> settle = {"settle", "c", "--all"};
    settle.insert(settle.end(), outcome.begin(), outcome.end());
    done(settle);
  }
};

TEST_F(ExportTest, ATaskArrivesAsItsPusherDescribedIt) {
  done({"push", "--id", "first"});
  const std::string line =
      R"({"id":"a","queue":"mail","user":"ann","type":"send","priority":5,"payload":{"to":"列"},)"
      R"("run_at":"2099-01-01T00:00:00.000Z","depends_on":[{"id":"first","when":"settled"}],)"
      R"("on_dependency_failure":"cancel","on_dependency_cancel":"cancel","unique_key":"k",)"
      R"("placement":"front","timeout_ms":5000,"max_attempts":9,)"
      R"("retry":{"kind":"fixed","base_ms":7,"factor":2.0,"max_ms":300000,"jitter":0.0,)"
      R"("max_attempts":3},"expires_at":"2099-02-01T00:00:00.000Z","tags":["x","y"],"trace":"t"})";
  done({"push", "--file", "-"}, line + "\n");
  EXPECT_EQ(done({"export", "all.ndjson"}), "all.ndjson holds 2 tasks\n");
  EXPECT_EQ(done({"import", "all.ndjson", "--at", "copy"}),
            "2 pushed, 0 existing, 0 skipped, 0 refused\n");
  const std::string there = done({"show", "a", "--at", "copy", "--json"});
  for (const char* name :
       {"queue", "user", "type", "priority", "payload", "run_at", "depends_on",
        "on_dependency_failure", "on_dependency_cancel", "unique_key", "placement", "timeout_ms",
        "max_attempts", "retry", "expires_at", "tags", "trace"}) {
    EXPECT_EQ(value_in(there, name), field("a", name)) << name;
    EXPECT_NE(value_in(there, name), "") << name;
  }
}

TEST_F(ExportTest, TheOldestComeFirstOverManyPages) {
  std::string lines;
  std::vector<std::string> expected;
  for (int i = 0; i < 2'300; ++i) {
    expected.push_back("t" + std::to_string(i));
    lines += "{\"id\":\"" + expected.back() + "\"}\n";
  }
  done({"push", "--file", "-"}, lines);
  EXPECT_EQ(ids(done({"export"})), expected);
  done({"export", "all.ndjson"});
  EXPECT_EQ(ids(read("all.ndjson")), expected);
  EXPECT_EQ(done({"import", "all.ndjson", "--at", "copy", "--json"}),
            "{\"pushed\":2300,\"existing\":0,\"skipped\":0,\"refused\":0}\n");
  EXPECT_EQ(ids(done({"export", "--at", "copy"})), expected);
  EXPECT_EQ(done({"import", "-", "--at", "copy"}, read("all.ndjson")),
            "0 pushed, 2300 existing, 0 skipped, 0 refused\n");
}

TEST_F(ExportTest, AFilterSaysWhich) {
  done({"push", "--id", "a", "--queue", "mail"});
  done({"push", "--id", "b"});
  done({"push", "--id", "c", "--queue", "mail", "--delay", "1h"});
  EXPECT_THAT(ids(done({"export", "--queue", "mail"})), ElementsAre("a", "c"));
  EXPECT_EQ(done({"export", "few.ndjson", "--state", "scheduled", "--json"}),
            "{\"file\":\"few.ndjson\",\"tasks\":1}\n");
  EXPECT_THAT(ids(read("few.ndjson")), ElementsAre("c"));
  EXPECT_EQ(retsu({"export", "--state", "DONE"}).status, 2);
}

TEST_F(ExportTest, AFileIsWholeOrAsItWas) {
  write("all.ndjson", "old\n");
  EXPECT_EQ(retsu({"export", "all.ndjson"}).status, 5);  // there is no store
  done({"push", "--id", "a"});
  EXPECT_EQ(retsu({"export", "all.ndjson", "--at", "http://127.0.0.1:9"}).status, 5);
  std::filesystem::create_symlink("/dev/full", path("all.ndjson.part"));
  EXPECT_EQ(retsu({"export", "all.ndjson"}).status, 1);
  EXPECT_EQ(read("all.ndjson"), "old\n");
  EXPECT_EQ(retsu({"export", "nowhere/all.ndjson"}).status, 2);
  EXPECT_EQ(retsu({"export", "store"}).status, 2);
  EXPECT_EQ(shell("retsu export > /dev/full").status, 1);
  done({"export", "all.ndjson"});
  EXPECT_THAT(ids(read("all.ndjson")), ElementsAre("a"));
  for (const auto& entry : std::filesystem::directory_iterator(path(""))) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(name == "all.ndjson" || name == "store" || name.starts_with(".in") ||
                name.starts_with(".out") || name.starts_with(".err"))
        << name << " is left behind";
  }
}

TEST_F(ExportTest, WhatHasEndedIsSkippedAndNotWaitedForAgain) {
  done({"push", "--id", "extract"});
  done({"push", "--id", "load", "--after", "extract"});
  done({"push", "--id", "report", "--after", "load"});
  run_one({"--outcome", "finish", "--result", "1"});
  EXPECT_EQ(shell("retsu export | retsu import - --at copy").out,
            "2 pushed, 0 existing, 1 skipped, 0 refused\n");
  EXPECT_EQ(state_in_copy("load"), "QUEUED");
  EXPECT_EQ(state_in_copy("report"), "DEFERRED");
}

TEST_F(ExportTest, WhatWaitedForAFailedTaskWaitsUntilThatIsPushedAgain) {
  done({"push", "--id", "extract", "--max-attempts", "1"});
  done({"push", "--id", "load", "--after", "extract"});
  run_one({"--outcome", "fail", "--error", "x"});
  done({"export", "all.ndjson"});
  EXPECT_EQ(done({"import", "all.ndjson", "--at", "copy"}),
            "1 pushed, 0 existing, 1 skipped, 0 refused\n");
  EXPECT_EQ(state_in_copy("load"), "DEFERRED");
  EXPECT_THAT(done({"why", "load", "--at", "copy"}), HasSubstr("extract"));
  EXPECT_EQ(done({"import", "all.ndjson", "--at", "copy", "--all"}),
            "1 pushed, 1 existing, 0 skipped, 0 refused\n");
  done({"claim", "--at", "copy", "--claim-id", "c"});
  done({"settle", "--at", "copy", "c", "extract", "--outcome", "finish"});
  EXPECT_EQ(state_in_copy("load"), "QUEUED");
}

TEST_F(ExportTest, WithAllWhatHasEndedRunsAgainInItsOrder) {
  done({"push", "--id", "extract"});
  done({"push", "--id", "load", "--after", "extract"});
  run_one({"--outcome", "finish"});
  run_one({"--outcome", "finish"});
  done({"export", "all.ndjson"});
  done({"export", "load.ndjson", "--q", "load"});
  EXPECT_EQ(done({"import", "all.ndjson", "--at", "copy", "--all"}),
            "2 pushed, 0 existing, 0 skipped, 0 refused\n");
  EXPECT_EQ(state_in_copy("extract"), "QUEUED");
  EXPECT_EQ(state_in_copy("load"), "DEFERRED");
  done({"import", "load.ndjson", "--at", "copy2", "--all"});
  EXPECT_EQ(value_in(done({"show", "load", "--at", "copy2", "--json"}), "state"), "QUEUED");
}

// A queue in use is not exported at one moment: its newest tasks are looked at first.
TEST_F(ExportTest, ADependencyThatEndedMeanwhileIsNotWaitedFor) {
  const auto task = [](const std::string& id, const std::string& more) {
    return R"({"id":")" + id + R"(","queue":"default","user":"ann",)" + more + "}\n";
  };
  const std::string waits = R"("state":"DEFERRED","depends_on":["t"],"blocked_by":["t"])";
  const std::pair<std::string, std::string> kinds[] = {
      {task("t", R"("state":"FINISHED")") + task("d", waits), "QUEUED"},
      {task("t", R"("state":"CANCELED")") + task("d", waits), "QUEUED"},
      {task("t", R"("state":"FAILED")") + task("d", waits), "DEFERRED"},
      {task("t", R"("state":"FAILED")") + task("d", waits + R"(,"on_dependency_failure":"run")"),
       "QUEUED"},
      {task("t", R"("state":"FAILED")") +
           task("d", R"("state":"DEFERRED","depends_on":[{"id":"t","when":"settled"}],)"
                     R"("blocked_by":["t"])"),
       "QUEUED"},
      {task("d", waits) + task("t", R"("state":"QUEUED")"), "DEFERRED"}};  // such as a child
  for (const auto& [lines, state] : kinds) {
    std::filesystem::remove_all(path("copy"));
    EXPECT_THAT(done({"import", "-", "--at", "copy"}, lines), HasSubstr(" 0 refused"));
    EXPECT_EQ(state_in_copy("d"), state) << lines;
  }
}

TEST_F(ExportTest, ALineThatIsWrongIsToldAndTheOthersArePushed) {
  const Ran ran = retsu({"import", "-"},
                        R"({"id":"a","queue":"default","user":"ann","state":"QUEUED"}
nonsense
{"id":"b","queue":"default","user":"ann","usr":"ben"}
{"queue":"default","user":"ann"}

{"id":"c","queue":"no such","user":"ann"}
{"id":"late","queue":"default","user":"ann","expires_at":"2001-01-01T00:00:00.000Z"}
{"id":"d","queue":"default","user":"ann"}
)");
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "2 pushed, 0 existing, 0 skipped, 5 refused\n");
  EXPECT_THAT(ran.err, AllOf(HasSubstr("line 2: "), HasSubstr("line 3: usr"),
                             HasSubstr("line 4: id: is missing"), HasSubstr("line 6: "),
                             HasSubstr("line 7: ")));
  EXPECT_EQ(tasks(), 2U);
  EXPECT_EQ(retsu({"import", "none.ndjson"}).status, 2);
  EXPECT_EQ(retsu({"import"}).status, 2);
}

TEST_F(ExportTest, OfNothingIsNothing) {
  done({"push", "--id", "a"});
  EXPECT_EQ(done({"export", "--queue", "empty"}), "");
  EXPECT_EQ(done({"export", "--queue", "empty", "--json"}), "");
}

}  // namespace
}  // namespace retsu
