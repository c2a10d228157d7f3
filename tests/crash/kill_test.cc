// A process that works on a store is killed, again and again, and what it was told is held against
// what is there afterwards.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/temporary_directory.h"
#include "broker/embedded/embedded_broker.h"
#include "deep.h"

namespace retsu {
namespace {

EmbeddedBroker::Settings settings() {
  EmbeddedBroker::Settings made;
  made.store.journal_bytes = 64 << 10;  // folds all the time
  made.store.ballast_bytes = 64 << 10;
  return made;
}

// Users with work in the queue "ring", in turn: bob's weight is 2.
constexpr std::array<std::string_view, 6> kTurns = {"ann", "bob", "bob", "cat", "dan", "eve"};
constexpr std::int64_t kTokens = 40;  // of the queue "metered", which gets no new ones for a day
constexpr std::int64_t kAtOnce = 3;   // of the queue "few", whose tasks are never given back

std::vector<NewTask> tasks_of(const std::string& queue, std::string_view user, std::size_t many) {
  NewTask task;
  task.queue = queue;
  task.user = user;
  task.timeout_ms = 0;
  return std::vector<NewTask>(many, task);
}

void set_up(Broker& broker) {
  PutQueue metered{"metered", {}};
  metered.policy.rate = Rate{.limit = kTokens, .per_ms = 86'400'000};
  ASSERT_TRUE(call(broker, metered));
  PutQueue few{"few", {}};
  few.policy.concurrency = kAtOnce;
  ASSERT_TRUE(call(broker, few));
  ASSERT_TRUE(call(broker, PutUser{"bob", "ring", {.weight = 2}}));
  // With each kill one may be missing.
  for (const std::string_view user : std::set(kTurns.begin(), kTurns.end())) {
    ASSERT_TRUE(call(broker, Push{.tasks = tasks_of("ring", user, 200)}));
  }
  for (const std::string queue : {"metered", "few"}) {
    ASSERT_TRUE(call(broker, Push{.tasks = tasks_of(queue, "ann", 100)}));
  }
}

// One line a fact, written after its answer came: pushed ID, claimed ID FENCE, finished ID, served
// USER; and before it was asked for: finishing ID.
void say(int pipe, const std::string& fact) {
  const std::string line = fact + "\n";
  if (::write(pipe, line.data(), line.size()) < 0) std::abort();
}

// The only one who asks for these queues.
void take_turns(Broker& broker, int pipe) {
  for (;;) {
    const auto turn = call(broker, Claim{.queues = {"ring"}, .lease_ms = 0});
    if (!turn || turn->tasks.size() != 1) ::_exit(5);
    const std::string& user = turn->tasks[0].user;
    say(pipe, "served " + user);
    if (!call(broker, Settle{turn->claim_id, {}, Outcome::kFinish})) ::_exit(6);
    if (!call(broker, Push{.tasks = tasks_of("ring", user, 1)})) ::_exit(7);
    for (const std::string queue : {"metered", "few"}) {
      if (!call(broker, Claim{.queues = {queue}, .lease_ms = 0})) ::_exit(8);
    }
  }
}

void work(const std::string& directory, int pipe, int round) {
  auto opened = EmbeddedBroker::open(directory, settings());
  if (!opened) {
    say(pipe, "refused " + opened.error().message);
    ::_exit(1);
  }
  Broker* const broker = opened->get();
  const auto run = [broker, pipe, round](int number) {
    for (int i = 0;; ++i) {
      Push push;
      const std::string prefix =
          std::to_string(round) + "." + std::to_string(number) + "." + std::to_string(i) + ".";
      for (int each = 0; each < 3; ++each) {
        NewTask task;
        task.id = prefix + std::to_string(each);
        task.user = "user-" + std::to_string(i % 5);
        task.timeout_ms = 86'400'000;
        task.payload = "\"" + std::string(static_cast<std::size_t>(i % 300), 'x') + "\"";
        push.tasks.push_back(std::move(task));
      }
      const auto pushed = call(*broker, push);
      if (!pushed) ::_exit(2);
      for (const Pushed& each : pushed->tasks) say(pipe, "pushed " + each.id);
      Claim claim;
      claim.max = 2;
      claim.lease_ms = 3'600'000;
      const auto claimed = call(*broker, claim);
      if (!claimed) ::_exit(3);
      for (const ClaimedTask& task : claimed->tasks) {
        say(pipe, "claimed " + task.id + " " + std::to_string(task.fence));
      }
      Settle settle;
      settle.claim_id = claimed->claim_id;
      settle.all = Outcome::kFinish;
      for (const ClaimedTask& task : claimed->tasks) say(pipe, "finishing " + task.id);
      if (i % 4 == 3) continue;  // some stay with their worker
      if (!call(*broker, settle)) ::_exit(4);
      for (const ClaimedTask& task : claimed->tasks) say(pipe, "finished " + task.id);
    }
  };
  std::thread other(run, 1);
  std::thread turns([broker, pipe] { take_turns(*broker, pipe); });
  run(0);
}

struct Record {
  std::set<std::string> pushed;
  std::map<std::string, std::int64_t> claimed;  // the fence
  std::set<std::string> finishing;
  std::set<std::string> finished;
  int shared = 0;                                     // claims of a task that was another's
  std::set<std::size_t> turns = {kTurns.size() - 1};  // any of these may have been the last one
  int out_of_turn = 0;

