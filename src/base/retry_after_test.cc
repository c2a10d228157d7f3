#include "base/retry_after.h"

#include <gtest/gtest.h>

namespace retsu {
namespace {

using namespace std::chrono_literals;

const TimePoint kNow = std::chrono::sys_days(std::chrono::year(2026) / 11 / 16);  // a Monday

TEST(RetryAfter, IsSecondsOrADate) {
  EXPECT_EQ(parse_retry_after("0", kNow), 0ms);
  EXPECT_EQ(parse_retry_after("120", kNow), 2min);
  EXPECT_EQ(parse_retry_after("Mon, 16 Nov 2026 00:00:30 GMT", kNow), 30s);
  EXPECT_EQ(parse_retry_after("Monday, 16-Nov-26 00:00:30 GMT", kNow), 30s);
}

TEST(RetryAfter, IsNeitherBeforeNowNorMoreThanADay) {
  EXPECT_EQ(parse_retry_after("-5", kNow), 0ms);
  EXPECT_EQ(parse_retry_after("-99999999999999999999999", kNow), 0ms);
  EXPECT_EQ(parse_retry_after("Sun, 15 Nov 2026 00:00:00 GMT", kNow), 0ms);
  EXPECT_EQ(parse_retry_after("99999999999", kNow), 24h);
  EXPECT_EQ(parse_retry_after("99999999999999999999999", kNow), 24h);
  EXPECT_EQ(parse_retry_after("Mon, 16 Nov 2099 00:00:00 GMT", kNow), 24h);
  EXPECT_EQ(parse_retry_after("16 Nov 999999902", kNow), 24h);
}

TEST(RetryAfter, ThatCannotBeUnderstoodSaysNothing) {
  for (const char* text : {"", " ", "soon", "12x", "1.5s", "Mon, 99 Foo 2026"}) {
    EXPECT_EQ(parse_retry_after(text, kNow), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace retsu
