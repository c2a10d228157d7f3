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
  // The groups of a store's journal into a table of a database; they go, and their mark is told.
  static std::int64_t move_into_table(const std::string& store, const std::string& file) {
    const std::int64_t mark =
        *embedded::open_to_read(store + "/retsu.db")->integer("SELECT mark FROM journal_file");
    const auto content = embedded::read_journal(store, nullptr, mark);
    auto database = sqlite::Database::open(file, SQLITE_OPEN_READWRITE);
    auto add = database->prepare("INSERT INTO journal VALUES (?, ?)");
    EXPECT_TRUE(content && add);
    for (const auto& [number, bytes] : content->groups) {
      add->bind(1, static_cast<std::int64_t>(number));
      add->bind_blob(2, bytes);
      EXPECT_TRUE(add->run());
    }
    embedded::remove_journal(store, nullptr);
    return mark;
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
    EXPECT_TRUE(fs::exists(path + "/journal.1"));
    EXPECT_TRUE(call(**broker, ListTasks{}));  // readers do not leave their log behind
  }
  for (const auto& entry : fs::directory_iterator(path)) {
    EXPECT_THAT(entry.path().filename().string(), testing::AnyOf("retsu.db", "lock", "ballast"));
  }
  std::ofstream(path + "/journal.1") << "what nobody asked for";
  EXPECT_TRUE(call(*open(path), GetTask{.id = "a"}));
}

