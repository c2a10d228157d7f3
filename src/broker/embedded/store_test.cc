#include "broker/embedded/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "base/temporary_directory.h"
#include "broker/embedded/embedded_broker.h"
#include "broker/embedded/journal.h"
#include "broker/embedded/schema.h"
#include "broker/embedded/table.h"

namespace retsu {
namespace {

using testing::HasSubstr;

class StoreTest : public testing::Test {
 protected:
  std::unique_ptr<EmbeddedBroker> open() {
    auto opened = EmbeddedBroker::open(path_);
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }
  Error refused() {
    auto opened = EmbeddedBroker::open(path_);
    EXPECT_FALSE(opened.has_value());
    return opened ? Error{} : opened.error();
  }
  // What a person sees with sqlite3.
  sqlite::Database file() {
    auto database = sqlite::Database::open(path_ + "/retsu.db", SQLITE_OPEN_READWRITE);
    EXPECT_TRUE(database.has_value());
    return std::move(*database);
  }

  void start_over() {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      std::filesystem::remove(entry);
    }
  }

  TemporaryDirectory directory_;
  const std::string& path_ = directory_.path();
};

TEST_F(StoreTest, EveryKindOfRowHasItsColumns) {
  open().reset();
  sqlite::Database database = file();
  embedded::for_each_kind([&]<class Row>() {
    const std::string table = embedded::Kind<Row>::kTable;
    auto columns = database.prepare("SELECT name FROM pragma_table_info('" + table + "')");
    ASSERT_TRUE(columns.has_value());
    std::vector<std::string> names;
    while (*columns->step()) names.emplace_back(columns->text(0));
    EXPECT_THAT(names, testing::UnorderedElementsAreArray(embedded::Table<Row>::columns()))
        << table;
  });
}

TEST_F(StoreTest, IsReadableByItsOwnerOnly) {
  const auto broker = open();
  ASSERT_TRUE(call(*broker, Push{.tasks = std::vector<NewTask>(1)}));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    ++files;
    EXPECT_EQ(entry.status().permissions() & std::filesystem::perms(0077),
              std::filesystem::perms::none)
        << entry.path();
  }
  EXPECT_GE(files, 4);
}

TEST_F(StoreTest, IsReadableWithSqliteWhenItIsClosed) {
  {
    const auto broker = open();
    NewTask task;
    task.id = "a";
    task.payload = R"({"to":"bob"})";
    task.max_attempts = 1;
    ASSERT_TRUE(call(*broker, Push{.tasks = {task}}));
    const auto claimed = call(*broker, Claim{});
    ASSERT_TRUE(claimed.has_value());
    SettleOne failed;
    failed.id = "a";
    failed.outcome = Outcome::kFail;
    failed.error = "no answer";
    ASSERT_TRUE(call(*broker, Settle{.claim_id = claimed->claim_id, .results = {failed}}));
  }
  sqlite::Database database = file();
  EXPECT_EQ(*database.integer("SELECT count(*) FROM journal"), 0);
  EXPECT_EQ(*database.text("SELECT state FROM tasks WHERE id = 'a'"), "FAILED");
  EXPECT_EQ(*database.text("SELECT payload FROM tasks WHERE id = 'a'"), R"({"to":"bob"})");
  EXPECT_EQ(*database.text("SELECT error FROM failed_jobs WHERE id = 'a'"), "no answer");
}

