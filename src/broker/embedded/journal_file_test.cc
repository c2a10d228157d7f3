#include "broker/embedded/journal_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/temporary_directory.h"
#include "broker/embedded/backup.h"
#include "broker/embedded/embedded_broker.h"
#include "broker/embedded/store_files.h"

namespace retsu {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class JournalFileTest : public testing::Test {
 protected:
  static std::unique_ptr<EmbeddedBroker> open(const std::string& path) {
    auto opened = EmbeddedBroker::open(path);
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }
  static std::string refusal(const std::string& path) {
    auto opened = EmbeddedBroker::open(path);
    EXPECT_FALSE(opened.has_value());
    return opened ? "" : opened.error().message;
  }
  static void push(Broker& broker, const std::string& id) {
    NewTask task;
    task.id = id;
    ASSERT_TRUE(call(broker, Push{.tasks = {task}}));
  }
  // A store with one task, as a process leaves it that is killed at once.
  std::string killed(const std::string& name, const std::string& task) {
    const std::string path = directory_.path() + "/" + name;
    const auto broker = open(path + "-open");
    push(*broker, task);
    fs::copy(path + "-open", path);
    return path;
  }
  static void change(const std::string& file, const std::string& sql) {
    auto database = sqlite::Database::open(file, SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(database.has_value());
    const auto done = database->execute(sql);
    ASSERT_TRUE(done) << done.error().message;
  }

  TemporaryDirectory directory_;
};

TEST_F(JournalFileTest, GoesWhenTheStoreIsClosed) {
  const std::string path = directory_.path() + "/store";
  EmbeddedBroker::Settings settings;
  settings.store.searched_tasks = 0;
  {
    const auto broker = EmbeddedBroker::open(path, settings);
    ASSERT_TRUE(broker.has_value());
    push(**broker, "a");
    EXPECT_TRUE(fs::exists(path + "/journal.db"));
    EXPECT_TRUE(call(**broker, ListTasks{}));  // readers do not leave their log behind
  }
  for (const auto& entry : fs::directory_iterator(path)) {
    EXPECT_THAT(entry.path().filename().string(), testing::AnyOf("retsu.db", "lock", "ballast"));
  }
  std::ofstream(path + "/journal.db") << "what nobody asked for";
  EXPECT_TRUE(call(*open(path), GetTask{.id = "a"}));
}

// Without it nobody could tell a journal that has forgotten from one that had nothing to say.
TEST_F(JournalFileTest, KeepsItsNewestGroup) {
  const std::string path = directory_.path() + "/store";
  EmbeddedBroker::Settings settings;
  settings.store.searched_tasks = 0;
  const auto broker = EmbeddedBroker::open(path, settings);
  ASSERT_TRUE(broker.has_value());
  for (const char* id : {"a", "b", "c"}) push(**broker, id);
  ASSERT_TRUE(call(**broker, ListTasks{}));  // the tables have all of these then
  push(**broker, "d");                       // and the journal forgets
  auto tables = embedded::open_to_read(path + "/retsu.db");
  auto journal = embedded::open_to_read(path + "/journal.db");
  ASSERT_TRUE(tables && journal);
  const auto oldest = journal->integer("SELECT min(number) FROM journal");
  EXPECT_GT(*oldest, 1);
  EXPECT_LE(*oldest, *tables->integer("SELECT folded FROM journal_file"));
}

TEST_F(JournalFileTest, ThatIsMissingOrAnothersRefusesTheStart) {
  const std::string path = killed("store", "a");
  const std::string other = killed("other", "b");
  for (const char* suffix : {"", "-wal", "-shm"}) {
    fs::rename(path + "/journal.db" + suffix, path + "/aside" + suffix);
  }
  EXPECT_THAT(refusal(path), HasSubstr("journal.db is missing"));
  EXPECT_FALSE(fs::exists(path + "/journal.db"));
  for (const char* suffix : {"", "-wal"}) {
    fs::copy(other + "/journal.db" + suffix, path + "/journal.db" + suffix);
  }
  EXPECT_THAT(refusal(path), HasSubstr("not the one that belongs to retsu.db"));
  const auto verdict = embedded::verify(path + "/retsu.db");
  ASSERT_TRUE(verdict.has_value()) << verdict.error().message;
  EXPECT_THAT(verdict->problems, Not(IsEmpty()));
  embedded::remove_database(path + "/journal.db", nullptr);
  for (const char* suffix : {"", "-wal"}) {
    fs::rename(path + "/aside" + suffix, path + "/journal.db" + suffix);
  }
  EXPECT_TRUE(call(*open(path), GetTask{.id = "a"}));
}

// What is in it is nowhere else: it is not taken for one that was left over.
TEST_F(JournalFileTest, WhoseMarkWasLostRefusesTheStartAndStays) {
  const std::string path = killed("store", "a");
  const std::int64_t mark =
      *embedded::open_to_read(path + "/retsu.db")->integer("SELECT mark FROM journal_file");
  change(path + "/retsu.db", "UPDATE journal_file SET mark = NULL");
  EXPECT_THAT(refusal(path), HasSubstr("journal.db has groups that retsu.db does not know of"));
  EXPECT_FALSE(embedded::backup(path, directory_.path() + "/copy").has_value());
  change(path + "/retsu.db", "DELETE FROM journal_file");
  EXPECT_THAT(refusal(path), HasSubstr("the row of table journal_file is missing"));
  change(path + "/retsu.db",
         "INSERT INTO journal_file VALUES (1, " + std::to_string(mark) + ", 0)");
  EXPECT_TRUE(call(*open(path), GetTask{.id = "a"}));
}

TEST_F(JournalFileTest, ThatIsOlderThanTheTablesRefusesTheStart) {
  const std::string path = killed("store", "a");
  change(path + "/retsu.db", "UPDATE journal_file SET folded = 100");
  EXPECT_THAT(refusal(path), HasSubstr("group 100 is missing"));
  change(path + "/retsu.db", "UPDATE journal_file SET folded = 0");
  change(path + "/journal.db", "UPDATE journal SET number = number + 1");
  EXPECT_THAT(refusal(path), HasSubstr("group 1 is missing"));
}

// The journal of an earlier version, and of a copy, is a table beside the others.
TEST_F(JournalFileTest, IsMadeOfTheTableOfAnEarlierVersion) {
  const std::string path = killed("store", "a");
  change(path + "/retsu.db", "ATTACH '" + path + "/journal.db' AS file;" +
                                 "INSERT INTO main.journal SELECT * FROM file.journal;" +
                                 "DROP TABLE journal_file; PRAGMA user_version = 4");
  {
    const auto broker = open(path);
    EXPECT_TRUE(call(*broker, GetTask{.id = "a"}));
    push(*broker, "b");
    EXPECT_EQ(*embedded::open_to_read(path + "/retsu.db")->integer("SELECT count(*) FROM journal"),
              0);
  }
  const auto broker = open(path);
  EXPECT_TRUE(call(*broker, GetTask{.id = "a"}));
  EXPECT_TRUE(call(*broker, GetTask{.id = "b"}));
}

// Tables and journal are read one after the other, while rows go from one into the other.
TEST_F(JournalFileTest, ACopyHasAllWhileTheStoreFoldsAllTheTime) {
  const std::string path = directory_.path() + "/store";
  EmbeddedBroker::Settings settings;
  settings.store.journal_bytes = 2'000;
  auto broker = EmbeddedBroker::open(path, settings);
  ASSERT_TRUE(broker.has_value());
  std::atomic<int> stored = 0;
  const std::jthread pusher([&](const std::stop_token& stopping) {
    while (!stopping.stop_requested()) {
      push(**broker, std::to_string(stored));
      ++stored;
    }
  });
  while (stored < 100) std::this_thread::yield();
  for (int round = 0; round < 20; ++round) {
    const std::string copy = directory_.path() + "/copy" + std::to_string(round);
    const int before = stored;
    const auto verdict = embedded::backup(path, copy);
    ASSERT_TRUE(verdict.has_value()) << verdict.error().message;
    EXPECT_FALSE(fs::exists(copy + "/journal.db"));
    EXPECT_GE(verdict->rows.at("tasks"), before);
    const auto opened = open(copy);
    EXPECT_TRUE(call(*opened, GetTask{.id = std::to_string(before - 1)}));
  }
}

}  // namespace
}  // namespace retsu
