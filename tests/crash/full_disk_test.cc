// A disk that is really full: a file system in memory, no larger than it must be.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "broker/embedded/embedded_broker.h"
#include "broker/embedded/verify.h"
#include "patience.h"
#include "small_disk.h"

namespace retsu {
namespace {

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << "may not mount: " << std::strerror(errno);
    std::ofstream(other_) << std::string(8 << 20, 'x');
    open();
  }
  void open(std::size_t journal_bytes = 64 << 20) {
    broker_.reset();
    EmbeddedBroker::Settings settings;
    settings.store.ballast_bytes = 8 << 20;
    settings.store.journal_bytes = journal_bytes;
    auto opened = EmbeddedBroker::open(disk_.path() + "/store", settings);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    broker_ = std::move(*opened);
  }
  Result<PushReply> push(int bytes) {
    NewTask task;
    task.payload = '"' + std::string(static_cast<std::size_t>(bytes), 'x') + '"';
    return call(*broker_, Push{.tasks = std::vector<NewTask>(50, task)});
  }
  // Until there is no room. How many tasks were accepted.
  int fill(int bytes) {
    for (int accepted = 0;; accepted += 50) {
      const auto pushed = push(bytes);
      if (pushed) continue;
      EXPECT_EQ(pushed.error().code, ErrorCode::kStorageFull) << pushed.error().message;
      return accepted;
    }
  }
  void finish_after(int accepted);
  void leave_room(std::size_t bytes);  // and no more, by another program
  void finish_all();                   // 50 tasks
  std::int64_t count(const char* state) {
    const auto stats = call(*broker_, Stats{});
    EXPECT_TRUE(stats.has_value());
    return stats ? stats->tasks.at(state) : -1;
  }

  SmallDisk disk_{48};
  const std::string other_ = disk_.path() + "/other";  // another program's file
  std::unique_ptr<EmbeddedBroker> broker_;
};

TEST_F(FullDisk, TakesNoMoreButWorkGoesOnToItsEnd) { finish_after(fill(2'000)); }

// It may be the tables that do not fit.
TEST_F(FullDisk, TakesNoMoreButWorkGoesOnToItsEndWhileRowsAreWritten) {
  open(1 << 20);
  finish_after(fill(2'000));
}

void FullDisk::finish_after(int accepted) {
  ASSERT_GT(accepted, 1'000);
  EXPECT_EQ(count("QUEUED"), accepted);
  ASSERT_GT(accepted, 2'000);  // so that a list would come from the tables, which cannot be written
  EXPECT_TRUE(call(*broker_, ListTasks{}));
  int finished = 0;
  for (;;) {
    const auto claimed = call(*broker_, Claim{.max = 100});
    ASSERT_TRUE(claimed.has_value()) << claimed.error().message;
    if (claimed->tasks.empty()) break;
    const auto settled =
        call(*broker_, Settle{.claim_id = claimed->claim_id, .all = Outcome::kFinish});
    ASSERT_TRUE(settled.has_value()) << settled.error().message;
    finished += static_cast<int>(claimed->tasks.size());
  }
  EXPECT_EQ(finished, accepted);
  EXPECT_EQ(count("FINISHED"), accepted);
}

TEST_F(FullDisk, GoesOnByItselfWhenThereIsRoomAgain) {
  const int accepted = fill(20'000);
  ASSERT_GT(accepted, 100);
  EXPECT_EQ(push(20'000).error().code, ErrorCode::kStorageFull);
  std::filesystem::remove(other_);
  ASSERT_TRUE(succeeds_in_the_end([&] { return push(1'000).has_value(); }));
  EXPECT_EQ(count("QUEUED"), accepted + 50);
}

TEST_F(FullDisk, LosesNothingWhenTheProgramEndsThere) {
  const int accepted = fill(5'000);
  open();
  EXPECT_EQ(count("QUEUED"), accepted);
  broker_.reset();
  const auto verdict = embedded::verify(disk_.path() + "/store/retsu.db");
  ASSERT_TRUE(verdict.has_value());
  EXPECT_TRUE(verdict->problems.empty()) << verdict->problems.front();
}

// Others may have taken what was left. What is waiting can be finished all the same.
TEST_F(FullDisk, AStoreThatIsOpenedThereGivesUpItsBallast) {
  ASSERT_TRUE(push(1'000));
  broker_.reset();
  leave_room(0);
  open();
  finish_all();
}

// It has none to give up: what is left is for work that is to be finished.
TEST_F(FullDisk, AStoreThatIsOpenedWithLittleRoomTakesNoMore) {
  ASSERT_TRUE(push(1'000));
  broker_.reset();
  std::filesystem::remove(disk_.path() + "/store/ballast");
  leave_room(4 << 20);
  open();
  const auto pushed = push(1);
  ASSERT_FALSE(pushed.has_value());
  EXPECT_EQ(pushed.error().code, ErrorCode::kStorageFull);
  finish_all();
}

void FullDisk::leave_room(std::size_t bytes) {
  const std::string path = disk_.path() + "/rest";
  {
    std::ofstream rest(path);
    for (const std::string block(4'096, 'x'); rest.write(block.data(), 4'096).flush();) continue;
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - bytes);
}

void FullDisk::finish_all() {
  ASSERT_NE(broker_, nullptr);
  const auto claimed = call(*broker_, Claim{.max = 50});
  ASSERT_TRUE(claimed.has_value()) << claimed.error().message;
  EXPECT_EQ(claimed->tasks.size(), 50);
  EXPECT_TRUE(call(*broker_, Settle{.claim_id = claimed->claim_id, .all = Outcome::kFinish}));
  EXPECT_EQ(count("FINISHED"), 50);
}

}  // namespace
}  // namespace retsu
