// Lists that are found in the tables, beside those who push.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "base/temporary_directory.h"
#include "broker/embedded/embedded_broker.h"

namespace retsu {
namespace {

constexpr int kTasks = 5'000;  // more than an engine lists by itself

class StoreLists : public testing::Test {
 protected:
  StoreLists() {
    for (int i = 0; i < kTasks;) {
      Push push;
      for (int in_batch = 0; in_batch < 1'000; ++in_batch) {
        push.tasks.push_back({.id = "t" + std::to_string(i++), .queue = "lasting"});
      }
      EXPECT_TRUE(call(*broker_, std::move(push)));
    }
  }

  // Calls `work` while others push without a pause.
  template <class Work>
  void beside_pushes(Work work) {
    std::atomic<bool> stop = false;
    std::thread others([&] {
      while (!stop) EXPECT_TRUE(call(*broker_, Push{.tasks = std::vector<NewTask>(10)}));
    });
    work();
    stop = true;
    others.join();
  }

  // Every id of a list, with how often it was shown.
  std::map<std::string, int> shown(ListTasks list) {
    std::map<std::string, int> ids;
    for (list.limit = 100;;) {
      const auto page = call(*broker_, list);
      EXPECT_TRUE(page) << page.error().message;
      if (!page) return ids;
      for (const Task& task : page->tasks) ++ids[task.id];
      if (!page->next_cursor) return ids;
      list.cursor = *page->next_cursor;
    }
  }

  // Each push is the first of the list, which begins at the cursor.
  void expect_newest_first(const std::string& cursor) {
    for (int i = 0; i < 20; ++i) {
      const std::string id = "new" + std::to_string(i);
      ASSERT_TRUE(call(*broker_, Push{.tasks = {{.id = id, .queue = "lasting"}}}));
      ListTasks list;
      list.filter.queue = "lasting";
      list.cursor = cursor;
      list.limit = 1;
      const auto page = call(*broker_, list);
      ASSERT_TRUE(page) << page.error().message;
      EXPECT_EQ(page->tasks.at(0).id, id);
    }
  }

  const TemporaryDirectory directory_;
  const std::unique_ptr<EmbeddedBroker> broker_ = *EmbeddedBroker::open(directory_.path());
};

TEST_F(StoreLists, ShowOnceWhatWasThereWhenTheyBeganAndEnd) {
  beside_pushes([&] {
    auto all = shown({});
    for (int i = 0; i < kTasks; ++i) {
      const std::string id = "t" + std::to_string(i);
      EXPECT_EQ(all[id], 1) << id;
    }
    for (const auto& [id, times] : all) EXPECT_EQ(times, 1) << id;
  });
}

TEST_F(StoreLists, BeginWithWhatWasPushedLast) {
  beside_pushes([&] { expect_newest_first(""); });
}

TEST_F(StoreLists, WithACursorThatNobodyGaveThemAreRightAllTheSame) {
  beside_pushes([&] { expect_newest_first("1000000000"); });
}

TEST_F(StoreLists, OfAStateGoOnWithWhatCameIntoItMeanwhile) {
  ListTasks list;
  list.filter.state = State::kCanceled;
  list.limit = 10;
  for (int i = 100; i < 200; ++i) {
    ASSERT_TRUE(call(*broker_, CancelTask{"t" + std::to_string(i)}));
  }
  const auto first = call(*broker_, list);
  ASSERT_TRUE(first && first->next_cursor);
  ASSERT_TRUE(call(*broker_, CancelTask{"t5"}));
  list.cursor = *first->next_cursor;
  EXPECT_TRUE(shown(list).contains("t5"));
}

TEST_F(StoreLists, AreGivenUpAtTheirDeadline) {
  ListTasks search;
  search.filter.q = "nowhere";
  Context context;
  context.deadline = std::chrono::steady_clock::now();
  const auto answer = call(*broker_, search, context);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kDeadline);
}

}  // namespace
}  // namespace retsu
