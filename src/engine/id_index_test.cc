#include "engine/id_index.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace retsu::engine {
namespace {

std::set<const TaskNode*> all_of(const IdIndex& index) {
  std::set<const TaskNode*> all;
  index.for_each([&](const TaskNode& task) { all.insert(&task); });
  return all;
}

TEST(IdIndex, AnEmptyOneFindsNothing) {
  const IdIndex index;
  EXPECT_EQ(index.find("a"), nullptr);
  index.expect("a");
  EXPECT_EQ(index.size(), 0U);
  EXPECT_TRUE(all_of(index).empty());
}

TEST(IdIndex, FindsWhatCameAndNotWhatWent) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::deque<TaskNode> tasks(20'000);
  for (std::size_t i = 0; i < tasks.size(); ++i)
    tasks[i].row.id = Text("task-" + std::to_string(i));
  IdIndex index;
  std::set<const TaskNode*> there;
  // Comes and goes, more of the one in some stretches and more of the other in others, so that
  // shards fill up, close gaps and begin again.
  for (int step = 0; step < 200'000; ++step) {
    TaskNode& task = tasks[random() % tasks.size()];
    const bool is_there = there.contains(&task);
    ASSERT_EQ(index.find(task.row.id), is_there ? &task : nullptr);
    const bool shall_be = random() % 8 < (step / 20'000 % 2 == 0 ? 7U : 1U);
    if (shall_be && !is_there) {
      index.insert(&task);
      there.insert(&task);
    } else if (!shall_be && is_there) {
      index.erase(&task);
      there.erase(&task);
    }
  }
  EXPECT_EQ(index.size(), there.size());
  EXPECT_EQ(all_of(index), there);
  for (TaskNode& task : tasks) {
    EXPECT_EQ(index.find(task.row.id), there.contains(&task) ? &task : nullptr);
  }
}

TEST(IdIndex, RoomThatIsMadeBeforeChangesNothing) {
  std::deque<TaskNode> tasks(5'000);
  IdIndex index;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i == 1'000) index.reserve(tasks.size());
    tasks[i].row.id = Text(std::to_string(i));
    index.insert(&tasks[i]);
  }
  EXPECT_EQ(index.size(), tasks.size());
  for (TaskNode& task : tasks) EXPECT_EQ(index.find(task.row.id), &task);
  for (TaskNode& task : tasks) index.erase(&task);
  EXPECT_EQ(index.size(), 0U);
  EXPECT_TRUE(all_of(index).empty());
}

}  // namespace
}  // namespace retsu::engine