TEST_F(JournalFileTest, IsWrittenOverAgainAndAgain) {
  const std::string path = directory_.path() + "/store";
  EmbeddedBroker::Settings settings;
  settings.store.journal_bytes = 20'000;
  const auto broker = EmbeddedBroker::open(path, settings);
  ASSERT_TRUE(broker.has_value());
  constexpr int kTasks = 2'000;  // of 512 bytes at least
  for (int i = 0; i < kTasks; ++i) push(**broker, std::to_string(i));
  for (const char* file : embedded::kJournalFiles) EXPECT_LE(fs::file_size(path + file), 200'000);
  fs::copy(path, directory_.path() + "/killed");
  const auto again = open(directory_.path() + "/killed");
  for (int i = 0; i < kTasks; ++i) {
    EXPECT_TRUE(call(*again, GetTask{.id = std::to_string(i)})) << i;
  }
}

TEST_F(JournalFileTest, ThatIsMissingOrAnothersRefusesTheStart) {
  const std::string path = killed("store", "a");
  const std::string other = killed("other", "b");
  for (const std::string file : embedded::kJournalFiles) {
    const std::string name = file.substr(1);
    fs::rename(path + file, path + "/aside");
    EXPECT_THAT(refusal(path), HasSubstr(name + " is missing"));
    EXPECT_FALSE(fs::exists(path + file));
    fs::copy(other + file, path + file);
    EXPECT_THAT(refusal(path), HasSubstr(name + " is not the one that belongs to retsu.db"));
    const auto verdict = embedded::verify(path + "/retsu.db");
    ASSERT_TRUE(verdict.has_value()) << verdict.error().message;
    EXPECT_THAT(verdict->problems, Not(IsEmpty()));
    fs::rename(path + "/aside", path + file);
  }
  EXPECT_TRUE(call(*open(path), GetTask{.id = "a"}));
}

// What is in it is nowhere else: it is not taken for one that was left over.
TEST_F(JournalFileTest, WhoseMarkWasLostRefusesTheStartAndStays) {
  const std::string path = killed("store", "a");
  const std::int64_t mark =
      *embedded::open_to_read(path + "/retsu.db")->integer("SELECT mark FROM journal_file");
  change(path + "/retsu.db", "UPDATE journal_file SET mark = NULL");
  EXPECT_THAT(refusal(path), HasSubstr("journal.1 has groups that retsu.db does not know of"));
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
}

// The journal of an earlier version, and of a copy, is a table beside the others.
TEST_F(JournalFileTest, IsMadeOfTheTableOfAnEarlierVersion) {
  const std::string path = killed("store", "a");
  move_into_table(path, path + "/retsu.db");
  change(path + "/retsu.db", "DROP TABLE journal_file; PRAGMA user_version = 4");
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

TEST_F(JournalFileTest, IsMadeOfTheDatabaseThatVersion5Had) {
  const std::string path = killed("store", "a");
  const std::string old_journal = path + "/journal.db";
  auto made = sqlite::Database::open(old_journal, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  ASSERT_TRUE(made &&
              made->execute("PRAGMA journal_mode = WAL;"
                            "CREATE TABLE journal (number INTEGER PRIMARY KEY, changes BLOB);"
                            "CREATE TABLE belongs_to (mark INTEGER NOT NULL)"));
  const std::int64_t mark = move_into_table(path, old_journal);
  ASSERT_TRUE(made->execute("INSERT INTO belongs_to VALUES (" + std::to_string(mark + 1) + ")"));
  change(path + "/retsu.db", "PRAGMA user_version = 5");
  EXPECT_THAT(refusal(path), HasSubstr("journal.db is not the one"));
  ASSERT_TRUE(made->execute("UPDATE belongs_to SET mark = mark - 1"));
  // As a process leaves it that is killed while it takes it over.
  ASSERT_TRUE(embedded::Journal::make(path, nullptr, mark + 7, {}, 1 << 20));
  EXPECT_TRUE(embedded::backup(path, directory_.path() + "/copy").has_value());
  EXPECT_TRUE(call(*open(directory_.path() + "/copy"), GetTask{.id = "a"}));
  {
    const auto broker = open(path);
    EXPECT_TRUE(call(*broker, GetTask{.id = "a"}));
    EXPECT_FALSE(fs::exists(old_journal));
    push(*broker, "b");
    fs::copy(path, directory_.path() + "/killed");
  }
  EXPECT_TRUE(call(*open(directory_.path() + "/killed"), GetTask{.id = "b"}));
}

// The files by themselves.
class JournalFilesTest : public testing::Test {
 protected:
  static constexpr std::int64_t kMark = 4711;

  embedded::Journal make(std::size_t file_bytes = 1 << 20) {
    auto made = embedded::Journal::make(path_, nullptr, kMark, {}, file_bytes);
    EXPECT_TRUE(made.has_value());
    return std::move(*made);
  }
  embedded::JournalContent read(std::int64_t mark = kMark) {
    auto content = embedded::read_journal(path_, nullptr, mark);
    EXPECT_TRUE(content.has_value());
    return content ? std::move(*content) : embedded::JournalContent{};
  }
  std::vector<std::uint64_t> numbers() {
    std::vector<std::uint64_t> all;
    for (const auto& group : read().groups) all.push_back(group.number);
    return all;
  }
  // Other bytes at this place of the first file.
  void spoil(std::size_t place, std::string_view bytes) {
    std::fstream file(path_ + "/journal.1", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(place));
    file << bytes;
  }
  std::string bytes() {
    std::ifstream file(path_ + "/journal.1", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TemporaryDirectory directory_;
  const std::string& path_ = directory_.path();
};

TEST_F(JournalFilesTest, SaysWhatWasAddedInItsOrder) {
  auto journal = make();
  const std::string large(300'000, 'x');
  ASSERT_TRUE(journal.add(1, "one", 0));
  ASSERT_TRUE(journal.add(2, large, 0));
  ASSERT_TRUE(journal.add(3, "", 0));
  const auto content = read();
  ASSERT_EQ(content.groups.size(), 3U);
  EXPECT_EQ(content.groups[0].bytes, "one");
  EXPECT_EQ(content.groups[1].bytes, large);
  EXPECT_EQ(content.groups[2].bytes, "");
  EXPECT_EQ(content.newest, 3U);
}

TEST_F(JournalFilesTest, AGroupThatIsNotWholeEndsItAndIsWrittenOver) {
  {
    auto journal = make();
    ASSERT_TRUE(journal.add(1, "one", 0));
    ASSERT_TRUE(journal.add(2, std::string(2'000, 'x'), 0));
  }
  spoil(512 * 4, "y");  // in the second
  EXPECT_THAT(numbers(), testing::ElementsAre(1));
  EXPECT_EQ(read().newest, 1U);
  embedded::JournalContent content;
  auto again =
      embedded::Journal::open(path_, nullptr, kMark, embedded::OldLog::kMayStay, 1 << 20, content);
  ASSERT_TRUE(again && again->add(2, "two", 0) && again->add(3, "three", 0));
  EXPECT_THAT(numbers(), testing::ElementsAre(1, 2, 3));
}

TEST_F(JournalFilesTest, AGroupThatIsNotWholeBeforeOthersIsDamage) {
  auto journal = make();
  for (std::uint64_t number = 1; number <= 3; ++number) ASSERT_TRUE(journal.add(number, "x", 0));
  for (const std::size_t place : {512 * 2, 512 * 2 + 9, 512 * 2 + 17, 512 * 2 + 32}) {
    const std::string was = bytes();
    spoil(place, "?");
    EXPECT_THAT(numbers(), testing::ElementsAre(1)) << place;
    EXPECT_EQ(read().newest, 3U) << place;
    spoil(0, was);
  }
  EXPECT_THAT(numbers(), testing::ElementsAre(1, 2, 3));
}

TEST_F(JournalFilesTest, GoesIntoItsOtherFileWhenTheTablesHaveThatOne) {
  auto journal = make(2'000);
  std::uint64_t number = 0;
  const auto add = [&](int groups, std::uint64_t folded) {
    for (; groups > 0; --groups) ASSERT_TRUE(journal.add(++number, "x", folded));
  };
  add(3, 0);
  EXPECT_EQ(journal.finished_until(), 0U);
  add(1, 0);
  EXPECT_EQ(journal.finished_until(), 3U);
  add(10, 2);  // it has to wait
  EXPECT_EQ(journal.finished_until(), 3U);
  EXPECT_EQ(numbers().front(), 1U);
  add(1, 3);
  EXPECT_EQ(journal.finished_until(), 14U);
  // What is left of the first time does not count.
  EXPECT_EQ(numbers(), std::vector<std::uint64_t>({4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(read().newest, 15U);
}

TEST_F(JournalFilesTest, NeitherAPayloadNorAnotherJournalIsTakenForAGroup) {
  {
    auto journal = make();
    ASSERT_TRUE(journal.add(1, "one", 0));
    ASSERT_TRUE(journal.add(2, "two", 0));
  }
  const std::string frames = bytes().substr(512, 1'024);
  auto journal = embedded::Journal::make(path_, nullptr, kMark + 1, {}, 1 << 20);
  ASSERT_TRUE(journal && journal->add(1, std::string(480, ' ') + frames, 0));
  spoil(512 + 100, "?");  // the frames stand behind it now, at their sectors
  const auto content = read(kMark + 1);
  EXPECT_THAT(content.groups, IsEmpty());
  EXPECT_EQ(content.newest, 0U);
}

TEST_F(JournalFilesTest, BecomesShortAgain) {
  auto journal = make(100'000);
  const std::string large(1'000'000, 'x');
  ASSERT_TRUE(journal.add(1, large, 0));
  ASSERT_TRUE(journal.add(2, large, 0));
  EXPECT_GT(fs::file_size(path_ + "/journal.1"), 1'000'000U);
  ASSERT_TRUE(journal.add(3, "x", 2));
  EXPECT_LE(fs::file_size(path_ + "/journal.1"), 100'000U);
  EXPECT_EQ(numbers(), std::vector<std::uint64_t>({2, 3}));
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
    EXPECT_FALSE(fs::exists(copy + "/journal.1"));
    EXPECT_GE(verdict->rows.at("tasks"), before);
    const auto opened = open(copy);
    EXPECT_TRUE(call(*opened, GetTask{.id = std::to_string(before - 1)}));
  }
}

}  // namespace
}  // namespace retsu
