#include "base/cron.h"

#include <date/tz.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace retsu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

Cron cron(const std::string& text) {
  auto parsed = Cron::parse(text);
  if (!parsed) ADD_FAILURE() << text << ": " << parsed.error();
  return parsed.value();
}

TimeZone zone(const std::string& name) { return TimeZone::find(name).value(); }

TimePoint at(const std::string& text) { return parse_time(text).value(); }

// The next `count` occurrences after `after`, each found from the one before, in UTC to the minute.
std::vector<std::string> run(const std::string& text, const std::string& after, int count,
                             const TimeZone& where = TimeZone::utc()) {
  std::vector<std::string> times;
  std::optional<TimePoint> time = at(after);
  while (count-- > 0 && (time = cron(text).next(*time, where)))
    times.push_back(format_time(*time).substr(0, 16));
  return times;
}

TEST(Cron, FieldsTakeValuesListsRangesAndSteps) {
  const std::string start = "2026-01-31T23:58:59.999Z";
  EXPECT_THAT(run("* * * * *", start, 3),
              ElementsAre("2026-01-31T23:59", "2026-02-01T00:00", "2026-02-01T00:01"));
  EXPECT_THAT(run("5,10-12,58/1 * * * *", start, 6),
              ElementsAre("2026-01-31T23:59", "2026-02-01T00:05", "2026-02-01T00:10",
                          "2026-02-01T00:11", "2026-02-01T00:12", "2026-02-01T00:58"));
  EXPECT_THAT(run("*/25 6 * * *", start, 4), ElementsAre("2026-02-01T06:00", "2026-02-01T06:25",
                                                         "2026-02-01T06:50", "2026-02-02T06:00"));
  EXPECT_THAT(run("10-50/20 6 * * *", start, 3),
              ElementsAre("2026-02-01T06:10", "2026-02-01T06:30", "2026-02-01T06:50"));
  EXPECT_THAT(run("5/15 6 * * *", start, 5),
              ElementsAre("2026-02-01T06:05", "2026-02-01T06:20", "2026-02-01T06:35",
                          "2026-02-01T06:50", "2026-02-02T06:05"));
  EXPECT_THAT(run("\t 00  00\t31 * * ", start, 3),
              ElementsAre("2026-03-31T00:00", "2026-05-31T00:00", "2026-07-31T00:00"));
}

TEST(Cron, MonthsAndWeekdaysHaveNames) {
  const std::string start = "2026-01-01T00:00:00Z";  // a Thursday
  EXPECT_EQ(run("0 0 1 jan,FEB,mar-May * ", start, 9), run("0 0 1 1-5 *", start, 9));
  EXPECT_EQ(run("0 0 * * Mon-fri", start, 9), run("0 0 * * 1-5", start, 9));
  EXPECT_EQ(run("0 0 * * fri-sun", start, 9), run("0 0 * * 0,5,6", start, 9));
  EXPECT_EQ(run("0 0 1 oct/2 *", start, 9), run("0 0 1 10,12 *", start, 9));
}

TEST(Cron, SundayIsZeroOrSeven) {
  const std::string start = "2026-01-01T00:00:00Z";
  EXPECT_THAT(run("0 0 * * 7", start, 2), ElementsAre("2026-01-04T00:00", "2026-01-11T00:00"));
  for (const std::string same : {"0", "sun", "0,7", "*/7", "7/1", "sun-sun"})
    EXPECT_EQ(run("0 0 * * " + same, start, 5), run("0 0 * * 7", start, 5)) << same;
  EXPECT_EQ(run("0 0 * * 5-7", start, 9), run("0 0 * * 0,5,6", start, 9));
  EXPECT_EQ(run("0 0 * * 0-7", start, 9), run("0 0 * * *", start, 9));
  EXPECT_EQ(run("0 0 * * 1/2", start, 9), run("0 0 * * 1,3,5", start, 9));
}

