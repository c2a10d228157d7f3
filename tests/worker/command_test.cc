#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "base/temporary_directory.h"
#include "deep.h"
#include "patience.h"
#include "worker/command_run.h"
#include "worker/worker_test.h"

namespace retsu {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Lt;
using testing::StartsWith;

class Commands : public WorkerTest {
 protected:
  // Each task runs this line of a shell.
  void start_shell(const std::string& line, Millis grace = 10s) {
    start(worker::run_command({.command = {"/bin/sh", "-c", line}, .grace = grace}));
  }
  Task run(const std::string& line, NewTask task = {}) {
    task.id = "a";
    if (!task.max_attempts) task.max_attempts = 1;
    push(std::move(task));
    start_shell(line);
    return ended("a");
  }
  std::string error_of(const std::string& line) { return std::string(run(line).error.view()); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return directory_.path() + "/" + name;
  }
  // The number that a command wrote into a file, once it has.
  pid_t pid_in(const std::string& name) {
    pid_t pid = 0;
    EXPECT_TRUE(succeeds_in_the_end([&] {
      std::ifstream file(path(name));
      std::string line;
      if (!std::getline(file, line) || file.eof()) return false;
      pid = std::stoi(line);
      return true;
    }));
    return pid;
  }
  static bool is_gone(pid_t pid) {
    return succeeds_in_the_end([&] { return ::kill(pid, 0) != 0; });
  }

