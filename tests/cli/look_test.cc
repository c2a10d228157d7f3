#include <unistd.h>

#include "base/json.h"
#include "cli/run_program.h"

namespace retsu {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class LookTest : public CliTest {
 protected:
  // Three tasks that depend on each other, one that has failed, one of another queue.
  void fill() {
    done({"push", "--file", "-"},
         R"({"id":"extract","user":"ann","type":"etl","tags":["nightly"]}
{"id":"load","user":"ann","depends_on":["extract"]}
{"id":"report","user":"ben","depends_on":["load",{"id":"extract","when":"settled"}]}
{"id":"broken","queue":"mail","user":"ben","payload":{"to":"carl"},"max_attempts":1}
{"id":"later","queue":"mail","user":"carl","run_at":"2099-01-01T00:00:00Z","unique_key":"k"}
)");
    done({"claim", "--queue", "mail", "--claim-id", "c", "--worker", "w1"});
    done({"settle", "c", "broken", "--outcome", "fail", "--error", "no answer"});
  }
  std::vector<std::string> ids(std::vector<std::string> filter) {
    filter.insert(filter.begin(), "tasks");
    filter.insert(filter.end(), "--json");
    std::vector<std::string> found;
    for (const std::string& line : lines_of(done(filter))) found.push_back(value_in(line, "id"));
    return found;
  }
};

TEST_F(LookTest, EveryFilterOfTheList) {
  fill();
  EXPECT_THAT(ids({}), ElementsAre("later", "broken", "report", "load", "extract"));
  EXPECT_THAT(ids({"--state", "FAILED"}), ElementsAre("broken"));
  EXPECT_THAT(ids({"--state", "deferred"}), ElementsAre("report", "load"));
  EXPECT_THAT(ids({"--queue", "mail"}), ElementsAre("later", "broken"));
  EXPECT_THAT(ids({"--user", "ben"}), ElementsAre("broken", "report"));
  EXPECT_THAT(ids({"--type", "etl"}), ElementsAre("extract"));
  EXPECT_THAT(ids({"--tag", "nightly"}), ElementsAre("extract"));
  EXPECT_THAT(ids({"--unique", "k"}), ElementsAre("later"));
  EXPECT_THAT(ids({"--waits-for", "extract"}), ElementsAre("report", "load"));
  EXPECT_THAT(ids({"--q", "carl"}), ElementsAre("broken"));
  EXPECT_THAT(ids({"--since", "1h"}), SizeIs(5));
  EXPECT_THAT(ids({"--until", "1h"}), IsEmpty());
  EXPECT_THAT(ids({"--until", "2099-01-01T00:00:00Z", "--queue", "mail"}), SizeIs(2));
  EXPECT_EQ(retsu({"tasks", "--state", "DONE"}).status, 2);
  EXPECT_EQ(retsu({"tasks", "--since", "yesterday"}).status, 2);
}

TEST_F(LookTest, ALimitIsToldAndAllGoesOverPages) {
  std::string lines;
  for (int i = 0; i < 2'200; ++i) lines += "{}\n";
  done({"push", "--file", "-"}, lines);
  const Ran some = retsu({"tasks", "--limit", "3"});
  EXPECT_THAT(lines_of(some.out), SizeIs(4));  // with its headline
  EXPECT_THAT(some.err, HasSubstr("there are more"));
  EXPECT_THAT(lines_of(done({"tasks", "--limit", "1500", "--json"})), SizeIs(1'500));
  const Ran all = retsu({"tasks", "--all", "--json"});
  EXPECT_THAT(lines_of(all.out), SizeIs(2'200));
  EXPECT_EQ(all.err, "");
}

TEST_F(LookTest, AllThatIsPrintedWithJsonIsJson) {
  fill();
  const std::vector<std::vector<std::string>> commands = {{"tasks"},
                                                          {"show", "load"},
                                                          {"why", "load"},
                                                          {"graph", "load"},
                                                          {"queues"},
                                                          {"queues", "mail"},
                                                          {"users"},
                                                          {"stats"},
                                                          {"dead"},
                                                          {"dead", "--group", "error"},
                                                          {"claims"},
                                                          {"claim"},
                                                          {"verify"},
                                                          {"version"},
                                                          {"dead", "purge", "--dry-run"},
                                                          {"pause", "mail"},
                                                          {"queue", "set", "mail", "lease_ms=5m"},
                                                          {"release", "--older-than", "0"}};
  for (std::vector<std::string> command : commands) {
    command.emplace_back("--json");
    const std::string out = done(command);
    for (const std::string& line : lines_of(out)) {
      EXPECT_TRUE(is_json(line)) << line;
      EXPECT_THAT(line, StartsWith("{"));
    }
    EXPECT_EQ(out.empty(), command.front() == "claims") << command.front();
  }
  const Ran refused = retsu({"--json", "show", "nobody"});
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(value_in(refused.err, "code"), "not_found");
  EXPECT_TRUE(is_json(refused.err)) << refused.err;
  EXPECT_TRUE(is_json(retsu({"frob", "--json"}).err));
}

TEST_F(LookTest, ATaskIsToldInFull) {
  fill();
  const std::string shown = done({"show", "broken"});
  EXPECT_THAT(shown, HasSubstr("FAILED"));
  EXPECT_THAT(shown, HasSubstr(R"({"to":"carl"})"));
  EXPECT_THAT(shown, HasSubstr("no answer"));
  EXPECT_THAT(shown, HasSubstr("1 of 1"));
  EXPECT_THAT(shown, HasSubstr("w1"));
  EXPECT_THAT(done({"show", "load"}), HasSubstr("extract, still open"));
}

TEST_F(LookTest, WaitingForATaskThatHasEndedCostsNothingAndForOthersEnds) {
  fill();
  EXPECT_THAT(done({"show", "broken", "--wait", "1h"}), HasSubstr("FAILED"));
  EXPECT_THAT(done({"show", "load", "--wait", "20ms"}), HasSubstr("DEFERRED"));
}

TEST_F(LookTest, WhyNamesTheCause) {
  fill();
  EXPECT_THAT(done({"why", "load"}), HasSubstr("waits for extract (QUEUED)"));
  EXPECT_THAT(done({"why", "later"}), HasSubstr("2099-01-01T00:00:00.000Z"));
  EXPECT_THAT(done({"why", "broken"}), HasSubstr("FAILED"));
}

TEST_F(LookTest, AGraphIsDrawnWithStates) {
  fill();
  EXPECT_EQ(done({"graph", "load"}),
            "extract QUEUED etl\n"
            "├─ load DEFERRED ◀\n"
            "│  └─ report DEFERRED\n"
            "└─ report DEFERRED (when settled) (see above)\n");
  done({"push", "--id", "x", "--after", "unborn", "--allow-missing"});
  EXPECT_EQ(done({"graph", "x"}), "unborn not pushed yet\n└─ x DEFERRED ◀\n");
}

TEST_F(LookTest, QueuesUsersAndCountersAreListed) {
  fill();
  EXPECT_THAT(done({"queues"}),
              AllOf(HasSubstr("QUEUE "), HasSubstr("default"), HasSubstr("mail")));
  EXPECT_THAT(done({"queues", "mail"}), HasSubstr("1 FAILED"));
  EXPECT_EQ(retsu({"queues", "nope"}).status, 3);
  EXPECT_THAT(lines_of(done({"users", "--queue", "mail", "--json"})), SizeIs(2));
  EXPECT_THAT(done({"stats"}), HasSubstr("FAILED"));
  EXPECT_EQ(value_in(value_in(done({"stats", "--json"}), "tasks"), "FAILED"), "1");
}

TEST_F(LookTest, ColumnsAreAlignedWhateverTheLetters) {
  done({"push", "--id", "a", "--type", "列に並ぶ", "--text", "x"});
  done({"push", "--id", "b", "--type", "café", "--text", "x"});
  done({"push", "--id", "c", "--type", "plain", "--text", "x"});
  const auto rows = lines_of(done({"tasks"}));
  ASSERT_THAT(rows, SizeIs(4));
  // Priority ends the same number of columns after the type began: 8, 4 and 5 wide.
  EXPECT_THAT(rows[3], HasSubstr("列に並ぶ    3"));
  EXPECT_THAT(rows[2], HasSubstr("café        3"));
  EXPECT_THAT(rows[1], HasSubstr("plain       3"));
}

TEST_F(LookTest, ControlCharactersOfATaskAreShownNotObeyed) {
  done({"push", "--id", "a", R"("\u001b[2J\u009b31m\nnext")"});
  done({"claim", "--claim-id", "c"});
  done({"settle", "c", "a", "--outcome", "fail", "--no-retry", "--error", "\x1b[2Jgone\nnext"});
  for (const std::string command : {"tasks", "show a", "dead", "dead --group error"}) {
    const Ran ran = shell("retsu " + command);
    EXPECT_THAT(ran.out, Not(HasSubstr("\x1b"))) << command;
    EXPECT_THAT(ran.out, HasSubstr("\\x1b[2Jgone\\nnext")) << command;
  }
}

TEST_F(LookTest, ColourIsForTerminalsThatWantIt) {
  fill();
  EXPECT_THAT(done({"tasks"}), Not(HasSubstr("\x1b[")));
  const std::string on_terminal = "TERM=xterm script -qec 'stty cols 120; retsu tasks' /dev/null";
  EXPECT_THAT(shell(on_terminal).out, HasSubstr("\x1b[31mFAILED\x1b[0m"));
  EXPECT_THAT(shell(on_terminal).out, Not(HasSubstr("Z  ")));  // ages instead of moments
  EXPECT_THAT(shell("NO_COLOR=1 " + on_terminal).out, Not(HasSubstr("\x1b[31m")));
  EXPECT_THAT(shell("TERM=dumb script -qec 'retsu tasks' /dev/null").out, Not(HasSubstr("\x1b[")));
}

TEST_F(LookTest, AReaderWhoGoesIsNoFailure) {
  std::string lines;
  for (int i = 0; i < 3'000; ++i) lines += "{\"payload\":\"" + std::string(200, 'x') + "\"}\n";
  write("tasks.ndjson", lines);
  const Ran pushed = shell("retsu push --file tasks.ndjson | head -n 1; echo ${PIPESTATUS[0]}");
  EXPECT_EQ(lines_of(pushed.out).at(1), "0");
  EXPECT_EQ(pushed.err, "");
  EXPECT_EQ(tasks(), 3'000U);  // who only looks at the first id still wants them all
  const Ran ran = shell("retsu tasks --all --json | head -n 1 | wc -l; echo ${PIPESTATUS[0]}");
  EXPECT_THAT(lines_of(ran.out), ElementsAre("1", "0"));
  EXPECT_EQ(ran.err, "");
}

TEST_F(LookTest, WhatCannotBePrintedIsAFailure) {
  done({"push"});
  const Ran ran = shell("retsu tasks > /dev/full");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("could not be printed"));
}

}  // namespace
}  // namespace retsu