TEST(Cron, ShorthandsStandForTheirExpressions) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"@hourly", "0 * * * *"},    {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
      {"@weekly", "0 0 * * 0"},    {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"},
      {" @Annually ", "0 0 1 1 *"}};
  for (const auto& [shorthand, text] : table)
    EXPECT_EQ(run(shorthand, "2026-05-05T05:05:00Z", 5), run(text, "2026-05-05T05:05:00Z", 5));
}

TEST(Cron, TwoRestrictedDayFieldsMatchEither) {
  EXPECT_THAT(
      run("0 0 13 * fri", "2026-01-01T00:00:00Z", 4),
      ElementsAre("2026-01-02T00:00", "2026-01-09T00:00", "2026-01-13T00:00", "2026-01-16T00:00"));
  EXPECT_THAT(run("0 0 30 2 mon", "2026-01-01T00:00:00Z", 2),
              ElementsAre("2026-02-02T00:00", "2026-02-09T00:00"));
}

TEST(Cron, ADayFieldThatBeginsWithAStarMustMatchToo) {
  EXPECT_THAT(run("0 0 */10 * fri", "2026-01-01T00:00:00Z", 3),
              ElementsAre("2026-05-01T00:00", "2026-07-31T00:00", "2026-08-21T00:00"));
  EXPECT_THAT(run("0 0 13 * *", "2026-01-13T00:00:00Z", 1), ElementsAre("2026-02-13T00:00"));
  EXPECT_THAT(run("0 0 * * fri", "2026-01-02T00:00:00Z", 1), ElementsAre("2026-01-09T00:00"));
}

TEST(Cron, BadTextsAreRefusedWithTheFieldAndTheProblem) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "it has 0 fields, not 5"},
      {"   ", "it has 0 fields, not 5"},
      {"* * * *", "it has 4 fields, not 5"},
      {"0 * * * * *", "it has 6 fields, not 5"},
      {"@daily 5", "it has 2 fields, not 5"},
      {"@reboot", "unknown shorthand '@reboot'"},
      {"@", "unknown shorthand '@'"},
      {"60 * * * *", "minute: value '60' is not in 0 to 59"},
      {"* 24 * * *", "hour: value '24' is not in 0 to 23"},
      {"* * 0 * *", "day-of-month: value '0' is not in 1 to 31"},
      {"* * 32 * *", "day-of-month: value '32' is not in 1 to 31"},
      {"* * * 0 *", "month: value '0' is not in 1 to 12"},
      {"* * * 13 *", "month: value '13' is not in 1 to 12"},
      {"* * * * 8", "day-of-week: value '8' is not in 0 to 7"},
      {"99999999999999999999 * * * *", "minute: value '99999999999999999999' is not in"},
      {"* * * january *", "month: value 'january' is not a number"},
      {"* * * mon *", "month: value 'mon' is not a number"},
      {"* jan * * *", "hour: value 'jan' is not a number"},
      {"* * ? * *", "day-of-month: value '?' is not a number"},
      {"* * l * *", "day-of-month: value 'l' is not a number"},
      {"* * * * 5#2", "day-of-week: value '5#2' is not a number"},
      {"+5 * * * *", "minute: value '+5' is not a number"},
      {"1.5 * * * *", "minute: value '1.5' is not a number"},
      {"** * * * *", "minute: value '**' is not a number"},
      {", * * * *", "minute: a value is missing"},
      {"1, * * * *", "minute: a value is missing"},
      {"1,,2 * * * *", "minute: a value is missing"},
      {"-5 * * * *", "minute: a value is missing"},
      {"5- * * * *", "minute: a value is missing"},
      {"/5 * * * *", "minute: a value is missing"},
      {"1-2-3 * * * *", "minute: value '2-3' is not a number"},
      {"*-5 * * * *", "minute: value '*' is not a number"},
      {"* 17-9 * * *", "hour: range '17-9' runs backwards"},
      {"* * * * sat-mon", "day-of-week: range 'sat-mon' runs backwards"},
      {"* * * * 5-0", "day-of-week: range '5-0' runs backwards"},
      {"* * * dec-jan *", "month: range 'dec-jan' runs backwards"},
      {"*/0 * * * *", "minute: step '0' is not in 1 to 59"},
      {"*/60 * * * *", "minute: step '60' is not in 1 to 59"},
      {"* */24 * * *", "hour: step '24' is not in 1 to 23"},
      {"*/ * * * *", "minute: step '' is not a number"},
      {"*/5/5 * * * *", "minute: step '5/5' is not a number"},
      {"*/-5 * * * *", "minute: step '-5' is not a number"},
      {"* * * */jan *", "month: step 'jan' is not a number"},
      {"0 0 30 2 *", "day-of-month and month: such a day never comes"},
      {"0 0 31 feb,apr,jun,sep,nov *", "such a day never comes"},
      {"0 0 30,31 2 */2", "such a day never comes"},
      {"0 0 * * *\n", "not ASCII text"},
      {"0 0 * * \xe6\x97\xa5", "not ASCII text"},
      {std::string("0 0 * * *\0", 10), "not ASCII text"},
      {std::string(257, '*'), "longer than 256 characters"},
  };
  for (const auto& [text, fragment] : table) {
    const auto parsed = Cron::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error(), HasSubstr("not a cron expression: ")) << text;
    EXPECT_THAT(parsed.error(), HasSubstr(fragment)) << text;
  }
  EXPECT_TRUE(Cron::parse("* * * * *" + std::string(247, ' ')));
}

