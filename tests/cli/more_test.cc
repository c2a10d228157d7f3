// Shared values, schedules, users, removal and draining.

#include "base/json.h"
#include "cli/run_program.h"

namespace retsu {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;
using testing::StartsWith;

// Wrong in the same way: status 2, one line that says why, and nothing printed.
class MoreTest : public CliTest {
 protected:
  void expect_invalid(const std::vector<std::vector<std::string>>& kinds) {
    for (const auto& arguments : kinds) {
      const Ran ran = retsu(arguments);
      EXPECT_EQ(ran.status, 2) << testing::PrintToString(arguments) << ran.err;
      EXPECT_EQ(ran.out, "");
      EXPECT_THAT(lines_of(ran.err), ElementsAre(StartsWith("retsu: "))) << ran.err;
    }
  }
};

using XcomTest = MoreTest;
using ScheduleTest = MoreTest;
using UserTest = MoreTest;
using RemoveTest = MoreTest;
using DrainTest = MoreTest;

TEST_F(XcomTest, AValueIsKeptReadReplacedAndRemoved) {
  EXPECT_EQ(retsu({"xcom", "get", "cursor"}).status, 5);  // looking makes no store
  EXPECT_THAT(done({"xcom", "set", "cursor", R"({"page": 7})", "--ttl", "2d"}),
              MatchesRegex("cursor is kept until .*Z \\(in [12]d\\)\n|.*\\(in 47h\\)\n"));
  EXPECT_EQ(done({"xcom", "get", "cursor"}), "{\"page\":7}\n");
  const std::string all = done({"xcom", "get", "cursor", "--json"});
  EXPECT_EQ(value_in(all, "key"), "cursor");
  EXPECT_EQ(value_in(all, "value"), "{\"page\":7}");
  EXPECT_THAT(value_in(all, "expires_at"), StartsWith("20"));
  done({"xcom", "set", "cursor", "-"}, "[1,\n2]\n");
  EXPECT_EQ(done({"xcom", "get", "cursor"}), "[1,2]\n");
  done({"xcom", "set", "cursor", "--text", "it's so"});
  EXPECT_EQ(done({"xcom", "get", "cursor"}), "\"it's so\"\n");
  EXPECT_EQ(done({"xcom", "rm", "cursor"}), "cursor is removed\n");
  EXPECT_EQ(retsu({"xcom", "get", "cursor"}).status, 3);
  EXPECT_EQ(retsu({"xcom", "rm", "cursor"}).status, 3);
}

TEST_F(XcomTest, BadInputOfEachKindKeepsNothing) {
  done({"push"});
  expect_invalid({{"xcom"},
                  {"xcom", "get"},
                  {"xcom", "set", "a"},
                  {"xcom", "set", "a", "{"},
                  {"xcom", "set", "a b", "1"},
                  {"xcom", "set", "a", "1", "--ttl", "soon"},
                  {"xcom", "set", "a", "1", "--ttl", "0"},
                  {"xcom", "set", "a", "--text", "\xff"}});
  EXPECT_EQ(retsu({"xcom", "get", "a"}).status, 3);
  const Ran large = retsu({"xcom", "set", "a", "-", "--text"}, std::string(300'000, 'x'));
  EXPECT_EQ(large.status, 2);
  EXPECT_THAT(large.err, HasSubstr("too_large"));
}

TEST_F(ScheduleTest, ATaskIsDescribedAsForAPush) {
  done({"schedule",   "set",        "nightly",  "--cron",         "0 3 * * *", "--time-zone",
        "Asia/Tokyo", "--catch-up", "all",      "--queue",        "reports",   "--user",
        "ann",        "--type",     "report",   "--priority",     "high",      "--tag",
        "t",          "--timeout",  "5m",       "--max-attempts", "7",         "--front",
        "--unique",   "k",          "{\"n\":1}"});
  const std::string schedule = done({"schedules", "--json"});
  EXPECT_EQ(value_in(schedule, "cron"), "0 3 * * *");
  EXPECT_EQ(value_in(schedule, "time_zone"), "Asia/Tokyo");
  EXPECT_EQ(value_in(schedule, "catch_up"), "all");
  EXPECT_THAT(value_in(schedule, "next"), HasSubstr("T18:00:00.000Z"));
  const std::string id = lines_of(done({"schedule", "run", "nightly"})).at(0);
  const std::pair<const char*, const char*> fields[] = {
      {"queue", "reports"}, {"user", "ann"},          {"type", "report"},    {"priority", "4"},
      {"tags", "[\"t\"]"},  {"timeout_ms", "300000"}, {"max_attempts", "7"}, {"placement", "front"},
      {"unique_key", "k"},  {"payload", "{\"n\":1}"}};
  for (const auto& [name, value] : fields) EXPECT_EQ(field(id, name), value) << name;
  EXPECT_EQ(value_in(done({"schedules", "--json"}), "last_task"), id);
  EXPECT_THAT(done({"schedules"}), AllOf(StartsWith("SCHEDULE "), HasSubstr(id)));
}

TEST_F(ScheduleTest, OptionsSayWhatTheJsonOfATaskLeavesOpen) {
  const std::string card =
      done({"schedule", "set", "ping", "--every", "90s", "--task",
            R"({"queue":"net","tags":["json"]})", "--user", "ann", "--queue", "other"});
  EXPECT_THAT(card, AllOf(HasSubstr("every 1m30s"), HasSubstr("\"user\":\"ann\""),
                          HasSubstr("\"queue\":\"net\""), HasSubstr("latest")));
  EXPECT_EQ(value_in(done({"schedules", "--json"}), "every_ms"), "90000");
  done({"schedule", "set", "ping", "--cron", "@daily"});  // replaced, not changed
  EXPECT_EQ(value_in(done({"schedules", "--json"}), "every_ms"), "");
  EXPECT_EQ(value_in(done({"schedules", "--json"}), "queue"), "default");
}

TEST_F(ScheduleTest, SchedulesAreRemovedAndOthersStay) {
  for (const char* name : {"a", "b", "c"}) done({"schedule", "set", name, "--every", "1h"});
  const Ran ran = retsu({"schedule", "rm", "a", "nobody", "c"});
  EXPECT_EQ(ran.status, 3);
  EXPECT_EQ(ran.out, "a is removed\nc is removed\n");
  EXPECT_THAT(lines_of(done({"schedules", "--json"})), ElementsAre(HasSubstr("\"b\"")));
  EXPECT_EQ(retsu({"schedule", "run", "a"}).status, 3);
}

TEST_F(ScheduleTest, BadInputOfEachKindSetsNothing) {
  done({"push"});
  expect_invalid({{"schedule"},
                  {"schedule", "set", "x"},
                  {"schedule", "set", "--every", "5m"},
                  {"schedule", "set", "x", "--every", "5m", "--cron", "@daily"},
                  {"schedule", "set", "x", "--every", "often"},
                  {"schedule", "set", "x", "--every", "0"},
                  {"schedule", "set", "x", "--cron", "61 * * * *"},
                  {"schedule", "set", "x", "--cron", "@daily", "--time-zone", "Mars/Base"},
                  {"schedule", "set", "x", "--every", "5m", "--catch-up", "never"},
                  {"schedule", "set", "x", "--every", "5m", "--task", "{"},
                  {"schedule", "set", "x", "--every", "5m", "--task", R"({"id":"a"})"},
                  {"schedule", "set", "x", "--every", "5m", "--task", R"({"usr":"a"})"},
                  {"schedule", "set", "x", "--every", "5m", "--priority", "7"},
                  {"schedule", "set", "x", "--every", "5m", "{"}});
  EXPECT_EQ(done({"schedules"}), "");
}

TEST_F(UserTest, SettingsThatAreNotNamedAreNotSetAnyMore) {
  done({"push", "--queue", "mail", "--user", "ann"});
  EXPECT_EQ(done({"user", "set", "ann", "weight=2", "max_running=4", "--queue", "mail"}),
            "user         ann\nqueue        mail\nweight       2\nmax running  4\n");
  EXPECT_EQ(value_in(done({"users", "--json"}), "max_running"), "4");
  EXPECT_EQ(done({"user", "set", "ann", "max_waiting=1", "--json"}),
            "{\"user\":\"ann\",\"max_waiting\":1}\n");
  EXPECT_EQ(value_in(done({"users", "--json"}), "weight"), "2");  // of its queue
  EXPECT_EQ(retsu({"push", "--queue", "mail", "--user", "ann"}).status, 1);
  done({"user", "set", "ann", "weight=3", "--queue", "mail"});
  EXPECT_EQ(value_in(done({"users", "--json"}), "max_running"), "");
  done({"user", "set", "ann", "max_waiting=null"});
  EXPECT_EQ(value_in(done({"users", "--json"}), "max_waiting"), "");
  expect_invalid({{"user"},
                  {"user", "set", "ann"},
                  {"user", "set", "ann", "weight"},
                  {"user", "set", "ann", "weight=2", "weight=3"},
                  {"user", "set", "ann", "weight=0"},
                  {"user", "set", "ann", "weight=heavy"},
                  {"user", "set", "ann", "wieght=2"}});
}

TEST_F(RemoveTest, OnlyEndedTasksAreRemoved) {
  for (const char* id : {"a", "b", "c"}) done({"push", "--id", id});
  done({"cancel", "a", "c"});
  const Ran ran = retsu({"remove", "a", "b", "nobody", "c"});
  EXPECT_EQ(ran.out, "a is removed\nc is removed\n");
  EXPECT_EQ(ran.status, 4);  // of the first that was refused
  EXPECT_THAT(lines_of(ran.err), ElementsAre(HasSubstr("cancel it first"), HasSubstr("not_found")));
  EXPECT_EQ(retsu({"show", "a"}).status, 3);
  EXPECT_EQ(field("b", "state"), "QUEUED");
}

TEST_F(RemoveTest, AQueueIsPurgedOfWhatWaitsAndThenRemoved) {
  for (const char* id : {"a", "b", "c"}) done({"push", "--id", id, "--queue", "mail"});
  done({"push", "--id", "other"});
  done({"claim", "--queue", "mail", "--claim-id", "c1"});
  EXPECT_EQ(retsu({"queue", "rm", "mail"}).status, 4);
  EXPECT_EQ(done({"queue", "purge", "mail"}), "2 of 2 canceled\n");
  EXPECT_EQ(field("a", "state"), "STARTED");
  EXPECT_EQ(retsu({"queue", "rm", "mail"}).status, 4);
  done({"settle", "c1", "--all", "--outcome", "finish"});
  EXPECT_EQ(done({"queue", "purge", "mail", "--json"}), "{\"matched\":0,\"changed\":0}\n");
  EXPECT_EQ(done({"queue", "rm", "mail", "--json"}), "{\"queue\":\"mail\",\"removed\":1}\n");
  EXPECT_EQ(retsu({"queue", "purge", "mail"}).status, 3);
  EXPECT_EQ(retsu({"queue", "rm", "mail"}).status, 3);
  EXPECT_EQ(tasks(), 1U);
  expect_invalid({{"queue", "rm"}, {"queue", "purge"}, {"queue", "purge", "a", "b"}, {"remove"}});
}

TEST_F(DrainTest, NothingIsTakenOrHandedOutUntilItIsOff) {
  done({"push", "--id", "a"});
  done({"push", "--id", "b"});
  done({"claim", "--claim-id", "c1"});
  EXPECT_EQ(done({"drain"}), "no tasks are taken or handed out; 1 still running\n");
  const Ran refused = retsu({"push"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("draining"));
  EXPECT_THAT(done({"claim"}), HasSubstr("nothing"));
  EXPECT_EQ(done({"drain", "--json"}), "{\"draining\":true,\"running\":1}\n");
  EXPECT_EQ(done({"drain", "--off"}), "tasks are taken and handed out\n");
  EXPECT_THAT(done({"claim"}), HasSubstr("b"));
}

TEST_F(MoreTest, AllThatIsPrintedWithJsonIsJson) {
  done({"push", "--id", "a"});
  done({"cancel", "a"});
  const std::vector<std::vector<std::string>> commands = {{"xcom", "set", "k", "1"},
                                                          {"xcom", "get", "k"},
                                                          {"xcom", "rm", "k"},
                                                          {"schedule", "set", "s", "--every", "1h"},
                                                          {"schedules"},
                                                          {"schedule", "run", "s"},
                                                          {"schedule", "rm", "s"},
                                                          {"user", "set", "u", "weight=2"},
                                                          {"remove", "a"},
                                                          {"queue", "purge", "default"},
                                                          {"queue", "rm", "default"},
                                                          {"drain"},
                                                          {"drain", "--off"}};
  for (std::vector<std::string> command : commands) {
    command.emplace_back("--json");
    EXPECT_THAT(lines_of(done(command)), SizeIs(1)) << testing::PrintToString(command);
    const std::string line = read(".out");
    EXPECT_TRUE(is_json(line)) << line;
    EXPECT_THAT(line, StartsWith("{"));
    EXPECT_THAT(read(".err"), IsEmpty());
  }
}

}  // namespace
}  // namespace retsu