TEST_F(StoreTest, GivesATaskToWhoWaitsInTheGroupThatPushedIt) {
  const auto broker = open();
  std::promise<Answer> claimed;
  broker->submit(Claim{.wait_ms = 60'000}, {},
                 [&](Answer answer) { claimed.set_value(std::move(answer)); });
  ASSERT_TRUE(call(*broker, Stats{}));  // is answered when the claim waits
  const std::uint64_t groups = broker->figures().groups;
  ASSERT_TRUE(call(*broker, Push{.tasks = std::vector<NewTask>(1)}));
  EXPECT_EQ(std::get<ClaimReply>(*claimed.get_future().get()).tasks.size(), 1);
  EXPECT_EQ(broker->figures().groups, groups + 1) << "each is a sync";
}

TEST_F(StoreTest, IsNotWrittenToWhenSomebodyLooks) {
  const auto broker = open();
  NewTask task;
  task.id = "a";
  ASSERT_TRUE(call(*broker, Push{.tasks = {task}}));
  const std::uint64_t groups = broker->figures().groups;
  EXPECT_EQ(groups, 1U);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(call(*broker, GetTask{.id = "a"}));
  EXPECT_EQ(broker->figures().groups, groups);
}

TEST_F(StoreTest, ThatIsClosedAnswersThoseWhoStillSearch) {
  EmbeddedBroker::Settings settings;
  settings.store.searched_tasks = 0;
  for (int i = 0; i < 10; ++i) {
    int answered = 0;
    {
      auto broker = EmbeddedBroker::open(path_, settings);
      ASSERT_TRUE(broker.has_value());
      ASSERT_TRUE(call(**broker, Push{.tasks = std::vector<NewTask>(1'000)}));  // not in the tables
      for (int list = 0; list < 5; ++list) {
        (*broker)->submit(ListTasks{}, {}, [&](const Answer&) { ++answered; });
      }
      for (int look = 0; look < i; ++look) ASSERT_TRUE(call(**broker, Stats{}));
    }
    EXPECT_EQ(answered, 5);
  }
}

TEST_F(StoreTest, IsRefusedWhileAnotherHasItOpen) {
  const auto broker = open();
  const Error error = refused();
  EXPECT_EQ(error.code, ErrorCode::kConflict);
  EXPECT_THAT(error.message, HasSubstr("held by process " + std::to_string(::getpid())));
}

TEST_F(StoreTest, ThatSaysAnEarlierVersionThanItHasIsRefused) {
  open().reset();
  ASSERT_TRUE(file().execute("PRAGMA user_version = 4"));
  EXPECT_THAT(refused().message, HasSubstr("version 4, and has the tables of version 5"));
}

TEST_F(StoreTest, OfALaterVersionIsRefused) {
  open().reset();
  ASSERT_TRUE(file().execute("PRAGMA user_version = 1000"));
  EXPECT_THAT(refused().message, HasSubstr("version 1000"));
}

TEST_F(StoreTest, WhoseTablesAreOthersIsRefusedButOneMayAddAnIndex) {
  open().reset();
  ASSERT_TRUE(file().execute("CREATE INDEX mine ON tasks (user); ANALYZE"));
  open().reset();
  ASSERT_TRUE(file().execute("PRAGMA user_version = 2"));
  EXPECT_THAT(refused().message, HasSubstr("not those of version 2"));
  ASSERT_TRUE(file().execute("PRAGMA user_version = 5; DROP TABLE xcom"));
  EXPECT_THAT(refused().message, HasSubstr("not those of version 5"));
  ASSERT_TRUE(file().execute("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema"));
  EXPECT_THAT(refused().message, HasSubstr("its tables are missing"));
}

TEST_F(StoreTest, OfNoVersionIsRefused) {
  open().reset();
  for (const int version : {0, -1, -2'000'000'000}) {
    ASSERT_TRUE(file().execute(fmt::format("PRAGMA user_version = {}", version)));
    EXPECT_THAT(refused().message, HasSubstr(fmt::format("no version {} of", version)));
  }
}

// The store as an earlier program would have written it.
void make_earlier(const std::string& path, std::int64_t version) {
  const std::string later = path + "/later.db";
  std::filesystem::rename(path + "/retsu.db", later);
  auto database =
      sqlite::Database::open(path + "/retsu.db", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  ASSERT_TRUE(embedded::prepare_schema(*database, version));
  ASSERT_TRUE(database->execute("ATTACH '" + later + "' AS later"));
  embedded::for_each_kind([&]<class Row>() {
    const std::string table = embedded::Kind<Row>::kTable;
    const auto columns = database->text(
        fmt::format("SELECT group_concat(name) FROM pragma_table_info('{}', 'main')", table));
    std::string from = "later." + table;
    if (table == "claim_tasks" && version < 4) {
      from =
          "(SELECT value ->> 0 AS fence, value ->> 1 AS claim, value ->> 2 AS task,"
          " value ->> 3 AS queue, value ->> 4 AS user, value ->> 5 AS hold,"
          " value ->> 6 AS outcome, value ->> 7 AS state, NULL AS checksum"
          " FROM later.claim_tasks, json_each(tasks))";
    }
    const auto copied = database->execute(
        fmt::format("INSERT INTO main.{} ({}) SELECT {} FROM {}", table, *columns, *columns, from));
    ASSERT_TRUE(copied) << copied.error().message;
  });
  ASSERT_TRUE(database->execute("DETACH later"));
  std::filesystem::remove(later);
}

TEST_F(StoreTest, OfAnEarlierVersionIsBroughtUpToDate) {
  for (const std::int64_t version : {2, 3, 4}) {
    start_over();
    Settle settle;
    settle.all = Outcome::kFinish;
    {
      const auto broker = open();
      NewTask task;
      task.id = "a";
      task.payload = "1";
      ASSERT_TRUE(call(*broker, Push{.tasks = {task}}));
      ASSERT_TRUE(call(*broker, Push{.tasks = std::vector<NewTask>(200)}));
      settle.claim_id = call(*broker, Claim{.max = 150})->claim_id;
      ASSERT_TRUE(call(*broker, settle));
      ASSERT_EQ(call(*broker, Claim{.max = 10, .claim_id = "open"})->tasks.size(), 10);
    }
    make_earlier(path_, version);
    EXPECT_EQ(*file().integer("PRAGMA user_version"), version);
    {
      const auto broker = open();
      EXPECT_EQ(call(*broker, GetTask{.id = "a"})->payload, Json("1"));
      const auto again = call(*broker, settle);  // what it remembers
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(again->results.size(), 150);
      settle.claim_id = "open";
      EXPECT_EQ(call(*broker, settle)->results.size(), 10);
    }
    EXPECT_EQ(*file().integer("PRAGMA user_version"), embedded::kSchemaVersion);
  }
}

TEST_F(StoreTest, ThatIsAnotherProgramsDatabaseIsRefusedAndLeftAlone) {
  auto other =
      sqlite::Database::open(path_ + "/retsu.db", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  ASSERT_TRUE(other->execute("CREATE TABLE tasks (name TEXT)"));
  EXPECT_THAT(refused().message, HasSubstr("not a store"));
  EXPECT_EQ(*other->integer("SELECT count(*) FROM sqlite_schema"), 1);
}

TEST_F(StoreTest, ThatIsNoDatabaseIsRefused) {
  FILE* out = std::fopen((path_ + "/retsu.db").c_str(), "w");
  ASSERT_NE(out, nullptr);
  for (int i = 0; i < 1'000; ++i) std::fputs("this is no database\n", out);
  std::fclose(out);
  EXPECT_THAT(refused().message, HasSubstr("is damaged"));
}

TEST_F(StoreTest, WithADamagedRowIsRefusedAndTheRowIsNamed) {
  {
    const auto broker = open();
    ASSERT_TRUE(call(*broker, Push{.tasks = std::vector<NewTask>(3)}));
  }
  ASSERT_TRUE(file().execute("UPDATE tasks SET state = 'QUEUEX' WHERE sequence = 2"));
  EXPECT_THAT(refused().message, HasSubstr("row 2, column state of table tasks"));
}

TEST_F(StoreTest, WithADamagedPageIsRefusedAndThePageIsNamed) {
  constexpr std::streamoff kPage = 8'192;
  for (const char* const table : {"tasks", "meta", "journal_file", "queues"}) {
    start_over();
    ASSERT_TRUE(call(*open(), Push{.tasks = std::vector<NewTask>(3)}));
    const auto root = file().integer(
        std::string("SELECT rootpage FROM sqlite_schema WHERE name = '") + table + "'");
    {
      std::fstream bytes(path_ + "/retsu.db", std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekp((*root - 1) * kPage).write("nonsense", 8);
      ASSERT_TRUE(bytes.good());
    }
    EXPECT_THAT(refused().message, HasSubstr("retsu.db: Page " + std::to_string(*root))) << table;
  }
}

TEST_F(StoreTest, WhoseTablesAreEmptyOrGoneIsRefused) {
  const std::string tables = path_ + "/retsu.db";
  std::ofstream(tables).close();  // as one that was killed while it made them leaves them
  ASSERT_TRUE(call(*open(), Push{.tasks = std::vector<NewTask>(1)}));
  std::filesystem::resize_file(tables, 0);
  EXPECT_THAT(refused().message, HasSubstr("retsu.db is empty or gone"));
  std::filesystem::remove(tables);
  EXPECT_THAT(refused().message, HasSubstr("retsu.db is empty or gone"));
}

TEST_F(StoreTest, WithDamagedTasksOfAClaimIsRefusedAndTheRowIsNamed) {
  const char* const changes[] = {
      "tasks = replace(tasks, 'finish', 'finisj'), checksum = NULL",  // no such outcome
      "tasks = replace(tasks, 'finish', 'fail')",                     // not what was written
      "place = place + 1, checksum = NULL",                           // not where it was
      "tasks = '[[1,2]]', checksum = NULL",
      "tasks = '[', checksum = NULL",
  };
  for (const char* const change : changes) {
    start_over();
    {
      const auto broker = open();
      ASSERT_TRUE(call(*broker, Push{.tasks = std::vector<NewTask>(3)}));
      Settle settle;
      settle.claim_id = call(*broker, Claim{.max = 3})->claim_id;
      settle.all = Outcome::kFinish;
      ASSERT_TRUE(call(*broker, settle));
    }
    ASSERT_TRUE(file().execute(std::string("UPDATE claim_tasks SET ") + change)) << change;
    EXPECT_THAT(refused().message, HasSubstr("of table claim_tasks")) << change;
  }
}

// A row of which some has changed keeps the rest, and is not given a sum if it is damaged.
TEST_F(StoreTest, TasksOfAClaimAreWrittenAMomentLaterEachAsItIs) {
  auto broker = open();
  ASSERT_TRUE(call(*broker, Push{.tasks = std::vector<NewTask>(100)}));
  const auto claimed = call(*broker, Claim{.max = 100});
  broker.reset();
  const auto held = [&](const char* hold) {
    return *file().integer(
        fmt::format("SELECT count(*) FROM claim_tasks, json_each(tasks) "
                    "WHERE value ->> 5 = '{}'",
                    hold));
  };
  EXPECT_EQ(held("held"), 100);
  Settle settle;
  settle.claim_id = claimed->claim_id;
  for (const int i : {0, 41, 99}) {
    settle.results.push_back({.id = claimed->tasks[i].id});
  }
  broker = open();
  ASSERT_TRUE(call(*broker, settle));
  broker.reset();
  EXPECT_EQ(held("held"), 97);
  EXPECT_EQ(held("settled"), 3);
  broker = open();  // all sums are right
  ASSERT_TRUE(file().execute("UPDATE claim_tasks SET checksum = 1 WHERE place = 0"));
  settle.results.front().id = claimed->tasks[50].id;
  ASSERT_TRUE(call(*broker, settle));
  broker.reset();
  EXPECT_THAT(refused().message, HasSubstr("of table claim_tasks"));
}

// What came and went between two writes of the tables is not written; what they have must go.
TEST_F(StoreTest, AValueThatWentCameAndWentAgainIsGone) {
  ASSERT_TRUE(call(*open(), PutXcom{.key = "k", .value = "1"}));
  {
    const auto broker = open();
    ASSERT_TRUE(call(*broker, DeleteXcom{.key = "k"}));
    ASSERT_TRUE(call(*broker, PutXcom{.key = "k", .value = "2"}));
    ASSERT_TRUE(call(*broker, DeleteXcom{.key = "k"}));
  }
  EXPECT_EQ(*file().integer("SELECT count(*) FROM xcom"), 0);
  EXPECT_EQ(call(*open(), GetXcom{.key = "k"}).error().code, ErrorCode::kNotFound);
}

TEST_F(StoreTest, WithADamagedGroupIsRefusedAndTheGroupIsNamed) {
  open().reset();
  // One that the tables do not have; that the time has passed may have been stored.
  ASSERT_TRUE(file().execute(
      "UPDATE journal_file SET folded = 0; INSERT INTO journal VALUES (1, x'0100')"));
  EXPECT_THAT(refused().message, HasSubstr("journal group 1"));
}

TEST_F(StoreTest, WithAGroupMissingIsRefused) {
  open().reset();
  embedded::Packer empty;
  embedded::pack_group({}, empty);
  sqlite::Database database = file();
  ASSERT_TRUE(database.execute("UPDATE journal_file SET folded = 0"));
  auto add = database.prepare("INSERT INTO journal VALUES (?, ?)");
  for (const std::int64_t number : {1, 3}) {
    add->bind(1, number);
    add->bind_blob(2, empty.view());
    ASSERT_TRUE(add->run());
  }
  EXPECT_THAT(refused().message, HasSubstr("group 2 is missing"));
}

TEST(JournalTest, ARowThatIsFiledUnderTheKeyOfAnotherIsDamage) {
  Engine engine;
  std::optional<engine::KeyRow> row;
  const embedded::Overlay::Step right{embedded::What::kCreated, std::string_view("\0", 1)};
  EXPECT_TRUE(embedded::Overlay::apply({std::uint64_t{1}}, {right}, row, engine));
  const embedded::Overlay::Step wrong{embedded::What::kCreated, "\x01\x02"};  // its number is 2
  EXPECT_FALSE(embedded::Overlay::apply({std::uint64_t{1}}, {wrong}, row, engine));
}

}  // namespace
}  // namespace retsu