TEST(Cron, NoiseIsReadOrRefusedButNeverACrash) {
  std::mt19937_64 random(20261115);
  const std::string alphabet = "0123456789*/-,  @abcdefjmnoprstuvwy";
  for (int i = 0; i < 50'000; ++i) {
    std::string text(random() % 20, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    text += i % 2 == 0 ? " * * * *" : "";
    if (const auto parsed = Cron::parse(text)) {
      ASSERT_TRUE(parsed->next(TimePoint{}, TimeZone::utc())) << text;
    }
  }
}

TEST(Cron, LeapDaysComeEvenAfterEightYears) {
  EXPECT_THAT(run("0 0 29 2 *", "2092-01-01T00:00:00Z", 3),
              ElementsAre("2092-02-29T00:00", "2096-02-29T00:00", "2104-02-29T00:00"));
}

TEST(Cron, TheRarestDayIsFoundFromEveryYear) {
  const Cron leap_sunday = cron("0 0 29 2 */7");
  Millis longest{0};
  TimePoint time = at("1600-01-01T00:00:00Z");
  while (time < at("2400-01-01T00:00:00Z")) {
    const auto next = leap_sunday.next(time, TimeZone::utc());
    ASSERT_TRUE(next) << format_time(time);
    longest = std::max(longest, *next - time);
    time = *next;
  }
  EXPECT_EQ(longest, at("1920-02-29T00:00:00Z") - at("1880-02-29T00:00:00Z"));
}

TEST(Cron, ATimeThatDoesNotExistRunsAtTheFirstMomentAfterTheGap) {
  // New York, 8 March 2026: 02:00 becomes 03:00 at 07:00 UTC.
  EXPECT_THAT(run("30 2 * * *", "2026-03-07T00:00:00Z", 3, zone("America/New_York")),
              ElementsAre("2026-03-07T07:30", "2026-03-08T07:00", "2026-03-09T06:30"));
  // São Paulo, 4 November 2018: 00:00 becomes 01:00 at 03:00 UTC.
  EXPECT_THAT(run("@daily", "2018-11-03T00:00:00Z", 3, zone("America/Sao_Paulo")),
              ElementsAre("2018-11-03T03:00", "2018-11-04T03:00", "2018-11-05T02:00"));
}

TEST(Cron, OccurrencesSwallowedByOneGapRunOnce) {
  EXPECT_THAT(
      run("*/20 2,3 * * *", "2026-03-08T06:00:00Z", 4, zone("America/New_York")),
      ElementsAre("2026-03-08T07:00", "2026-03-08T07:20", "2026-03-08T07:40", "2026-03-09T06:00"));
  EXPECT_THAT(run("0 2,3 * * *", "2026-03-08T06:00:00Z", 2, zone("America/New_York")),
              ElementsAre("2026-03-08T07:00", "2026-03-09T06:00"));
}

TEST(Cron, ADayThatDoesNotExistStillRuns) {
  // Apia crossed the date line: 30 December 2011 was skipped at 10:00 UTC.
  EXPECT_THAT(run("0 9 * * *", "2011-12-29T00:00:00Z", 3, zone("Pacific/Apia")),
              ElementsAre("2011-12-29T19:00", "2011-12-30T10:00", "2011-12-30T19:00"));
  EXPECT_THAT(run("0 */6 30 12 *", "2011-12-01T00:00:00Z", 2, zone("Pacific/Apia")),
              ElementsAre("2011-12-30T10:00", "2012-12-29T10:00"));
}

TEST(Cron, ATimeThatExistsTwiceRunsOnce) {
  // New York, 1 November 2026: 02:00 becomes 01:00 at 06:00 UTC.
  EXPECT_THAT(run("30 1 * * *", "2026-10-31T12:00:00Z", 2, zone("America/New_York")),
              ElementsAre("2026-11-01T05:30", "2026-11-02T06:30"));
  EXPECT_THAT(run("30 1 * * *", "2026-11-01T05:30:00Z", 1, zone("America/New_York")),
              ElementsAre("2026-11-02T06:30"));
  EXPECT_THAT(run("30 1 * * *", "2026-11-01T06:15:00Z", 1, zone("America/New_York")),
              ElementsAre("2026-11-02T06:30"));
}

TEST(Cron, FrequentExpressionsPauseInTheRepeatedHour) {
  EXPECT_THAT(
      run("*/30 * * * *", "2026-11-01T04:45:00Z", 4, zone("America/New_York")),
      ElementsAre("2026-11-01T05:00", "2026-11-01T05:30", "2026-11-01T07:00", "2026-11-01T07:30"));
  EXPECT_THAT(run("* * * * *", "2026-11-01T06:10:00Z", 1, zone("America/New_York")),
              ElementsAre("2026-11-01T07:00"));
  // Lord Howe turns back by half an hour: 02:00 becomes 01:30 at 15:00 UTC.
  EXPECT_THAT(
      run("*/15 * * * *", "2026-04-04T14:15:00Z", 4, zone("Australia/Lord_Howe")),
      ElementsAre("2026-04-04T14:30", "2026-04-04T14:45", "2026-04-04T15:30", "2026-04-04T15:45"));
}

TEST(Cron, OffsetsWithSecondsKeepTheSequenceRising) {
  // Until 1883 New York kept its own mean time, 4:56:02 behind, then gained 3:58 at noon.
  const TimeZone new_york = zone("America/New_York");
  std::optional<TimePoint> time = at("1883-11-18T16:50:00Z");
  for (int i = 0; i < 30; ++i) {
    const auto next = cron("* * * * *").next(*time, new_york);
    ASSERT_TRUE(next);
    EXPECT_GT(*next, *time);
    EXPECT_LE(*next - *time, 6min);
    time = next;
  }
}

TEST(Cron, TheEndsOfTimeAreSafe) {
  const TimeZone new_york = zone("America/New_York");
  for (const TimeZone& where : {TimeZone::utc(), new_york, zone("Asia/Tokyo")}) {
    EXPECT_EQ(cron("* * * * *").next(kNever, where), std::nullopt);
    EXPECT_EQ(cron("* * * * *").next(kLatestTime, where), std::nullopt);
    EXPECT_EQ(cron("@yearly").next(at("9999-12-31T23:59:00Z"), where), std::nullopt);
    EXPECT_EQ(cron("* * * * *").next(TimePoint::min(), TimeZone::utc()), kEarliestTime);
    EXPECT_GE(cron("* * * * *").next(TimePoint::min(), where), kEarliestTime);
  }
}

TEST(TimeZone, IsFoundByItsName) {
  EXPECT_EQ(TimeZone::utc().name(), "UTC");
  for (const std::string name : {"UTC", "Etc/UTC", "Asia/Tokyo", "America/Argentina/Buenos_Aires",
                                 "Etc/GMT+9", "America/Port-au-Prince"}) {
    const auto found = TimeZone::find(name);
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(found->name(), name);
  }
  EXPECT_EQ(zone("Asia/Tokyo").stretch_at(TimePoint{}).offset, 9h);
}

TEST(TimeZone, BadNamesAreRefused) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "empty"},
      {std::string(65, 'a'), "longer than 64"},
      {"/etc/passwd", "not a time zone's name"},
      {"../../etc/passwd", "not a time zone's name"},
      {"Asia/../Asia/Tokyo", "not a time zone's name"},
      {"Asia/Tokyo ", "not a time zone's name"},
      {std::string("UTC\0", 4), "not a time zone's name"},
      {"Asia/\xe6\x9d\xb1", "not a time zone's name"},
      {"asia/tokyo", "unknown time zone 'asia/tokyo'"},
      {"Mars/Olympus", "unknown time zone 'Mars/Olympus'"},
      {"Asia", "unknown time zone 'Asia'"},
      {"localtime", "unknown time zone 'localtime'"},
      {std::string(64, 'a'), "unknown time zone"},
  };
  for (const auto& [name, fragment] : table) {
    const auto found = TimeZone::find(name);
    ASSERT_FALSE(found) << name;
    EXPECT_THAT(found.error(), HasSubstr(fragment)) << name;
  }
}

