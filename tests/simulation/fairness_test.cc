// Who waits for whom, with many users.

#include <algorithm>
#include <map>

#include "simulation/driver.h"

namespace retsu::simulation {
namespace {

constexpr int kMany = kSanitized ? 10'000 : 100'000;
constexpr std::int64_t kBatch = 1'000;

void push_many(Driver& driver, std::int64_t tasks, const auto& user_of) {
  for (std::int64_t done = 0; done < tasks; done += kBatch) {
    Push push;
    for (std::int64_t i = done; i < std::min(tasks, done + kBatch); ++i) {
      push.tasks.emplace_back();
      push.tasks.back().user = user_of(i);
    }
    driver.must(std::move(push));
  }
}

TEST(Fairness, OneTaskAgainstAThousandIsServedSecondAtLatest) {
  EngineDriver driver;
  push_many(driver, 1'000, [](auto) { return "noisy"; });
  push_many(driver, 1, [](auto) { return "quiet"; });
  const ClaimReply claimed = driver.claim(2);
  EXPECT_TRUE(
      std::ranges::any_of(claimed.tasks, [](const auto& task) { return task.user == "quiet"; }));
}

// One user with very many tasks, very many users with one each: nobody waits more than one round.
TEST(Fairness, AmongVeryManyUsersNobodyWaitsMoreThanARound) {
  EngineDriver driver;
  push_many(driver, kMany, [](auto) { return "noisy"; });
  push_many(driver, kMany, [](auto i) { return "user-" + std::to_string(i); });
  std::int64_t served = 0;
  std::int64_t noisy = 0;
  std::int64_t last_quiet = 0;
  while (served - noisy < kMany) {
    const ClaimReply claimed = driver.claim(kBatch);
    ASSERT_FALSE(claimed.tasks.empty());
    for (const ClaimedTask& task : claimed.tasks) {
      ++served;
      task.user == "noisy" ? ++noisy : last_quiet = served;
    }
    driver.finish(claimed);
  }
  EXPECT_LE(last_quiet, kMany + 1) << "a round has one turn for each user";
}

TEST(Fairness, SharesFollowWeightsWithinOnePerCentOverAHundredRounds) {
  EngineDriver driver;
  const std::map<std::string, std::int64_t> weights = {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 5},
                                                       {"e", 8}, {"f", 1}, {"g", 13}};
  std::int64_t round = 0;
  for (const auto& [user, weight] : weights) {
    driver.must(PutUser{user, "", {.weight = weight}});
    round += weight;
  }
  constexpr std::int64_t kRounds = 100;
  for (const auto& [user, weight] : weights) {
    push_many(driver, weight * (kRounds + 2), [&](auto) { return user; });
  }
  std::map<std::string, std::int64_t> got;
  for (std::int64_t served = 0; served < round * kRounds;) {
    const ClaimReply claimed = driver.claim(std::min<std::int64_t>(37, round * kRounds - served));
    served += std::ssize(claimed.tasks);
    for (const ClaimedTask& task : claimed.tasks) ++got[task.user];
    driver.finish(claimed);
  }
  for (const auto& [user, weight] : weights) {
    const double due = static_cast<double>(weight) / static_cast<double>(round);
    const double share = static_cast<double>(got[user]) / static_cast<double>(round * kRounds);
    EXPECT_NEAR(share / due, 1.0, 0.01) << user;
  }
}

// P6: whenever a user's head is served, no other user of weight w was served more than w times
// since it came to the head.
TEST(Fairness, TheHeadOfALineWaitsForAtMostTheWeightOfEachOtherUser) {
  EngineDriver driver;
  std::mt19937_64 random(7);
  const int users = 40;
  std::map<std::string, std::int64_t> weights;
  for (int i = 0; i < users; ++i) {
    const std::string user = "u" + std::to_string(i);
    weights[user] = 1 + static_cast<std::int64_t>(random() % 4);
    driver.must(PutUser{user, "", {.weight = weights[user]}});
  }
  std::map<std::string, std::int64_t> waiting;
  std::map<std::string, std::map<std::string, std::int64_t>> since;  // head of -> served others
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 3 != 0) {
      const std::string user = "u" + std::to_string(random() % users * random() % users);
      Push push;
      push.tasks.emplace_back().user = user;
      driver.must(std::move(push));
      if (waiting[user]++ == 0) since[user].clear();
      continue;
    }
    const ClaimReply claimed = driver.claim(1 + static_cast<std::int64_t>(random() % 5));
    for (const ClaimedTask& task : claimed.tasks) {
      for (const auto& [other, times] : since[task.user]) {
        if (other != task.user) {
          ASSERT_LE(times, weights[other]) << task.user << " behind " << other;
        }
      }
      since[task.user].clear();
      --waiting[task.user];
      for (auto& [user, counts] : since) {
        if (user != task.user && waiting[user] > 0) ++counts[task.user];
      }
    }
    driver.finish(claimed);
  }
}

}  // namespace
}  // namespace retsu::simulation
