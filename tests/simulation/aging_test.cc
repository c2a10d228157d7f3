// Priorities with aging: the order, and the bound on being overtaken.

#include <algorithm>
#include <random>

#include "simulation/driver.h"

namespace retsu::simulation {
namespace {

struct Arrival {
  std::string id;
  TimePoint at;
  int priority;
  int number;
};

class Aging : public testing::TestWithParam<std::uint64_t> {
 protected:
  // Pushes at random times, claims at random times; gives the arrivals in the order in which they
  // started.
  std::vector<Arrival> play(std::int64_t aging_ms) {
    EngineDriver driver;
    QueuePolicy policy;
    policy.aging_ms = {aging_ms};
    driver.must(PutQueue{"default", policy});
    std::mt19937_64 random(GetParam());
    std::vector<Arrival> waiting;
    std::vector<Arrival> started;
    for (int i = 0; i < 1'500; ++i) {
      driver.clock += Millis(random() % 4 == 0 ? 0 : random() % 2'000);
      if (random() % 5 < 3) {
        Arrival made{"t" + std::to_string(i), driver.clock, 1 + static_cast<int>(random() % 5), i};
        Push push;
        push.tasks.push_back({.id = made.id, .priority = {made.priority}});
        driver.must(std::move(push));
        waiting.push_back(made);
        continue;
      }
      const ClaimReply claimed = driver.claim(1 + static_cast<std::int64_t>(random() % 3));
      for (const ClaimedTask& task : claimed.tasks) {
        const auto found = std::ranges::find(waiting, task.id, &Arrival::id);
        // The best by the key, ties by arrival.
        const auto key = [&](const Arrival& arrival) {
          return std::pair(arrival.at - Millis((arrival.priority - 1) * aging_ms), arrival.number);
        };
        EXPECT_EQ(key(*found), key(*std::ranges::min_element(waiting, {}, key)));
        started.push_back(*found);
        waiting.erase(found);
      }
      driver.finish(claimed);
    }
    return started;
  }
};

TEST_P(Aging, ATaskIsOvertakenOnlyByHigherOnesThatArriveSoonEnough) {
  const std::int64_t aging_ms = 1 + static_cast<std::int64_t>(GetParam() % 7) * 3'000;
  const std::vector<Arrival> started = play(aging_ms);
  int overtakings = 0;
  for (std::size_t first = 0; first < started.size(); ++first) {
    for (std::size_t then = first + 1; then < started.size(); ++then) {
      const Arrival& winner = started[first];
      const Arrival& loser = started[then];
      if (winner.number < loser.number) continue;
      ++overtakings;
      EXPECT_GT(winner.priority, loser.priority);
      EXPECT_LE(winner.at - loser.at, Millis((winner.priority - loser.priority) * aging_ms));
      EXPECT_LE(winner.at - loser.at, Millis(4 * aging_ms));
    }
  }
  if (aging_ms > 1) {
    EXPECT_GT(overtakings, 0);
  }
}

TEST_P(Aging, WithoutAgingIsFirstInFirstOut) {
  const std::vector<Arrival> started = play(0);
  EXPECT_TRUE(std::ranges::is_sorted(started, {}, &Arrival::number));
}

TEST_P(Aging, StrictNeverLetsALowerOneFirst) { play(kStrictAging.step_ms); }

INSTANTIATE_TEST_SUITE_P(Seeds, Aging, testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace retsu::simulation