  // The process is gone, and with it perhaps the answer to a claim that was kept.
  void killed() {
    for (const std::size_t turn : std::set(turns)) turns.insert((turn + 1) % kTurns.size());
  }
  void serve(std::string_view user) {
    std::set<std::size_t> next;
    for (const std::size_t turn : turns) next.insert((turn + 1) % kTurns.size());
    std::erase_if(next, [&](std::size_t turn) { return kTurns[turn] != user; });
    out_of_turn += next.empty() ? 1 : 0;
    turns = std::move(next);
  }

  void add(const std::string& line) {
    std::istringstream in(line);
    std::string fact;
    std::string id;
    in >> fact >> id;
    if (fact == "pushed") pushed.insert(id);
    if (fact == "finishing") finishing.insert(id);
    if (fact == "finished") finished.insert(id);
    if (fact == "served") serve(id);
    if (fact != "claimed") return;
    std::int64_t fence = 0;
    in >> fence;
    shared += claimed.emplace(id, fence).second ? 0 : 1;
  }
};

// Runs a worker until it has told so many facts, and kills it.
void run_and_kill(const std::string& directory, int round, std::size_t facts, Record& record) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(ends[0]);
    work(directory, ends[1], round);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  std::string bytes(64 << 10, '\0');
  bool killed = false;
  for (;;) {
    const ssize_t read = ::read(ends[0], bytes.data(), bytes.size());
    if (read <= 0) break;
    text.append(bytes, 0, static_cast<std::size_t>(read));
    const auto told = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    if (!killed && told >= facts) {
      ::kill(child, SIGKILL);
      killed = true;
    }
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(killed) << "the worker ended by itself: " << text.substr(0, 300);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) record.add(line);
  record.killed();
}

std::map<std::string, Task> everything(Broker& broker) {
  std::map<std::string, Task> all;
  ListTasks list;
  list.limit = 1'000;
  for (;;) {
    const auto page = call(broker, list);
    EXPECT_TRUE(page.has_value());
    for (const Task& task : page->tasks) all.emplace(task.id, task);
    if (!page->next_cursor) return all;
    list.cursor = *page->next_cursor;
  }
}

std::int64_t started_in(Broker& broker, const std::string& queue) {
  return call(broker, GetQueue{queue})->tasks.at("STARTED");
}

void check(Broker& broker, const Record& record) {
  const std::map<std::string, Task> stored = everything(broker);
  for (const std::string& id : record.pushed) ASSERT_TRUE(stored.contains(id)) << id << " is lost";
  for (const std::string& id : record.finished) {
    ASSERT_EQ(stored.at(id).state, State::kFinished) << id << " came back";
  }
  for (const auto& [id, fence] : record.claimed) {
    const Task& task = stored.at(id);
    ASSERT_EQ(task.fence, fence) << id << " was given to another";
    const bool may_be_finished = record.finishing.contains(id);
    ASSERT_TRUE(task.state == State::kStarted ||
                (may_be_finished && task.state == State::kFinished))
        << id << " is " << name_of(task.state);
  }
  ASSERT_EQ(record.shared, 0);
  ASSERT_EQ(record.out_of_turn, 0) << "the ring is not as it was";
  ASSERT_LE(started_in(broker, "metered"), kTokens) << "tokens came back";
  ASSERT_LE(started_in(broker, "few"), kAtOnce) << "permits came back";
}

TEST(Kill, LosesNothingAcceptedBringsBackNothingFinishedAndKeepsRingAndPaces) {
  const int stores = deep() ? 40 : scaled(4, 4);
  const int kills_each = 50;
  std::mt19937 dice(7);
  for (int store = 0; store < stores; ++store) {
    const TemporaryDirectory directory;
    Record record;
    set_up(**EmbeddedBroker::open(directory.path(), settings()));
    for (int kill = 0; kill < kills_each; ++kill) {
      run_and_kill(directory.path(), kill, 1 + dice() % 800, record);
      if (HasFatalFailure()) return;
      auto broker = EmbeddedBroker::open(directory.path(), settings());
      ASSERT_TRUE(broker.has_value()) << broker.error().message;
      check(**broker, record);
      if (HasFatalFailure()) FAIL() << "after kill " << kill + 1 << " of store " << store + 1;
    }
    EXPECT_GT(record.finished.size(), 100U);
    const auto broker = EmbeddedBroker::open(directory.path(), settings());
    EXPECT_EQ(started_in(**broker, "metered"), kTokens);
    EXPECT_EQ(started_in(**broker, "few"), kAtOnce);
  }
}

}  // namespace
}  // namespace retsu
