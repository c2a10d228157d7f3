#include "cli/run_program.h"

namespace retsu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

using PushTest = CliTest;

TEST_F(PushTest, PrintsTheIdAndStoresTheTask) {
  const std::string id = lines_of(done({"push", R"({"to":  "bob"})"})).at(0);
  EXPECT_EQ(field(id, "payload"), R"({"to":"bob"})");
  EXPECT_EQ(field(id, "queue"), "default");
  EXPECT_EQ(field(id, "user"), "anonymous");
  EXPECT_EQ(field(id, "state"), "QUEUED");
}

TEST_F(PushTest, EveryOptionArrives) {
  done({"push", "--id", "first"});
  done({"push", "--id", "last", "--on-cancel", "cancel"});
  done({"push",
        "--queue",
        "mail",
        "--user",
        "ann",
        "--type",
        "send",
        "--id",
        "a",
        "--priority",
        "high",
        "--after",
        "first",
        "--after",
        "last",
        "--when",
        "settled",
        "--on-failure",
        "run",
        "--on-cancel",
        "cancel",
        "--unique",
        "key",
        "--front",
        "--tag",
        "[x,y]",
        "--tag",
        "z",
        "--timeout",
        "5m",
        "--max-attempts",
        "7",
        "--expires",
        "2h",
        "--trace",
        "00-abc",
        "[1,2]"});
  const std::string task = done({"show", "a", "--json"});
  for (const auto& [key, value] : std::map<std::string, std::string>{
           {"queue", "mail"},
           {"user", "ann"},
           {"type", "send"},
           {"priority", "4"},
           {"payload", "[1,2]"},
           {"depends_on", R"([{"id":"first","when":"settled"},{"id":"last","when":"settled"}])"},
           {"on_dependency_failure", "run"},
           {"on_dependency_cancel", "cancel"},
           {"unique_key", "key"},
           {"placement", "front"},
           {"tags", R"(["[x,y]","z"])"},
           {"timeout_ms", "300000"},
           {"max_attempts", "7"},
           {"trace", "00-abc"}}) {
    EXPECT_EQ(value_in(task, key), value) << key;
  }
  EXPECT_NE(value_in(task, "expires_at"), "");
}

TEST_F(PushTest, WaitsForATimeOrForTasksToCome) {
  done({"push", "--id", "later", "--delay", "1h30m"});
  EXPECT_EQ(field("later", "state"), "SCHEDULED");
  done({"push", "--id", "then", "--run-at", "2099-01-01T09:00:00+09:00"});
  EXPECT_EQ(field("then", "run_at"), "2099-01-01T00:00:00.000Z");
  done({"push", "--id", "after", "--after", "unborn", "--allow-missing"});
  EXPECT_EQ(field("after", "state"), "DEFERRED");
}