// The reference below shares nothing with the code: expressions are made together with the sets
// they stand for, and every minute of a period is tried.

struct RandomCron {
  std::string text;
  std::set<unsigned> minutes, hours, days, months, weekdays;
  bool either_day = false;

  bool matches(date::local_time<std::chrono::minutes> time) const {
    const auto midnight = date::floor<date::days>(time);
    const date::year_month_day date{midnight};
    const auto minute = static_cast<unsigned>((time - midnight).count());
    const bool day = days.count(static_cast<unsigned>(date.day())) != 0;
    const bool weekday = weekdays.count(date::weekday{midnight}.c_encoding()) != 0;
    return minutes.count(minute % 60) != 0 && hours.count(minute / 60) != 0 &&
           months.count(static_cast<unsigned>(date.month())) != 0 &&
           (either_day ? day || weekday : day && weekday);
  }
};

class RandomCrons {
 public:
  explicit RandomCrons(std::uint64_t seed) : random_(seed) {}

  // Half of them often run, half seldom.
  RandomCron make() {
    const bool often = below(2) == 0;
    RandomCron made;
    field(made, made.minutes, 0, 59, often ? 50 : 20);
    field(made, made.hours, 0, 23, often ? 70 : 30);
    const std::size_t day = made.text.size();
    field(made, made.days, 1, 31, 60);
    field(made, made.months, 1, 12, 80);
    const std::size_t weekday = made.text.size();
    field(made, made.weekdays, 0, 6, 60);
    made.either_day = made.text[day] != '*' && made.text[weekday] != '*';
    return made;
  }

  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