  const TemporaryDirectory directory_;
};

TEST_F(Commands, ReadThePayloadAndPrintTheResult) {
  EXPECT_EQ(run("cat", {.payload = R"({"to":"bob"})"}).result.view(), R"({"to":"bob"})");
}

TEST_F(Commands, MayPrintAText) {
  EXPECT_EQ(run("echo two words").result.view(), R"("two words")");
}

TEST_F(Commands, MayPrintNothing) {
  const Task task = run("true");
  EXPECT_EQ(task.state, State::kFinished);
  EXPECT_TRUE(task.result.empty());
}

TEST_F(Commands, MayPrintBytesThatAreNoText) {
  EXPECT_EQ(run(R"(printf 'a\377\303\244\303')").result.view(), R"("a?ä?")");
}

TEST_F(Commands, KnowWhatTheyRun) {
  push({.id = "dependency"});
  push({.id = "a",
        .queue = "mail",
        .user = "ann",
        .type = "send",
        .depends_on = {{"dependency"}},
        .max_attempts = 5,
        .trace = "00-1-2-03"});
  settings_.queues = {"mail", "default"};
  start_shell(
      "[ $RETSU_TASK_ID = dependency ] && echo 7 ||"
      "echo $RETSU_TASK_ID $RETSU_QUEUE $RETSU_USER $RETSU_TYPE $RETSU_ATTEMPT/$RETSU_MAX_ATTEMPTS "
      "$RETSU_INPUTS $RETSU_TRACE");
  EXPECT_EQ(ended("a").result.view(),
            R"("a mail ann send 1/5 {\"dependency\":{\"state\":\"FINISHED\",\"result\":7}} )"
            R"(00-1-2-03")");
}

TEST_F(Commands, DoNotInheritTheToken) {
  ::setenv("RETSU_TOKEN", "secret", 1);
  const Task task = run("echo \"token:$RETSU_TOKEN\"");
  ::unsetenv("RETSU_TOKEN");
  EXPECT_EQ(task.result.view(), R"("token:")");
}

TEST_F(Commands, ThatFailAreTriedAgain) {
  must(PutQueue{"default", {.retry = {.base_ms = 1, .jitter = 0}}});
  const Task task = run("echo trouble >&2; [ $RETSU_ATTEMPT = 2 ]", {.max_attempts = 3});
  EXPECT_EQ(task.state, State::kFinished);
  ASSERT_EQ(task.history.size(), 1U);
  EXPECT_EQ(task.history[0].error.view(), "exit 1: trouble");
}

TEST_F(Commands, ThatExitWith65FailForGood) {
  const Task task = run("echo 'no such user' >&2; exit 65", {.max_attempts = 3});
  EXPECT_EQ(task.reason, Reason::kRejected);
  EXPECT_EQ(task.error.view(), "exit 65: no such user");
}

TEST_F(Commands, ThatExitWith69ThrottleTheQueue) {
  must(PutQueue{"default", {.throttle_ms = 60'000}});
  push({.id = "a"});
  start_shell("exit 69");
  EXPECT_TRUE(
      succeeds_in_the_end([&] { return must(GetQueue{"default"}).hold_until.has_value(); }));
  const Task task = must(GetTask{.id = "a"});
  EXPECT_EQ(task.state, State::kQueued);
  EXPECT_EQ(task.attempts, 0);
}

TEST_F(Commands, EndedByASignalFail) {
  EXPECT_THAT(error_of("kill -SEGV $$"), StartsWith("ended by signal 11"));
}

TEST_F(Commands, ThatAreNotThereCostTheirTasksNothing) {
  push({.id = "a", .max_attempts = 1});
  start(worker::run_command({.command = {path("command")}}));
  EXPECT_TRUE(succeeds_in_the_end([&] { return must(Stats{}).counters.at("released") > 0; }));
  std::ofstream(path("new")) << "#!/bin/sh\necho 1\n";
  ::chmod(path("new").c_str(), 0700);
  ::rename(path("new").c_str(), path("command").c_str());
  EXPECT_EQ(ended("a").result.view(), "1");
}

TEST_F(Commands, LeaveTheEndOfALongErrorInTheHistory) {
  const std::string error = error_of("yes ä | head -n 10000 >&2; echo last >&2; exit 1");
  EXPECT_THAT(error, AllOf(StartsWith("exit 1: …"), EndsWith("ä\nlast")));
  EXPECT_THAT(error.size(), Lt(4'200U));
}

TEST_F(Commands, ThatPrintTooMuchFailForGood) {
  const Task task = run("yes | head -c 2000000", {.max_attempts = 3});
  EXPECT_EQ(task.reason, Reason::kRejected);
  EXPECT_EQ(task.error.view(), "it printed more than a result may have");
}

TEST_F(Commands, NeedNotReadTheirPayload) {
  const std::string payload = "\"" + std::string(900'000, 'x') + "\"";
  EXPECT_EQ(run("exec <&-; echo 1", {.payload = payload}).result.view(), "1");
}

TEST_F(Commands, TellTheirProgressOnDescriptorThree) {
  push({.id = "a"});
  start_shell(fmt::format("echo '{{\"done\":5}}' >&3; while [ ! -e {} ]; do sleep 0.01; done",
                          path("seen")));
  EXPECT_TRUE(succeeds_in_the_end(
      [&] { return must(GetTask{.id = "a"}).progress.view() == "{\"done\":5}"; }));
  std::ofstream(path("seen")) << "yes";
  EXPECT_EQ(ended("a").state, State::kFinished);
}

TEST_F(Commands, MayWriteAnythingAsTheirProgress) {
  settings_.lease = 300ms;
  push({.id = "a", .max_attempts = 1});
  start_shell(
      fmt::format("echo >&3; yes | head -c 5000 | tr -d '\\n' >&3; echo >&3; echo last >&3; "
                  "while [ ! -e {} ]; do sleep 0.01; done",
                  path("seen")));
  EXPECT_TRUE(
      succeeds_in_the_end([&] { return must(GetTask{.id = "a"}).progress.view() == "\"last\""; }));
  std::ofstream(path("seen")) << "yes";
  EXPECT_EQ(ended("a").state, State::kFinished);
}

TEST_F(Commands, LeaveTheirProgressToTheNextAttempt) {
  must(PutQueue{"default", {.retry = {.base_ms = 1, .jitter = 0}}});
  const Task task = run("echo '\"page 3\"' >&3; exit 1", {.max_attempts = 1});
  EXPECT_EQ(task.progress.view(), "\"page 3\"");
}

TEST_F(Commands, ThatExitWithZeroBecauseTheyMustStopHaveNotFinished) {
  push({.id = "a"});
  start_shell(
      fmt::format("trap 'exit 0' TERM; echo $$ > {}; while :; do sleep 0.05; done", path("pid")));
  pid_in("pid");
  stop();
  EXPECT_EQ(must(GetTask{.id = "a"}).state, State::kQueued);
}

TEST_F(Commands, AreNotStartedWhenNobodyCouldTellHowTheyEnd) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const std::string error = error_of("exit 1");
  std::signal(SIGCHLD, before);
  EXPECT_THAT(error, HasSubstr("SIGCHLD is ignored"));
}

TEST_F(Commands, AreNotBlamedForWhatTheWorkerLacks) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need files of their own";
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = 3;
  push({.id = "a", .max_attempts = 1});
  ::setrlimit(RLIMIT_NOFILE, &none);
  start_shell("true");
  EXPECT_TRUE(succeeds_in_the_end([&] { return must(Stats{}).counters.at("released") > 0; }));
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(ended("a").state, State::kFinished);
}

TEST_F(Commands, InheritNoFilesAndNoOtherTasksVariables) {
  ::setenv("RETSU_TASK_ID", "outer", 1);
  const int file = ::open(path("leak").c_str(), O_RDWR | O_CREAT, 0600);  // not closed by itself
  const Task task =
      run("echo $(ls -l /proc/$$/fd | grep -c leak) $(env | grep -c ^RETSU_TASK_ID=)");
  ::close(file);
  ::unsetenv("RETSU_TASK_ID");
  EXPECT_EQ(task.result.view(), "\"0 1\"");
}

TEST_F(Commands, AreEndedWithAllTheirProcessesWhenTheTaskIsCanceled) {
  settings_.lease = 300ms;
  push({.id = "a"});
  start_shell(fmt::format("sleep 1000 & echo $! > {0}; echo $$ > {1}; wait", path("child"),
                          path("parent")));
  const pid_t parent = pid_in("parent");
  const pid_t child = pid_in("child");
  must(CancelTask{"a"});
  EXPECT_TRUE(is_gone(parent));
  EXPECT_TRUE(is_gone(child));
}

TEST_F(Commands, ThatDoNotListenAreKilled) {
  settings_.lease = 300ms;
  push({.id = "a"});
  start_shell(fmt::format("trap '' TERM; echo $$ > {}; while :; do sleep 0.05; done", path("pid")),
              200ms);
  const pid_t pid = pid_in("pid");
  must(CancelTask{"a"});
  EXPECT_TRUE(is_gone(pid));
}

TEST_F(Commands, LeaveNobodyBehind) {
  const Task task = run(fmt::format("sleep 1000 & echo $! > {}; echo 1", path("child")));
  EXPECT_EQ(task.result.view(), "1");
  EXPECT_TRUE(is_gone(pid_in("child")));
}

TEST_F(Commands, AreNotWaitedForByWhoeverLeftTheirGroup) {
  const Task task =
      run(fmt::format("setsid sh -c 'echo $$ > {}; exec sleep 1000' & "
                      "while [ ! -s {} ]; do sleep 0.01; done; echo 1",
                      path("pid"), path("pid")));
  EXPECT_EQ(task.result.view(), "1");
  ::kill(pid_in("pid"), SIGKILL);
}

TEST_F(Commands, AreGivenBackWhenTheWorkerMustStop) {
  push({.id = "a"});
  start_shell(fmt::format("echo $$ > {}; sleep 1000", path("pid")));
  const pid_t pid = pid_in("pid");
  stop();
  EXPECT_TRUE(is_gone(pid));
  const Task task = must(GetTask{.id = "a"});
  EXPECT_EQ(task.state, State::kQueued);
  EXPECT_EQ(task.attempts, 0);
}

}  // namespace
}  // namespace retsu