TEST_F(PushTest, TakesTextAndStandardInput) {
  done({"push", "--id", "text", "--text", "it's \"so\" 列"});
  EXPECT_EQ(field("text", "payload"), "it's \\");  // as far as the test's reader goes
  EXPECT_THAT(done({"show", "text", "--json"}), HasSubstr(R"("payload":"it's \"so\" 列")"));
  done({"push", "--id", "piped", "-"}, "{\"a\":\n 1}\n");
  EXPECT_EQ(field("piped", "payload"), R"({"a":1})");
  done({"push", "--id", "show", "--text", "tasks"});  // names of commands are no trap
  EXPECT_EQ(field("show", "payload"), "tasks");
}

TEST_F(PushTest, TheSameIdChangesNothing) {
  done({"push", "--id", "a", "1"});
  EXPECT_EQ(done({"push", "--id", "a", "2", "--json"}),
            "{\"id\":\"a\",\"state\":\"QUEUED\",\"created\":false}\n");
  EXPECT_EQ(field("a", "payload"), "1");
}

TEST_F(PushTest, AKeyIsAnsweredAsTheFirstTime) {
  const std::string first = done({"push", "--key", "k", "1"});
  const Ran again = retsu({"push", "--key", "k", "1"});
  EXPECT_EQ(again.status, 0);
  EXPECT_EQ(again.out, first);
  EXPECT_THAT(again.err, HasSubstr("key k was used before"));
  const Ran other = retsu({"push", "--key", "k", "2"});
  EXPECT_EQ(other.status, 4);
  EXPECT_THAT(other.err, StartsWith("retsu: idempotency_mismatch: "));
  EXPECT_EQ(tasks(), 1U);
}

struct Bad {
  std::vector<std::string> arguments;
  int status;
  std::string message;
};

TEST_F(PushTest, BadInputOfEachKindChangesNothing) {
  done({"push", "--id", "there"});
  const Bad kinds[] = {
      {{"{\"a\":"}, 2, "PAYLOAD: is not JSON"},
      {{"--text", "\xff"}, 2, "is not UTF-8"},
      {{"--frob"}, 2, "--frob"},
      {{"1", "2"}, 2, "not expected"},
      {{"--id", "a b"}, 2, "id: must be"},
      {{"--queue", "a/b"}, 2, "queue: must be"},
      {{"--user", ""}, 2, "user: must be"},
      {{"--priority", "7"}, 2, "--priority: must be 1 to 6"},
      {{"--priority", "urgent"}, 2, "--priority: must be 1 to 6"},
      {{"--after", "nobody"}, 4, "unknown_dependency"},
      {{"--when", "soon"}, 2, "--when: must be one of finished, settled"},
      {{"--on-failure", "panic"}, 2, "--on-failure: must be one of"},
      {{"--on-cancel", "run"}, 2, "--on-cancel: must be one of"},
      {{"--delay", "5"}, 2, "--delay: "},
      {{"--delay", "5m", "--run-at", "2099-01-01T00:00:00Z"}, 2, "--run-at"},
      {{"--run-at", "tomorrow"}, 2, "--run-at: "},
      {{"--expires", "2001-01-01T00:00:00Z"}, 2, "expires before it could run"},
      {{"--timeout", "-5m"}, 2, "--timeout"},
      {{"--max-attempts", "0"}, 2, "max_attempts"},
      {{"--max-attempts", "many"}, 2, "--max-attempts"},
      {{"--tag", std::string(100, 'x')}, 2, "tags"},
      {{"--key", ""}, 2, "key"},
      {{"--partial"}, 2, "--file"},
      {{"--file", "nowhere.ndjson"}, 2, "cannot read nowhere.ndjson"},
      {{"--id", "loop", "--after", "loop"}, 4, "dependency_cycle"},
  };
  for (const Bad& bad : kinds) {
    std::vector<std::string> arguments = {"push"};
    arguments.insert(arguments.end(), bad.arguments.begin(), bad.arguments.end());
    const Ran ran = retsu(arguments);
    EXPECT_EQ(ran.status, bad.status) << bad.message << "\n" << ran.err;
    EXPECT_THAT(ran.err, StartsWith("retsu: "));
    EXPECT_THAT(ran.err, HasSubstr(bad.message));
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_EQ(tasks(), 1U);
}

TEST_F(PushTest, AFileIsPushedLineByLine) {
  write("tasks.ndjson",
        "{\"id\":\"a\",\"payload\":1}\n"
        "\n"
        "{\"id\":\"b\",\"depends_on\":[\"a\"],\"queue\":\"other\"}\r\n"
        "{\"id\":\"c\"}");
  EXPECT_EQ(done({"push", "--file", "tasks.ndjson", "--queue", "mail", "--tag", "t"}), "a\nb\nc\n");
  EXPECT_EQ(field("a", "queue"), "mail");
  EXPECT_EQ(field("b", "queue"), "other");
  EXPECT_EQ(field("b", "tags"), R"(["t"])");
  EXPECT_EQ(field("b", "state"), "DEFERRED");
  EXPECT_EQ(done({"push", "--file", "-"}, "{\"id\":\"d\"}\n"), "d\n");
}

TEST_F(PushTest, ABadLineIsNamedAndItsBatchIsNotPushed) {
  std::string lines;
  for (int i = 1; i <= 1'500; ++i) {
    lines += i == 1'207 ? "{\"id\":}\n" : "{\"id\":\"t" + std::to_string(i) + "\"}\n";
  }
  write("tasks.ndjson", lines);
  const Ran ran = retsu({"push", "--file", "tasks.ndjson"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("invalid: line 1207: "));
  EXPECT_THAT(ran.err, HasSubstr("1000 tasks were pushed before that"));
  EXPECT_THAT(lines_of(ran.out), SizeIs(1'000));
  EXPECT_EQ(tasks(), 1'000U);
}

TEST_F(PushTest, ALineThatTheQueueRefusesIsNamed) {
  const std::pair<std::string, std::string> kinds[] = {
      {R"({"id":"x","user":"a b"})", "invalid: line 3: user: must be"},
      {R"({"id":"x","userr":"a"})", "unknown_field: line 3: "},
      {R"({"id":"x","depends_on":["nobody"]})", "lines 1 to 4: task x depends on nobody"},
      {R"(["id"])", "invalid: line 3: "},
      {"nonsense", "invalid: line 3: "}};
  for (const auto& [line, message] : kinds) {
    const Ran ran = retsu({"push", "--file", "-"},
                          "{\"id\":\"a\"}\n{\"id\":\"b\"}\n" + line + "\n{\"id\":\"c\"}\n");
    EXPECT_THAT(ran.err, HasSubstr(message));
    EXPECT_NE(ran.status, 0);
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_EQ(tasks(), 0U);
}

TEST_F(PushTest, WithPartialTheOtherLinesArePushed) {
  const Ran ran = retsu({"push", "--file", "-", "--partial"},
                        "{\"id\":\"a\"}\nnonsense\n{\"id\":\"b\",\"depends_on\":[\"nobody\"]}\n"
                        "{\"id\":\"c\"}\n");
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(lines_of(ran.out), ElementsAre("a", "c"));
  EXPECT_THAT(ran.err, HasSubstr("line 2: "));
  EXPECT_THAT(ran.err, HasSubstr("unknown_dependency: line 3: "));
  EXPECT_EQ(tasks(), 2U);
}

TEST_F(PushTest, AFileWithAKeyMayBePushedAgain) {
  std::string lines;
  for (int i = 0; i < 2'500; ++i) lines += "{\"payload\":" + std::to_string(i) + "}\n";
  write("tasks.ndjson", lines);
  const std::string first = done({"push", "--file", "tasks.ndjson", "--key", "load"});
  const Ran again = retsu({"push", "--file", "tasks.ndjson", "--key", "load"});
  EXPECT_EQ(again.out, first);
  EXPECT_THAT(lines_of(again.err), SizeIs(3));
  EXPECT_THAT(again.err, HasSubstr("key load/3 was used before"));
  EXPECT_EQ(tasks(), 2'500U);
}

TEST_F(PushTest, AHundredThousandLines) {
  std::string lines;
  for (int i = 0; i < 100'000; ++i) {
    lines += "{\"user\":\"u" + std::to_string(i % 10) +
             "\",\"payload\":{\"n\":" + std::to_string(i) + "}}\n";
  }
  write("tasks.ndjson", lines);
  const Ran ran = retsu({"push", "--file", "tasks.ndjson"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(lines_of(ran.out), SizeIs(100'000));
  EXPECT_EQ(
      value_in(done({"queues", "--json"}), "tasks"),
      R"({"CANCELED":0,"DEFERRED":0,"FAILED":0,"FINISHED":0,"QUEUED":100000,"SCHEDULED":0,"STARTED":0})");
}

}  // namespace
}  // namespace retsu
