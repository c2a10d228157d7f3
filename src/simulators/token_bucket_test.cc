#include "simulators/token_bucket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retsu::simulators {
namespace {

constexpr TimePoint kStart = std::chrono::sys_days{std::chrono::year{2026} / 11 / 15};

TEST(TokenBucket, GivesItsBurstAtOnceAndThenNothing) {
  TokenBucket bucket(10, 60);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(bucket.take(1, kStart)) << i;
  EXPECT_FALSE(bucket.take(1, kStart));
  EXPECT_EQ(bucket.left(kStart), 0);
  EXPECT_EQ(bucket.wait_for(1, kStart), Millis(1'000));
  EXPECT_EQ(bucket.until_full(kStart), Millis(10'000));
}

TEST(TokenBucket, IsRefilledEvenlyUpToItsBurst) {
  TokenBucket bucket(10, 60);
  ASSERT_TRUE(bucket.take(10, kStart));
  EXPECT_FALSE(bucket.take(1, kStart + Millis(999)));
  EXPECT_TRUE(bucket.take(1, kStart + Millis(1'000)));
  EXPECT_EQ(bucket.left(kStart + Millis(4'500)), 3);
  EXPECT_EQ(bucket.wait_for(4, kStart + Millis(4'500)), Millis(500));
  EXPECT_EQ(bucket.left(kStart + std::chrono::days(365)), 10);
}

TEST(TokenBucket, NothingIsLostByAskingOften) {
  TokenBucket bucket(10, 7);
  ASSERT_TRUE(bucket.take(10, kStart));
  for (int ms = 0; ms < 60'000; ++ms) (void)bucket.left(kStart + Millis(ms));
  EXPECT_EQ(bucket.left(kStart + Millis(59'999)), 6);
  EXPECT_EQ(bucket.left(kStart + Millis(60'000)), 7);
}

TEST(TokenBucket, TakesAllOrNothing) {
  TokenBucket bucket(10, 60);
  ASSERT_TRUE(bucket.take(7, kStart));
  EXPECT_FALSE(bucket.take(4, kStart));
  EXPECT_EQ(bucket.left(kStart), 3);
}

TEST(TokenBucket, AClockThatGoesBackChangesNothing) {
  TokenBucket bucket(10, 60);
  ASSERT_TRUE(bucket.take(10, kStart));
  EXPECT_EQ(bucket.left(kStart - Millis(5'000)), 0);
  EXPECT_EQ(bucket.left(kStart + Millis(1'000)), 1);
}

TEST(FixedWindow, IsNewAtMidnight) {
  FixedWindow day(5'000, std::chrono::days(1));
  const TimePoint evening = kStart + std::chrono::hours(23);
  EXPECT_TRUE(day.take(5'000, evening));
  EXPECT_FALSE(day.take(1, evening));
  EXPECT_EQ(day.until_end(evening), std::chrono::hours(1));
  EXPECT_EQ(day.left(kStart + std::chrono::hours(24) - Millis(1)), 0);
  EXPECT_EQ(day.left(kStart + std::chrono::hours(24)), 5'000);
}

TEST(FixedWindow, AClockThatGoesBackOpensNoOldWindow) {
  FixedWindow day(2, std::chrono::days(1));
  EXPECT_TRUE(day.take(2, kStart));
  EXPECT_FALSE(day.take(1, kStart - Millis(1)));
  EXPECT_EQ(day.left(kStart), 0);
}

}  // namespace
}  // namespace retsu::simulators
