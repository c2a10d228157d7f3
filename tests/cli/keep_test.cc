// Backups, what is put back, and what verify finds in stores that are really damaged.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/sqlite.h"
#include "broker/embedded/embedded_broker.h"
#include "cli/run_program.h"

namespace retsu {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr std::size_t kPage = 8'192;  // bytes, in a store

class KeepTest : public CliTest {
 protected:
  void fill(int tasks) {
    std::string lines;
    for (int i = 0; i < tasks; ++i) {
      lines +=
          "{\"id\":\"t" + std::to_string(i) + "\",\"payload\":\"" + std::string(300, 'x') + "\"}\n";
    }
    done({"push", "--file", "-"}, lines);
  }
  // With another program.
  void change(const std::string& sql, const std::string& file = "retsu.db") {
    auto database = sqlite::Database::open(path("store/" + file), SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(database.has_value());
    const auto executed = database->execute(sql);
    ASSERT_TRUE(executed.has_value()) << executed.error().message;
  }
  Ran verify_damaged(const std::string& problem) {
    const Ran ran = retsu({"verify"});
    EXPECT_EQ(ran.status, 1) << ran.out << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(problem));
    EXPECT_THAT(ran.err, HasSubstr("store is damaged"));
    return ran;
  }
};

TEST_F(KeepTest, ABackupIsAStore) {
  fill(10);
  EXPECT_THAT(done({"backup", "copies/monday"}),
              StartsWith("copies/monday holds 10 tasks (10 QUEUED)"));
  EXPECT_EQ(done({"tasks", "--json", "--at", "copies/monday"}), done({"tasks", "--json"}));
  EXPECT_THAT(done({"verify", "--at", "copies/monday"}), HasSubstr("is whole: 10 tasks"));
  const Ran again = retsu({"backup", "copies/monday"});
  EXPECT_EQ(again.status, 4);
  EXPECT_THAT(again.err, HasSubstr("has a store already"));
  EXPECT_EQ(retsu({"backup", "elsewhere", "--at", "nowhere"}).status, 5);
  EXPECT_FALSE(fs::exists(path("elsewhere")));
}

TEST_F(KeepTest, AStoreInUseIsBackedUpAndVerifiedButNotRestored) {
  done({"push", "--id", "before"});
  done({"backup", "old"});
  auto broker = EmbeddedBroker::open(path("store"));
  ASSERT_TRUE(broker.has_value());
  NewTask task;
  task.id = "open";
  ASSERT_TRUE(call(**broker, Push{.tasks = {task}}));

  const Ran held = retsu({"tasks"});
  EXPECT_EQ(held.status, 5);
  EXPECT_THAT(held.err, HasSubstr("held by process " + std::to_string(::getpid())));
  EXPECT_THAT(done({"verify"}), HasSubstr("is whole: 2 tasks"));
  EXPECT_THAT(done({"backup", "new"}), HasSubstr("2 tasks"));
  const Ran refused = retsu({"restore", "old", "--force"});
  EXPECT_EQ(refused.status, 5);
  EXPECT_THAT(refused.err, HasSubstr("held by process " + std::to_string(::getpid())));
  broker->reset();
  EXPECT_EQ(tasks(), 2U);
}

TEST_F(KeepTest, ABackupHasAllThatWasAcknowledgedBeforeItBegan) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {  // pushes for ever, and tells each number when it is stored
    auto broker = EmbeddedBroker::open(path("store"));
    for (int number = 0; broker && number < 1'000'000; ++number) {
      NewTask task;
      task.id = "t" + std::to_string(number);
      if (!call(**broker, Push{.tasks = {task}})) break;
      if (::write(ends[1], "x", 1) != 1) break;
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string told(1, ' ');
  for (int i = 0; i < 50; ++i) ASSERT_EQ(::read(ends[0], told.data(), 1), 1);
  ASSERT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
  for (int round = 0; round < 3; ++round) {
    static int stored = 50;
    std::string more(64 << 10, ' ');
    for (ssize_t got = 0; (got = ::read(ends[0], more.data(), more.size())) > 0;) {
      stored += static_cast<int>(got);
    }
    const std::string name = "backup" + std::to_string(round);
    done({"backup", name});
    std::set<std::string> ids;
    for (const std::string& line : lines_of(done({"tasks", "--all", "--json", "--at", name}))) {
      ids.insert(value_in(line, "id"));
    }
    for (int i = 0; i < stored; ++i) {
      ASSERT_TRUE(ids.contains("t" + std::to_string(i))) << i << " of " << stored << " is missing";
    }
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
}

TEST_F(KeepTest, AKilledBackupLeavesNothingThatLooksWhole) {
  fill(20'000);
  for (int round = 0; round < 3; ++round) {
    const std::string name = "copy" + std::to_string(round);
    const pid_t child = start({"backup", name});
    while (!fs::exists(path(name + "/retsu.db.part"))) {
      ASSERT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "it ended before it began";
      std::this_thread::yield();
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ASSERT_FALSE(fs::exists(path(name + "/retsu.db")));
    EXPECT_EQ(retsu({"tasks", "--at", name}).status, 5);
    EXPECT_EQ(retsu({"restore", name, "--at", "new"}).status, 5);
  }
  EXPECT_THAT(done({"backup", "copy0"}), HasSubstr("20000 tasks"));
  EXPECT_FALSE(fs::exists(path("copy0/retsu.db.part")));
}

TEST_F(KeepTest, ABackupIsPutBack) {
  done({"push", "--id", "old"});
  done({"backup", "saved"});
  done({"push", "--id", "new"});
  EXPECT_EQ(retsu({"restore", "saved"}).status, 4);  // there is a store
  EXPECT_EQ(tasks(), 2U);
  const Ran ran = retsu({"restore", "saved", "--force"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("the store that was there is store/retsu.db.before-"));
  EXPECT_EQ(tasks(), 1U);
  // What was set aside is whole, by itself.
  std::string aside;
  for (const auto& entry : fs::directory_iterator(path("store"))) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("retsu.db.before-") && !name.ends_with("-wal")) aside = name;
  }
  ASSERT_THAT(aside, Not(IsEmpty()));
  fs::create_directory(path("aside"));
  fs::copy(path("store/" + aside), path("aside/retsu.db"));
  EXPECT_THAT(done({"tasks", "--at", "aside"}), HasSubstr("new"));

  EXPECT_THAT(done({"restore", "saved", "--at", "fresh"}), HasSubstr("fresh holds 1 task"));
  EXPECT_EQ(retsu({"restore", "saved", "--at", "saved", "--force"}).status, 2);
  EXPECT_EQ(retsu({"restore", "nowhere", "--at", "fresh"}).status, 5);
}

TEST_F(KeepTest, AKilledRestoreLeavesTheOldStoreOrTheNewOne) {
  fill(20'000);
  done({"backup", "saved"});
  done({"push", "--id", "later"});
  const std::pair<const char*, std::size_t> moments[] = {{"store/retsu.db.part", 20'001},
                                                         {"store/retsu.db.before", 20'000}};
  for (const auto& [sign, whole] : moments) {
    const pid_t child = start({"restore", "saved", "--force"});
    const auto has_begun = [&, name = fs::path(sign).filename().string()] {
      for (const auto& entry : fs::directory_iterator(path("store"))) {
        if (entry.path().filename().string().starts_with(name)) return true;
      }
      return false;
    };
    while (!has_begun()) {
      ASSERT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "it ended before it began";
      std::this_thread::yield();
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    if (!fs::exists(path("store/retsu.db"))) continue;  // set aside, and nothing in its place
    const std::size_t stored = tasks();
    EXPECT_TRUE(stored == 20'001 || stored == whole) << stored;
  }
  done({"restore", "saved", "--force"});
  EXPECT_EQ(tasks(), 20'000U);
}

TEST_F(KeepTest, AStoreThatWasKilledIsSetAsideWithItsLogAndJournal) {
  done({"push", "--id", "old"});
  done({"backup", "saved"});
  const pid_t child = ::fork();
  if (child == 0) {
    auto broker = EmbeddedBroker::open(path("store"));
    NewTask task;
    task.id = "in-the-log";
    if (broker && call(**broker, Push{.tasks = {task}})) ::kill(::getpid(), SIGKILL);
    ::_exit(1);
  }
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(fs::exists(path("store/retsu.db-wal")));
  done({"restore", "saved", "--force"});
  EXPECT_EQ(tasks(), 1U);
  fs::create_directory(path("aside"));
  for (const auto& entry : fs::directory_iterator(path("store"))) {
    const std::string name = entry.path().filename().string();
    const std::size_t end = name.find(".before-");
    if (end == std::string::npos) continue;
    fs::copy(entry.path(),
             path("aside/" + name.substr(0, end) + (name.ends_with("-wal") ? "-wal" : "")));
  }
  EXPECT_THAT(done({"tasks", "--at", "aside"}), HasSubstr("in-the-log"));
}

TEST_F(KeepTest, ADamagedStoreIsNeitherBackedUpNorPutBack) {
  fill(10);
  done({"backup", "saved"});
  change("UPDATE tasks SET state = 'QUEUEX' WHERE sequence = 2");
  const Ran ran = retsu({"backup", "copy"});
  EXPECT_EQ(ran.status, 5);
  EXPECT_THAT(ran.err, HasSubstr("row 2, column state of table tasks"));
  EXPECT_FALSE(fs::exists(path("copy/retsu.db")));
  fs::rename(path("store"), path("damaged"));
  EXPECT_EQ(retsu({"restore", "damaged"}).status, 5);
  EXPECT_FALSE(fs::exists(path("store/retsu.db")));
  EXPECT_THAT(done({"restore", "saved", "--at", "damaged", "--force"}), HasSubstr("10 tasks"));
}

TEST_F(KeepTest, VerifyTellsEveryBadColumn) {
  fill(5);
  change(
      "UPDATE tasks SET state = 'QUEUEX' WHERE sequence = 2;"
      "UPDATE tasks SET priority = 'high' WHERE sequence = 4;"
      "UPDATE queues SET policy = '{' WHERE name = 'default'");
  const Ran ran = verify_damaged("row 2, column state of table tasks");
  EXPECT_THAT(ran.out, HasSubstr("row 4, column priority of table tasks"));
  EXPECT_THAT(ran.out, HasSubstr("row 1, column policy of table queues"));
  EXPECT_THAT(ran.err, HasSubstr("3 problems"));
  EXPECT_EQ(retsu({"tasks"}).status, 5);
}

TEST_F(KeepTest, VerifyTellsReferencesThatLeadNowhere) {
  done({"push", "--id", "a"});
  done({"push", "--id", "b", "--after", "a"});
  done({"push", "--id", "c", "{\"n\":1}"});
  done({"claim", "--claim-id", "c1"});
  done({"backup", "saved"});
  const std::pair<const char*, const char*> kinds[] = {
      {"DELETE FROM tasks WHERE id = 'b'", "there is no task b of that sequence"},
      {"DELETE FROM claims", "there is no claim 1"},
      {"DELETE FROM claim_tasks", "no claim holds it"},
      {"DELETE FROM queues", "there is no queue default"},
      {"UPDATE tasks SET priority = 5 WHERE id = 'c'", "row 3, column checksum of table tasks"},
      {"UPDATE tasks SET payload = '1' WHERE id = 'c'", "row 3, column payload of table tasks"},
      // Rows of a version that had no sums.
      {"UPDATE tasks SET id = 'a', checksum = NULL WHERE id = 'c'", "is that of sequence 1 too"},
      {"UPDATE tasks SET payload = '{\"n\"', payload_checksum = NULL WHERE id = 'c'",
       "column payload: is not JSON"},
      {"UPDATE meta SET sequence = 1, checksum = NULL", "is above the last one given out, 1"}};
  for (const auto& [sql, problem] : kinds) {
    change(sql);
    verify_damaged(problem);
    if (std::string(problem).find("JSON") == std::string::npos) {  // a start looks at no payload
      const Ran ran = retsu({"tasks"});
      EXPECT_EQ(ran.status, 5) << sql;
      EXPECT_THAT(ran.err, HasSubstr(problem));
    }
    done({"restore", "saved", "--force"});
  }
  EXPECT_THAT(done({"verify"}), HasSubstr("is whole"));
}

TEST_F(KeepTest, VerifyTellsDamagedAndMissingGroups) {
  const pid_t child = ::fork();
  if (child == 0) {  // four groups in the journal
    auto broker = EmbeddedBroker::open(path("store"));
    for (int i = 0; broker && i < 4; ++i) {
      if (!call(**broker, Push{.tasks = std::vector<NewTask>(1)})) ::_exit(1);
    }
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_THAT(done({"verify"}), HasSubstr("4 tasks (4 QUEUED), 4 groups in the journal"));
  std::string journal = read("store/journal.1");
  const std::size_t second = journal.find("RTSUGRP", journal.find("RTSUGRP") + 1);
  journal.at(second + 100) ^= 1;
  write("store/journal.1", journal);
  verify_damaged("journal group 2, which later ones stand upon");
  EXPECT_EQ(retsu({"push"}).status, 5);
}

TEST_F(KeepTest, VerifyTellsFlippedBytesAndACutFile) {
  fill(500);
  change("VACUUM");  // no page is free
  const std::string whole = read("store/retsu.db");
  ASSERT_GT(whole.size(), 100'000U);
  for (std::size_t page = 1; page < 40; page += 3) {
    std::string damaged = whole;
    for (std::size_t i = 0; i < 16; ++i) damaged[page * kPage + i] ^= '\x55';  // a page's header
    write("store/retsu.db", damaged);
    EXPECT_EQ(retsu({"verify"}).status, 1) << "page " << page + 1;
  }
  for (const std::size_t size : {whole.size() / 2, kPage, std::size_t{100}, std::size_t{0}}) {
    write("store/retsu.db", whole.substr(0, size));
    const Ran ran = retsu({"verify", "--json"});
    EXPECT_EQ(ran.status, 1) << size << ran.out << ran.err;
    EXPECT_NE(value_in(ran.out, "problems"), "[]");
  }
  write("store/retsu.db", whole);
  EXPECT_EQ(retsu({"verify"}).status, 0);
}

TEST_F(KeepTest, VerifyGoesOnBehindADamagedTable) {
  done({"push", "--id", "a"});
  change("VACUUM; UPDATE tasks SET state = 'QUEUEX'");
  auto database = sqlite::Database::open(path("store/retsu.db"), SQLITE_OPEN_READONLY);
  const auto root = database->integer("SELECT rootpage FROM sqlite_schema WHERE name = 'queues'");
  ASSERT_TRUE(root.has_value());
  std::string bytes = read("store/retsu.db");
  bytes.replace(static_cast<std::size_t>(*root - 1) * kPage, 8, "nonsense");
  write("store/retsu.db", bytes);
  const Ran ran = verify_damaged("age " + std::to_string(*root) + ":");
  EXPECT_THAT(ran.out, HasSubstr("table queues: retsu.db: database disk image is malformed"));
  EXPECT_THAT(ran.out, HasSubstr("row 1, column state of table tasks"));
}

TEST_F(KeepTest, VerifyRefusesWhatIsNoStore) {
  EXPECT_EQ(retsu({"verify"}).status, 5);
  fs::create_directory(path("store"));
  auto other =
      sqlite::Database::open(path("store/retsu.db"), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  ASSERT_TRUE(other->execute("CREATE TABLE tasks (name TEXT)"));
  const Ran ran = retsu({"verify"});
  EXPECT_EQ(ran.status, 5);
  EXPECT_THAT(ran.err, HasSubstr("not a store"));
}

}  // namespace
}  // namespace retsu
