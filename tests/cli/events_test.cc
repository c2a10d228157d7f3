#include "base/json.h"
#include "cli/run_program.h"

namespace retsu {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

// With a server, which the script finds in RETSU_URL and $server.
class EventsTest : public CliTest {
 protected:
  Ran with_server(const std::string& script) {
    write("some",
          R"({"queue":"mail","user":"ann"}
{"queue":"mail","user":"ann"}
{"queue":"other","user":"ann"}
{"queue":"mail","user":"ben"}
{"queue":"mail","user":"ann","run_at":"2099-01-01T00:00:00Z"}
)");
    return shell(
        "retsu serve --store q --listen 127.0.0.1:0 > log & server=$!\n"
        "trap 'kill $server; wait' EXIT\n"
        "until [ -s q/server ]; do sleep 0.02; done\n"
        "export RETSU_URL=$(cat q/server)\n"
        // Nobody knows when a watcher begins: tasks are pushed until it says something.
        "push_until() { for i in {1..500}; do \"$@\" 2> /dev/null && return\n"
        "retsu push --file some > /dev/null; done; echo gave up; }\n" +
        script);
  }
};

TEST_F(EventsTest, WhatHappensIsToldUntilTheSignal) {
  const Ran ran = with_server(
      "retsu events --follow --json > events & watcher=$!\n"
      "push_until [ -s events ]\n"
      "retsu push --id last\n"
      "retsu cancel last\n"
      "push_until grep -q CANCELED events\n"
      "kill -TERM $watcher; wait $watcher; echo ended $?");
  EXPECT_THAT(ran.out, HasSubstr("ended 0")) << ran.err;
  const auto lines = lines_of(read("events"));
  for (const std::string& line : lines) EXPECT_TRUE(is_json(line)) << line;
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr(R"("id":"last")"), HasSubstr(R"("from":null)"),
                                    HasSubstr(R"("to":"QUEUED")"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr(R"("id":"last")"), HasSubstr(R"("to":"CANCELED")"),
                                    HasSubstr(R"("reason":"canceled")"))));
}

TEST_F(EventsTest, ItEndsAfterSoManyAndTellsOnlyWhatIsAskedFor) {
  const Ran ran = with_server(
      "retsu events --queue mail --user ann --state queued --count 3 & watcher=$!\n"
      "push_until eval '! kill -0 $watcher'\n"
      "kill $watcher 2> /dev/null; wait $watcher; echo ended $?");
  const auto lines = lines_of(ran.out);
  ASSERT_THAT(lines, SizeIs(5)) << ran.out << ran.err;
  EXPECT_THAT(lines[0], StartsWith("AT "));
  for (int i = 1; i <= 3; ++i) {
    EXPECT_THAT(lines[static_cast<std::size_t>(i)],
                AllOf(HasSubstr("  mail   ann "), HasSubstr("QUEUED")));
  }
  EXPECT_EQ(lines[4], "ended 0");
}

TEST_F(EventsTest, ItEndsAfterSoLong) {
  const Ran ran = with_server("retsu events --for 100ms; echo ended $?");
  EXPECT_EQ(ran.out, "ended 0\n") << ran.err;
}

TEST_F(EventsTest, AReaderWhoGoesEndsIt) {
  const Ran ran = with_server(
      "(retsu events --json; echo ended $? > status) | head -n 1 > first &\n"
      "push_until [ -s status ]\n"
      "cat status");
  EXPECT_EQ(ran.out, "ended 0\n") << ran.err;
  EXPECT_TRUE(is_json(read("first")));
}

TEST_F(EventsTest, AGapIsTold) {
  const Ran ran = with_server(
      "retsu events --json > events & watcher=$!\n"
      "retsu events 2> notes > table & another=$!\n"
      "push_until [ -s events ]\n"
      "push_until [ -s table ]\n"
      "kill $server; wait $server\n"
      "retsu push --at q > /dev/null\n"
      "retsu serve --store q --listen ${RETSU_URL#http://} > log & server=$!\n"
      "push_until eval 'grep -q missed events && grep -q missed notes'\n"
      "kill $watcher $another; wait $watcher; echo ended $?");
  EXPECT_THAT(ran.out, HasSubstr("ended 0")) << ran.err;
  EXPECT_THAT(lines_of(read("events")), Contains(StartsWith("{\"missed\":")));
  EXPECT_EQ(read("notes"), "retsu: there is a gap here: events were missed\n");
}

TEST_F(EventsTest, WithoutAServerThereIsNothingToWatch) {
  done({"push"});
  const Ran alone = retsu({"events", "--for", "1s"});
  EXPECT_EQ(alone.status, 5);
  EXPECT_THAT(alone.err, HasSubstr("retsu serve"));
  EXPECT_EQ(retsu({"events", "--at", "http://127.0.0.1:9", "--for", "1s"}).status, 5);
  const std::vector<std::vector<std::string>> invalid = {{"events", "--state", "DONE"},
                                                         {"events", "--for", "ever"},
                                                         {"events", "--count", "0"},
                                                         {"events", "--follow", "--count", "1"}};
  for (const auto& arguments : invalid) {
    EXPECT_EQ(retsu(arguments).status, 2) << testing::PrintToString(arguments);
  }
}

TEST_F(EventsTest, TheOtherNewCommandsWorkThroughAServerToo) {
  const Ran ran = with_server(
      "set -e\n"
      "retsu xcom set k 1; retsu xcom get k; retsu xcom rm k\n"
      "retsu schedule set s --every 1h; retsu schedules; retsu schedule run s; retsu schedule rm "
      "s\n"
      "retsu user set ann weight=2\n"
      "retsu push --id a --queue mail; retsu queue purge mail\n"
      "retsu export all.ndjson; retsu import all.ndjson --all\n"
      "retsu remove a; retsu queue rm mail\n"
      "retsu drain; retsu drain --off\n"
      "echo all of it");
  EXPECT_THAT(ran.out, HasSubstr("all of it\n")) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("0 pushed, 2 existing"));
}

}  // namespace
}  // namespace retsu