 private:
  void field(RandomCron& made, std::set<unsigned>& values, unsigned first, unsigned last,
             unsigned star_percent) {
    if (below(100) < star_percent) {
      const unsigned step = below(3) == 0 ? 1 + below(last) : 1;
      made.text += step == 1 ? "*" : "*/" + std::to_string(step);
      for (unsigned v = first; v <= last; v += step) values.insert(v);
    } else {
      for (unsigned parts = 1 + below(3); parts > 0; --parts) {
        const unsigned low = first + below(last - first + 1);
        const unsigned high = low + below(last - low + 1);
        const unsigned step = 1 + below(last);
        const unsigned shape = below(4);
        made.text += std::to_string(low);
        if (shape >= 2) made.text += "-" + std::to_string(high);
        if (shape % 2 == 1) made.text += "/" + std::to_string(step);
        const unsigned end = shape == 0 ? low : shape == 1 ? last : high;
        for (unsigned v = low; v <= end; v += shape % 2 == 1 ? step : 1) values.insert(v);
        if (parts > 1) made.text += ",";
      }
    }
    made.text += " ";
  }

  std::mt19937_64 random_;
};

// Lets the clock of a zone run from `begin` to `end`, remembers the latest time it has shown, and
// notes every moment at which it shows, or jumps over, a new time that matches.
std::vector<TimePoint> reference(const RandomCron& made, const std::string& zone_name,
                                 TimePoint begin, TimePoint end) {
  const date::time_zone* where = date::locate_zone(zone_name);
  const auto shown = [&](TimePoint time) {
    return date::floor<std::chrono::minutes>(where->to_local(time));
  };
  std::vector<TimePoint> moments;
  auto latest = shown(begin - 48h);
  for (TimePoint time = begin - 48h; time < end; time += 1min) {
    bool runs = false;
    for (const auto now = shown(time); latest < now;) runs |= made.matches(latest += 1min);
    if (runs && time >= begin) moments.push_back(time);
  }
  return moments;
}

