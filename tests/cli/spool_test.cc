// The spool as people use it, with real servers that come and go.

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <fstream>
#include <thread>

#include "cli/serve_program.h"
#include "patience.h"

namespace retsu {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using namespace std::chrono_literals;

class SpoolCliTest : public ServeTest {
 protected:
  SpoolCliTest() { environment_["RETSU_SPOOL"] = path("queue.jsonl"); }
  std::size_t arrived() { return lines_of(done({"tasks", "--all", "--json"})).size(); }
  std::size_t waiting() { return lines_of(done({"spool", "list", "--json"})).size(); }
};

TEST_F(SpoolCliTest, IsSentAndMayBeKilledAtAnyMoment) {
  serve();
  constexpr int kCount = 1'000;
  write("queue.jsonl", shell("for i in $(seq 1000); do echo '{\"id\":\"e'$i'\",\"type\":\"upload\","
                             "\"payload\":{\"filePath\":\"/doc.pdf\"},\"priority\":\"normal\","
                             "\"createdAt\":\"'$(date -u +%FT%TZ)'\",\"retries\":0}'; done")
                           .out);
  ASSERT_EQ(waiting(), static_cast<std::size_t>(kCount));
  for (int kills = 0; kills < 20; ++kills) {
    const pid_t sender = start({"spool", "send"});
    std::this_thread::sleep_for(std::chrono::milliseconds(15 + 7 * kills));
    ::kill(sender, SIGKILL);
    int status = 0;
    ::waitpid(sender, &status, 0);
  }
  const Ran ran = retsu({"spool", "send", "--json"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(waiting(), 0U);
  EXPECT_EQ(arrived(), static_cast<std::size_t>(kCount));
  EXPECT_EQ(value_in(done({"stats", "--json"}), "pushed"), std::to_string(kCount));
}

TEST_F(SpoolCliTest, PushesIntoItWhenTheServerIsAwayAndSendsWhenItIsBack) {
  environment_["RETSU_URL"] = "http://127.0.0.1:1";
  const Ran ran = retsu({"push", "--spool", path("queue.jsonl"), "--queue", "mail", "--priority",
                         "high", R"({"to":"bob"})"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("it is kept in"), HasSubstr("retsu spool send")));
  const std::string id = lines_of(ran.out).at(0);
  const Ran json = retsu({"push", "--spool", path("queue.jsonl"), "--json", "--id", "own", "2"});
  EXPECT_EQ(json.out, "{\"id\":\"own\",\"spooled\":true}\n");
  write("tasks.ndjson", "{\"payload\":1}\n{\"payload\":2,\"id\":\"two\"}\n");
  const Ran file = retsu({"push", "--spool", path("queue.jsonl"), "--file", path("tasks.ndjson")});
  EXPECT_EQ(file.status, 0) << file.err;
  EXPECT_THAT(lines_of(file.out), SizeIs(2));
  EXPECT_THAT(file.err, HasSubstr("2 are kept in"));
  const Ran offline = retsu({"spool", "send"});
  EXPECT_EQ(offline.status, 5);
  EXPECT_THAT(offline.err, HasSubstr("what is left stays in"));
  EXPECT_EQ(waiting(), 4U);

  serve();
  EXPECT_THAT(done({"spool", "send"}), HasSubstr("4 sent, 0 left"));
  EXPECT_EQ(field(id, "queue"), "mail");
  EXPECT_EQ(field(id, "priority"), "4");
  EXPECT_EQ(field("own", "payload"), "2");
  EXPECT_EQ(field("two", "payload"), "2");
  EXPECT_EQ(arrived(), 4U);
  // With a server, the same command pushes.
  const Ran direct = retsu({"push", "--spool", path("queue.jsonl"), "--id", "direct", "3"});
  EXPECT_EQ(direct.out, "direct\n");
  EXPECT_EQ(waiting(), 0U);
}

TEST_F(SpoolCliTest, WhatAServerWouldRefuseIsNotSpooled) {
  serve();
  const Ran ran = retsu({"push", "--spool", path("queue.jsonl"), "--queue", "no such", "1"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_FALSE(std::ifstream(path("queue.jsonl")).good());
}

TEST_F(SpoolCliTest, WatchesSendsWhatIsAddedAndTellsOfTheServer) {
  serve();
  const std::string store = path("q");
  const std::string port = url_.substr(url_.rfind(':') + 1);
  const pid_t watcher = start({"spool", "send", "--watch", "--every", "100ms", "--json"});
  done({"spool", "add", "--type", "sync", "{}"});
  EXPECT_TRUE(succeeds_in_the_end([&] { return waiting() == 0; }));
  EXPECT_EQ(stop(SIGKILL), -SIGKILL);
  std::filesystem::remove(path("q/server"));
  done({"spool", "add", "--type", "sync", "{}"});
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(waiting(), 1U);
  serve({}, "127.0.0.1:" + port);
  EXPECT_TRUE(succeeds_in_the_end([&] { return waiting() == 0; }));
  EXPECT_EQ(arrived(), 2U);
  ::kill(watcher, SIGTERM);
  int status = 0;
  ::waitpid(watcher, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(SpoolCliTest, AWrongTokenStopsAtOnce) {
  done({"token", "create", "--scope", "read", "--at", path("q")});
  serve();
  done({"spool", "add", "--type", "sync", "{}"});
  environment_["RETSU_TOKEN"] = "rt_wrong";
  const Ran ran = retsu({"spool", "send"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("401 unauthorized"));
  EXPECT_EQ(waiting(), 1U);
}

TEST_F(SpoolCliTest, IsWorkedOnByScripts) {
  done({"spool", "add", "--type", "sync", "--id", "a", "{}"});
  EXPECT_EQ(value_in(done({"spool", "peek"}), "id"), "a");
  EXPECT_EQ(value_in(done({"spool", "take"}), "id"), "a");
  EXPECT_EQ(retsu({"spool", "take"}).status, 3);
  EXPECT_THAT(done({"spool", "fail", "a", "no answer"}), HasSubstr("failed 1 time"));
  done({"spool", "done", "a"});
  EXPECT_EQ(retsu({"spool", "done", "a"}).status, 3);
  EXPECT_EQ(retsu({"spool", "peek"}).status, 3);
  EXPECT_EQ(done({"spool", "add", "--type", "sync", "--id", "b", "{}"}), "b\n");
  EXPECT_THAT(retsu({"spool", "add", "--type", "sync", "--id", "b", "{}"}).err,
              HasSubstr("nothing new"));
  EXPECT_EQ(waiting(), 1U);
}

TEST_F(SpoolCliTest, DeadLettersAreListedPutBackAndRemoved) {
  write("queue.jsonl", shell("echo '{\"id\":\"a\",\"type\":\"sync\",\"payload\":{},\"priority\":"
                             "\"low\",\"createdAt\":\"'$(date -u +%FT%TZ)'\",\"retries\":5}'")
                           .out);
  EXPECT_THAT(retsu({"spool", "fail", "a", "no"}).err, HasSubstr("max_retries"));
  EXPECT_THAT(done({"spool", "dead"}), AllOf(HasSubstr("a "), HasSubstr("max_retries")));
  EXPECT_EQ(retsu({"spool", "dead", "--redrive"}).status, 2);
  EXPECT_EQ(retsu({"spool", "dead", "--redrive", "zzz"}).status, 3);
  EXPECT_EQ(done({"spool", "dead", "--redrive", "a"}), "1 put back\n");
  EXPECT_EQ(value_in(done({"spool", "peek"}), "retries"), "0");
  EXPECT_EQ(done({"spool", "dead", "--json"}), "");
  EXPECT_EQ(done({"spool", "dead", "--purge", "--all"}), "0 removed\n");
}

TEST_F(SpoolCliTest, DamageIsToldAndSetAside) {
  done({"spool", "add", "--type", "sync", "--id", "a", "{}"});
  write("queue.jsonl", "{\"id\":\"half\n" + read("queue.jsonl"));
  const Ran list = retsu({"spool", "list"});
  EXPECT_EQ(list.status, 0);
  EXPECT_THAT(list.out, HasSubstr("a "));
  EXPECT_THAT(list.err, HasSubstr("line 1 is damaged"));
  const Ran check = retsu({"spool", "check"});
  EXPECT_EQ(check.status, 4);
  EXPECT_THAT(check.err, HasSubstr("queue.jsonl.corrupt"));
  EXPECT_THAT(done({"spool", "check", "--fix"}), HasSubstr("damaged  0"));
  EXPECT_EQ(read("queue.jsonl.corrupt"), "{\"id\":\"half\n");
  EXPECT_EQ(waiting(), 1U);
}

TEST_F(SpoolCliTest, BadUseIsRefusedWithWhatToDo) {
  environment_["RETSU_SPOOL"] = "";
  EXPECT_THAT(retsu({"spool", "list"}).err, HasSubstr("which spool?"));
  EXPECT_EQ(retsu({"spool", "list", "--file", path("typo.jsonl")}).status, 3);
  EXPECT_FALSE(std::ifstream(path("typo.jsonl.lock")).good());
  const std::string file = path("queue.jsonl");
  EXPECT_THAT(retsu({"spool", "add", "--file", file, "{}"}).err, HasSubstr("--type"));
  EXPECT_THAT(retsu({"spool", "add", "--file", file, "--type", "x", "{"}).err,
              HasSubstr("PAYLOAD"));
  EXPECT_THAT(
      retsu({"spool", "add", "--file", file, "--type", "x", "--priority", "urgent", "{}"}).err,
      HasSubstr("high, normal, low"));
  EXPECT_THAT(retsu({"spool", "send", "--file", file, "--at", path("q")}).err,
              HasSubstr("--at http"));
  EXPECT_EQ(retsu({"spool", "send", "--file", file, "--every", "soon", "--at", "http://x"}).status,
            2);
  EXPECT_FALSE(std::ifstream(file).good());
}

// Ten megabytes are read in the memory that a little one needs, give or take a few.
TEST_F(SpoolCliTest, ALargeFileNeedsLittleMemory) {
  const auto memory_of = [this](const std::string& file) {
    const pid_t child = start({"spool", "check", "--file", file});
    int status = 0;
    rusage used{};
    ::wait4(child, &status, 0, &used);
    EXPECT_EQ(status, 0);
    return used.ru_maxrss;  // in KiB
  };
  const std::string now = shell("date -u +%FT%TZ | tr -d '\\n'").out;
  const auto line = [&](std::size_t payload) {
    return R"({"id":"e","type":"sync","payload":")" + std::string(payload, 'x') +
           R"(","priority":"low","createdAt":")" + now + "\",\"retries\":0}\n";
  };
  write("small.jsonl", line(10));
  std::string large;
  while (large.size() < 10'000'000) large += line(10'000);
  write("large.jsonl", large);
  std::string many;
  while (many.size() < 10'000'000) many += line(10);
  write("many.jsonl", many);
  const auto small = memory_of(path("small.jsonl"));
  EXPECT_LT(memory_of(path("large.jsonl")) - small, 4 << 10);
  EXPECT_LT(memory_of(path("many.jsonl")) - small, 8 << 10);
}

}  // namespace
}  // namespace retsu
