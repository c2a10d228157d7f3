#include "base/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace retsu {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr TimePoint kNoon = std::chrono::sys_days{std::chrono::year{2026} / 11 / 15} + 12h;

std::uint64_t seed() {
  const char* given = std::getenv("RETSU_SEED");
  const std::uint64_t value =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cout << "replay with RETSU_SEED=" << value << "\n";
  return value;
}

TEST(Time, IsWrittenInUtcWithMilliseconds) {
  EXPECT_EQ(format_time(kNoon + 10h + 20min + 19s + 123ms), "2026-11-15T22:20:19.123Z");
  EXPECT_EQ(format_time(TimePoint{}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time(TimePoint{-1ms}), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(format_time(kEarliestTime), "0000-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time(kLatestTime), "9999-12-31T23:59:59.999Z");
}

TEST(Time, BeyondTheWritableYearsIsWrittenAsTheNearestMoment) {
  EXPECT_EQ(format_time(kNever), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(format_time(kLatestTime + 1ms), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(format_time(kEarliestTime - 1ms), "0000-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time(TimePoint::min()), "0000-01-01T00:00:00.000Z");
}

TEST(Time, IsReadInEveryAcceptedSpelling) {
  const std::vector<std::pair<std::string, TimePoint>> table = {
      {"2026-11-15T12:00:00Z", kNoon},
      {"2026-11-15 12:00:00Z", kNoon},
      {"2026-11-15t12:00:00z", kNoon},
      {"2026-11-15T12:00:00.1Z", kNoon + 100ms},
      {"2026-11-15T12:00:00.12Z", kNoon + 120ms},
      {"2026-11-15T12:00:00.123456789Z", kNoon + 123ms},
      {"2026-11-15T12:00:00.999999999Z", kNoon + 999ms},
      {"2026-11-15T21:00:00+09:00", kNoon},
      {"2026-11-15T21:00:00+0900", kNoon},
      {"2026-11-15T08:30:00-03:30", kNoon},
      {"2026-11-15T12:00:00-00:00", kNoon},
      {"2026-11-16T11:59:00+23:59", kNoon},
      {"1969-12-31T23:59:59.9999Z", TimePoint{-1ms}},
      {"0000-01-01T00:00:00Z", kEarliestTime},
      {"9999-12-31T23:59:59.999Z", kLatestTime},
      {"2000-02-29T00:00:00Z", std::chrono::sys_days{std::chrono::year{2000} / 2 / 29}},
      {"2024-02-29T00:00:00Z", std::chrono::sys_days{std::chrono::year{2024} / 2 / 29}},
  };
  for (const auto& [text, expected] : table) {
    const auto time = parse_time(text);
    ASSERT_TRUE(time) << text << ": " << time.error();
    EXPECT_EQ(*time, expected) << text;
  }
}

TEST(Time, BadTextsAreRefusedWithTheReason) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "start with a date"},
      {"now", "start with a date"},
      {" 2026-11-15T12:00:00Z", "start with a date"},
      {"26-11-15T12:00:00Z", "start with a date"},
      {"2026-1-15T12:00:00Z", "start with a date"},
      {"20261115T120000Z", "start with a date"},
      {"-026-11-15T12:00:00Z", "start with a date"},
      {"+2026-11-15T12:00:00Z", "start with a date"},
      {"2026-00-15T12:00:00Z", "month must be"},
      {"2026-13-15T12:00:00Z", "month must be"},
      {"2026-11-00T12:00:00Z", "no such day"},
      {"2026-11-31T12:00:00Z", "no such day"},
      {"2026-02-29T12:00:00Z", "no such day"},
      {"2024-02-30T12:00:00Z", "no such day"},
      {"1900-02-29T12:00:00Z", "no such day"},
      {"2026-11-15", "T or a space"},
      {"2026-11-15_12:00:00Z", "T or a space"},
      {"2026-11-15T", "hh:mm:ss"},
      {"2026-11-15T12:00Z", "hh:mm:ss"},
      {"2026-11-15T1:00:00Z", "hh:mm:ss"},
      {"2026-11-15T12:0a:00Z", "hh:mm:ss"},
      {"2026-11-15  12:00:00Z", "hh:mm:ss"},
      {"2026-11-15T24:00:00Z", "hour must be"},
      {"2026-11-15T12:60:00Z", "minute must be"},
      {"2026-11-15T12:00:60Z", "second must be"},
      {"2026-11-15T12:00:00.Z", "1 to 9 digits"},
      {"2026-11-15T12:00:00.1234567890Z", "1 to 9 digits"},
      {"2026-11-15T12:00:00", "Z or an offset"},
      {"2026-11-15T12:00:00.5", "Z or an offset"},
      {"2026-11-15T12:00:00,5Z", "Z or an offset"},
      {"2026-11-15T12:00:00 Z", "Z or an offset"},
      {"2026-11-15T12:00:00+", "+hh:mm"},
      {"2026-11-15T12:00:00+9", "+hh:mm"},
      {"2026-11-15T12:00:00+09", "+hh:mm"},
      {"2026-11-15T12:00:00-+0900", "+hh:mm"},
      {"2026-11-15T12:00:00+09::00", "+hh:mm"},
      {"2026-11-15T12:00:00+24:00", "at most 23:59"},
      {"2026-11-15T12:00:00+09:60", "at most 23:59"},
      {"2026-11-15T12:00:00Z ", "nothing may follow"},
      {"2026-11-15T12:00:00ZZ", "nothing may follow"},
      {std::string("2026-11-15T12:00:00Z\0", 21), "nothing may follow"},
      {"0000-01-01T00:00:00+00:01", "years 0000 to 9999"},
      {"9999-12-31T23:59:59-00:01", "years 0000 to 9999"},
  };
  for (const auto& [text, fragment] : table) {
    const auto time = parse_time(text);
    ASSERT_FALSE(time) << text;
    EXPECT_THAT(time.error(), HasSubstr(fragment)) << text;
    EXPECT_THAT(time.error(), HasSubstr("2026-11-15T22:20:19.123Z")) << text;
  }
}

TEST(Time, SurvivesBeingWrittenAndRead) {
  std::mt19937_64 random(seed());
  std::uniform_int_distribution<std::int64_t> any(kEarliestTime.time_since_epoch().count(),
                                                  kLatestTime.time_since_epoch().count());
  for (int i = 0; i < 20'000; ++i) {
    const TimePoint time{Millis{any(random)}};
    const TimePoint other{Millis{any(random)}};
    ASSERT_EQ(parse_time(format_time(time)), time) << format_time(time);
    ASSERT_EQ(format_time(time) < format_time(other), time < other);
  }
}

TEST(Time, AnyDamagedTextIsReadOrRefusedButNeverMisread) {
  std::mt19937_64 random(seed());
  const std::string good = "2026-11-15T22:20:19.123+09:00";
  const std::string alphabet = "0123456789-+:.TZ \n\xff";
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (auto n = random() % 4; n > 0; --n)
      text[random() % text.size()] = alphabet[random() % alphabet.size()];
    text.resize(text.size() - (random() % 4 == 0 ? random() % text.size() : 0));
    const auto time = parse_time(text);
    if (time) {
      ASSERT_EQ(parse_time(format_time(*time)), *time) << text;
    }
  }
}

TEST(Duration, IsReadWithUnits) {
  const std::vector<std::pair<std::string, Millis>> table = {
      {"250ms", 250ms},
      {"5s", 5s},
      {"5m", 5min},
      {"2h", 2h},
      {"7d", 168h},
      {"1h30m", 90min},
      {"0ms", 0ms},
      {"0s", 0ms},
      {"90m", 90min},
      {"007s", 7s},
      {"1m1ms", 60001ms},
      {"1d2h3m4s5ms", 93784005ms},
      {"9223372036854775807ms", Millis::max()},
      {"106751991167d7h12m55s807ms", Millis::max()},
  };
  for (const auto& [text, expected] : table) {
    const auto duration = parse_duration(text);
    ASSERT_TRUE(duration) << text << ": " << duration.error();
    EXPECT_EQ(*duration, expected) << text;
  }
}

TEST(Duration, BadTextsAreRefusedWithTheReason) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "empty"},
      {"0", "needs a unit"},
      {"250", "needs a unit"},
      {"1h30", "needs a unit"},
      {"1.5h", "needs a unit"},
      {"5 s", "needs a unit"},
      {"ms", "whole number"},
      {"-5s", "whole number"},
      {"+5s", "whole number"},
      {" 5s", "whole number"},
      {"5s ", "whole number"},
      {"5w", "units are"},
      {"5S", "units are"},
      {"5min", "units are"},
      {"30m1h", "largest first"},
      {"1h1h", "largest first"},
      {"9223372036854775808ms", "too long"},
      {"9223372036854776s", "too long"},
      {"106751991168d", "too long"},
      {"106751991167d7h12m55s808ms", "too long"},
      {"99999999999999999999999999d", "too long"},
  };
  for (const auto& [text, fragment] : table) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_THAT(duration.error(), HasSubstr(fragment)) << text;
    EXPECT_THAT(duration.error(), HasSubstr("like 1h30m")) << text;
  }
}

TEST(Duration, IsWrittenInTheLargestUnits) {
  EXPECT_EQ(format_duration(0ms), "0ms");
  EXPECT_EQ(format_duration(90min), "1h30m");
  EXPECT_EQ(format_duration(24h), "1d");
  EXPECT_EQ(format_duration(60001ms), "1m1ms");
  EXPECT_EQ(format_duration(-90min), "-1h30m");
  EXPECT_EQ(format_duration(Millis::max()), "106751991167d7h12m55s807ms");
  EXPECT_EQ(format_duration(Millis::min()), "-106751991167d7h12m55s808ms");
}

TEST(Duration, SurvivesBeingWrittenAndRead) {
  std::mt19937_64 random(seed());
  for (int i = 0; i < 20'000; ++i) {
    const Millis duration{static_cast<std::int64_t>((random() >> 1) >> (random() % 63))};
    ASSERT_EQ(parse_duration(format_duration(duration)), duration) << duration.count();
  }
}

}  // namespace
}  // namespace retsu
