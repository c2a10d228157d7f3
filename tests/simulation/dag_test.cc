// Dependencies at scale, with workers that die.

#include <algorithm>
#include <random>
#include <set>

#include "deep.h"
#include "simulation/driver.h"

namespace retsu::simulation {
namespace {

constexpr int kDepth = kSanitized ? 10'000 : 100'000;

std::string name(int i) { return "t" + std::to_string(i); }

void push_in_batches(Driver& driver, std::vector<NewTask> tasks) {
  for (std::size_t done = 0; done < tasks.size(); done += 1'000) {
    Push push;
    const auto end = std::min(tasks.size(), done + 1'000);
    std::move(tasks.begin() + static_cast<std::ptrdiff_t>(done),
              tasks.begin() + static_cast<std::ptrdiff_t>(end), std::back_inserter(push.tasks));
    driver.must(std::move(push));
  }
}

std::vector<NewTask> chain(int length, const auto& adjust) {
  std::vector<NewTask> tasks;
  for (int i = 0; i < length; ++i) {
    NewTask& task = tasks.emplace_back();
    task.id = name(i);
    if (i > 0) task.depends_on = {{name(i - 1)}};
    adjust(task);
  }
  return tasks;
}

std::int64_t in_state(Driver& driver, State state) {
  return driver.must(Stats{}).tasks.at(std::string(name_of(state)));
}

void run_random_dag(Driver& driver, int size) {
  constexpr int kWaits = 10'000;  // without anything to do: then it hangs
  std::mt19937_64 random(11);
  std::vector<std::set<std::string>> needs(static_cast<std::size_t>(size));
  std::vector<NewTask> tasks;
  for (int i = 0; i < size; ++i) {
    NewTask& task = tasks.emplace_back();
    task.id = name(i);
    task.user = "u" + std::to_string(random() % 50);
    task.max_attempts = 1'000;
    for (int d = 0; i > 0 && d < 4; ++d) {
      if (random() % 3 != 0) continue;
      const int near = std::max(0, i - 200);
      needs[static_cast<std::size_t>(i)].insert(
          name(near + static_cast<int>(random() % static_cast<std::uint64_t>(i - near))));
    }
    for (const std::string& id : needs[static_cast<std::size_t>(i)])
      task.depends_on.push_back({id});
  }
  // Inside a batch the order must not matter.
  for (int batch = 0; batch < size; batch += 1'000) {
    std::shuffle(tasks.begin() + batch, tasks.begin() + batch + 1'000, random);
  }
  push_in_batches(driver, std::move(tasks));

  std::set<std::string> finished;
  int deaths = 0;
  int waits = 0;
  while (std::ssize(finished) < size) {
    const ClaimReply claimed = driver.claim(1 + static_cast<std::int64_t>(random() % 20));
    if (claimed.tasks.empty()) {
      ASSERT_TRUE(driver.wait() && ++waits < kWaits) << "nothing runs, nothing is due: it hangs";
      continue;
    }
    for (const ClaimedTask& task : claimed.tasks) {
      ASSERT_FALSE(finished.contains(task.id)) << task.id << " runs again";
      for (const std::string& id : needs[std::stoul(task.id.substr(1))]) {
        ASSERT_TRUE(finished.contains(id)) << task.id << " runs before " << id;
        ASSERT_TRUE(task.inputs.contains(id));
      }
    }
    driver.clock += Millis(random() % 100);
    if (random() % 10 == 0) {
      ++deaths;  // never heard of again
      continue;
    }
    driver.finish(claimed);
    for (const ClaimedTask& task : claimed.tasks) finished.insert(task.id);
  }
  EXPECT_GT(deaths, 0);
  EXPECT_EQ(driver.must(Stats{}).edges, 0);
  EXPECT_EQ(in_state(driver, State::kFinished), size);
}

TEST(Dag, ARandomOneWithDyingWorkersRunsInOrderOnceAndToTheEnd) {
  EngineDriver driver;
  run_random_dag(driver, 10'000);
}

TEST(Dag, RunsInOrderOnceAndToTheEndThoughThePowerFails) {
  StoreDriver driver(kSanitized ? 40 : 200);
  run_random_dag(driver, kSanitized ? 1'000 : deep() ? 50'000 : 5'000);
  EXPECT_GT(driver.losses(), 5);
}

TEST(Dag, AVeryDeepChainIsPushedAndRunsToItsEnd) {
  EngineDriver driver;
  push_in_batches(driver, chain(kDepth, [](NewTask&) {}));
  EXPECT_EQ(in_state(driver, State::kDeferred), kDepth - 1);
  for (int i = 0; i < kDepth; ++i) {
    const ClaimReply claimed = driver.claim(10);
    ASSERT_EQ(claimed.tasks.size(), 1U);
    ASSERT_EQ(claimed.tasks[0].id, name(i));
    driver.finish(claimed);
  }
  EXPECT_EQ(in_state(driver, State::kFinished), kDepth);
}

TEST(Dag, ACancelRunsDownAVeryDeepChain) {
  EngineDriver driver;
  push_in_batches(driver, chain(kDepth, [](NewTask& task) {
                    task.on_dependency_cancel = OnDependencyCancel::kCancel;
                  }));
  driver.must(CancelTask{name(0)});
  driver.settle_down();
  EXPECT_EQ(in_state(driver, State::kCanceled), kDepth);
}

TEST(Dag, AVeryDeepCycleIsFoundAndSpelledOut) {
  EngineDriver driver;
  auto tasks = chain(kDepth, [](NewTask&) {});
  tasks[0].depends_on = {{name(kDepth)}};
  tasks[0].allow_missing = true;
  push_in_batches(driver, std::move(tasks));
  Push closing;
  closing.tasks.push_back({.id = name(kDepth), .depends_on = {{name(kDepth - 1)}}});
  const auto refused = driver.ask(std::move(closing));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDependencyCycle);
  EXPECT_NE(refused.error().details.find("\"t0\",\"t" + std::to_string(kDepth) + "\"]"),
            std::string::npos);
  EXPECT_EQ(driver.ask(GetTask{name(kDepth)}).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace retsu::simulation