TEST(Cron, AgreesWithAMinuteByMinuteReference) {
  struct Period {
    std::string zone, begin;
    int days;
  };
  const std::vector<Period> periods = {
      {"UTC", "2023-12-20T00:00:00Z", 100},
      {"Asia/Tokyo", "2026-02-20T00:00:00Z", 20},
      {"America/New_York", "2026-03-05T00:00:00Z", 6},
      {"America/New_York", "2026-10-29T00:00:00Z", 6},
      {"Europe/Berlin", "2026-03-26T00:00:00Z", 6},
      {"Europe/Berlin", "2026-10-22T00:00:00Z", 6},
      {"Australia/Lord_Howe", "2026-04-02T00:00:00Z", 6},
      {"Australia/Lord_Howe", "2026-10-01T00:00:00Z", 6},
      {"Pacific/Apia", "2011-12-26T00:00:00Z", 8},
      {"America/Sao_Paulo", "2018-02-15T00:00:00Z", 6},
      {"America/Sao_Paulo", "2018-11-01T00:00:00Z", 6},
      {"Pacific/Kwajalein", "1993-08-18T00:00:00Z", 6},
      {"America/New_York", "2023-06-01T00:00:00Z", 300},
  };
  const char* given = std::getenv("RETSU_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cout << "replay with RETSU_SEED=" << seed << "\n";
  RandomCrons random(seed);

  int compared = 0;
  for (const Period& period : periods) {
    const TimeZone where = zone(period.zone);
    const TimePoint begin = at(period.begin);
    const TimePoint end = begin + 24h * period.days;
    for (int round = period.days > 50 ? 4 : 60; round > 0; --round) {
      const RandomCron made = random.make();
      SCOPED_TRACE(made.text + " in " + period.zone);
      const auto parsed = Cron::parse(made.text);
      if (!parsed) {
        ASSERT_THAT(parsed.error(), HasSubstr("never comes"));
        continue;
      }
      const auto expected = reference(made, period.zone, begin, end);
      std::vector<TimePoint> found;
      auto time = parsed->next(begin - 1ms, where);
      for (; time && *time < end; time = parsed->next(*time, where)) {
        ASSERT_TRUE(found.empty() || *time > found.back()) << format_time(*time);
        found.push_back(*time);
      }
      ASSERT_EQ(found, expected);
      compared += static_cast<int>(found.size());

      for (int i = 0; i < 50; ++i) {
        const TimePoint after = begin + Millis{random.below(432'000'000)};
        const auto next = std::upper_bound(expected.begin(), expected.end(), after);
        if (next != expected.end()) {
          ASSERT_EQ(parsed->next(after, where), *next) << format_time(after);
        }
      }
    }
  }
  EXPECT_GT(compared, 10'000);
}

}  // namespace
}  // namespace retsu
