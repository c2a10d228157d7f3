#include "base/uuid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace retsu {
namespace {

using testing::MatchesRegex;
using testing::StartsWith;

constexpr TimePoint kNow{Millis{0x0199'a0b1'c2d3}};

TEST(Uuids, HaveTheFormOfVersion7AndBeginWithTheTime) {
  UuidSource ids;
  const std::string id = ids.next(kNow);
  EXPECT_THAT(id, StartsWith("0199a0b1-c2d3-7"));
  EXPECT_THAT(id,
              MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
}

TEST(Uuids, RiseStrictlyWithinAMillisecondAndWhenTheClockGoesBack) {
  UuidSource ids(1);
  std::string last = ids.next(kNow);
  for (int i = 0; i < 20'000; ++i) {
    const std::string next = ids.next(kNow - Millis(i % 3));
    ASSERT_LT(last, next);
    last = next;
  }
  EXPECT_LT(last, ids.next(kNow + Millis(1'000)));
}

TEST(Uuids, OfOneSeedAreTheSame) {
  UuidSource a(7), b(7), c(8);
  EXPECT_EQ(a.next(kNow), b.next(kNow));
  EXPECT_NE(a.next(kNow), c.next(kNow));
}

TEST(Uuids, AreMadeForEveryTime) {
  UuidSource ids(1);
  EXPECT_EQ(ids.next(TimePoint::min()).size(), 36u);
  EXPECT_THAT(ids.next(kNever), StartsWith("ffffffff-ffff-7"));
}

TEST(Uuids, OfManyThreadsDiffer) {
  UuidSource ids;
  std::vector<std::vector<std::string>> made(4);
  std::vector<std::thread> threads;
  threads.reserve(made.size());
  for (auto& mine : made) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5'000; ++i) mine.push_back(ids.next(kNow));
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<std::string> all;
  for (const auto& mine : made) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 20'000u);
}

}  // namespace
}  // namespace retsu
