#include "base/doorbell.h"

#include <gtest/gtest.h>

namespace retsu {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

// Two threads that hand a number back and forth.
TEST(Doorbell, WakesThoseWhoLookAndThoseWhoSleep) {
  std::mutex mutex;
  Doorbell bell;
  int number = 0;
  const auto take_turns = [&](int whose, Steady::duration pause) {
    for (int turn = 0; turn < 500; ++turn) {
      std::unique_lock lock(mutex);
      bell.wait(lock, [&] { return number % 2 == whose; });
      // Long enough for the other to fall asleep, or not.
      if (turn % 100 == 0) bell.wait_until(lock, Steady::now() + pause, [] { return false; });
      ++number;
      bell.ring();
    }
  };
  std::thread other([&] { take_turns(1, 2ms); });
  take_turns(0, 3ms);
  other.join();
  EXPECT_EQ(number, 1'000);
}

TEST(Doorbell, WaitsUntilAMomentIfNobodyRings) {
  std::mutex mutex;
  Doorbell bell;
  std::unique_lock lock(mutex);
  const auto until = Steady::now() + 1ms;
  bell.wait_until(lock, until, [] { return false; });
  EXPECT_GE(Steady::now(), until);
  EXPECT_TRUE(lock.owns_lock());
}

TEST(Doorbell, DoesNotKeepThoseWhoNeedNotWait) {
  std::mutex mutex;
  Doorbell bell;
  std::unique_lock lock(mutex);
  bell.wait(lock, [] { return true; });
  EXPECT_TRUE(lock.owns_lock());
}

}  // namespace
}  // namespace retsu
