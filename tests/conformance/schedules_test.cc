// Cron and intervals: exactly one task per occurrence.

#include <algorithm>
#include <set>

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

using std::chrono::March;
using std::chrono::October;
using std::chrono::sys_days;
using std::chrono::year;

class Schedules : public Conformance {
 protected:
  ScheduleInfo put(const std::string& name, ScheduleSpec spec) {
    return must(PutSchedule{.name = name, .schedule = std::move(spec)});
  }
  ScheduleInfo info(const std::string& name) {
    for (const ScheduleInfo& each :
         all_pages(broker(), ListSchedules{}, &ScheduleList::schedules)) {
      if (each.name == name) return each;
    }
    throw Unexpected("no schedule " + name);
  }
  // The ids of all tasks, oldest first.
  Ids made() {
    Ids ids = listed({});
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  static constexpr const char* kHourly = "0 * * * *";
};
INSTANTIATE_TEST_SUITE_P(Conformance, Schedules, testing::ValuesIn(subject_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(Schedules, ATaskIsMadeForEachOccurrenceWithAnIdDerivedFromIt) {
  put("report",
      {.cron = kHourly, .task = {.queue = "q", .user = "ann", .type = "t", .payload = "7"}});
  advance(1h - 1ms);
  EXPECT_EQ(made(), Ids{});
  advance(1ms);
  EXPECT_EQ(made(), Ids{"schedule:report:20300101T010000.000Z"});
  const Task got = task("schedule:report:20300101T010000.000Z");
  EXPECT_EQ(got.state, kQueued);
  EXPECT_EQ(got.queue, "q");
  EXPECT_EQ(got.user, "ann");
  EXPECT_EQ(got.type, "t");
  EXPECT_EQ(got.payload, Json("7"));
  EXPECT_EQ(info("report").last_task, got.id);
  advance(1h);
  EXPECT_EQ(made().size(), 2U);
  advance(0ms);
  EXPECT_EQ(made().size(), 2U);
}

TEST_P(Schedules, TheNextFiveOccurrencesAreTold) {
  const ScheduleInfo got = put("s", {.cron = kHourly});
  EXPECT_EQ(got.next, (std::vector<TimePoint>{kStart + 1h, kStart + 2h, kStart + 3h, kStart + 4h,
                                              kStart + 5h}));
  advance(1h);
  EXPECT_EQ(info("s").next.at(0), kStart + 2h);
  EXPECT_EQ(info("s").schedule.cron, kHourly);
}

TEST_P(Schedules, EveryCountsFromTheFirstPut) {
  advance(7s);
  const ScheduleInfo got = put("s", {.every_ms = 90'000});
  EXPECT_EQ(since_start(got.next.at(0)), 97'000);
  EXPECT_EQ(since_start(got.next.at(4)), 457'000);
  advance(90s);
  EXPECT_EQ(made(), Ids{"schedule:s:20300101T000137.000Z"});
}

TEST_P(Schedules, APutThatChangesNoTimeKeepsTheNextOccurrence) {
  put("s", {.every_ms = 3'600'000, .task = {.payload = "1"}});
  advance(40min);
  EXPECT_EQ(put("s", {.every_ms = 3'600'000, .task = {.payload = "2"}}).next.at(0), kStart + 1h);
  advance(20min);
  ASSERT_EQ(made().size(), 1U);
  EXPECT_EQ(task(made().at(0)).payload, Json("2"));
  EXPECT_EQ(must(Stats{}).schedules, 1);
}

TEST_P(Schedules, AnOccurrenceIsMadeOnceHoweverOftenTheScheduleIsPut) {
  put("s", {.cron = kHourly});
  advance(1h);
  put("s", {.cron = kHourly});
  must(DeleteSchedule{.name = "s"});
  put("s", {.cron = kHourly});
  advance(1s);
  EXPECT_EQ(made().size(), 1U);
}

TEST_P(Schedules, ATimeZoneDecidesWhenADayBegins) {
  put("tokyo", {.cron = "0 9 * * *", .time_zone = "Asia/Tokyo"});
  put("berlin", {.cron = "@daily", .time_zone = "Europe/Berlin"});
  EXPECT_EQ(info("tokyo").next.at(0), kStart + 24h);
  EXPECT_EQ(info("berlin").next.at(0), kStart + 23h);
}

TEST_P(Schedules, ATimeThatDoesNotExistRunsAtTheFirstMomentAfterIt) {
  // New York goes from 2:00 EST to 3:00 EDT, which is 7:00 UTC.
  set_clock(sys_days{year{2030} / March / 10} + 0h);
  put("s", {.cron = "30 2 * * *", .time_zone = "America/New_York"});
  set_clock(sys_days{year{2030} / March / 10} + 7h - 1ms);
  EXPECT_EQ(made(), Ids{});
  set_clock(sys_days{year{2030} / March / 10} + 7h);
  EXPECT_EQ(made(), Ids{"schedule:s:20300310T070000.000Z"});
  EXPECT_EQ(info("s").next.at(0), sys_days{year{2030} / March / 11} + 6h + 30min);
}

TEST_P(Schedules, ATimeThatExistsTwiceRunsOnce) {
  // Berlin goes from 3:00 CEST back to 2:00 CET at 1:00 UTC.
  set_clock(sys_days{year{2030} / October / 26} + 12h);
  put("s", {.cron = "30 2 * * *", .time_zone = "Europe/Berlin"});
  for (int i = 0; i < 48; ++i) advance(30min);
  EXPECT_EQ(made().size(), 1U);
}

TEST_P(Schedules, AfterDowntimeLatestMakesOnlyTheLast) {
  put("s", {.cron = kHourly});
  advance(5h + 30min);
  EXPECT_EQ(made(), Ids{"schedule:s:20300101T050000.000Z"});
  advance(30min);
  EXPECT_EQ(made().size(), 2U);
}

TEST_P(Schedules, AfterDowntimeSkipMakesNothingThatIsLate) {
  put("s", {.cron = kHourly, .catch_up = CatchUp::kSkip});
  advance(5h + 30min);
  EXPECT_EQ(made(), Ids{});
  advance(30min);
  EXPECT_EQ(made(), Ids{"schedule:s:20300101T060000.000Z"});
}

TEST_P(Schedules, AfterDowntimeSkipMakesTheOneThatIsOnTime) {
  put("s", {.cron = kHourly, .catch_up = CatchUp::kSkip});
  advance(3h + 30s);
  EXPECT_EQ(made(), Ids{"schedule:s:20300101T030000.000Z"});
}

TEST_P(Schedules, AfterDowntimeAllMakesEveryOne) {
  put("s", {.cron = kHourly, .catch_up = CatchUp::kAll});
  advance(3h + 30min);
  EXPECT_EQ(made(), (Ids{"schedule:s:20300101T010000.000Z", "schedule:s:20300101T020000.000Z",
                         "schedule:s:20300101T030000.000Z"}));
}

TEST_P(Schedules, AnOccurrenceUpToAMinuteLateIsOnTime) {
  put("s", {.every_ms = 20'000, .catch_up = CatchUp::kSkip});
  advance(60s);
  EXPECT_EQ(made().size(), 3U);
}

TEST_P(Schedules, ALongAbsenceIsCaughtUpAThousandAtATime) {
  put("s", {.every_ms = 1'000, .catch_up = CatchUp::kAll});
  advance(2'500s);
  keep_calling_until([&] { return tasks_in(kQueued) == 2'500; });
  advance(0ms);
  EXPECT_EQ(tasks_in(kQueued), 2'500);
}

TEST_P(Schedules, AScheduleCanBeRunNowBesideItsOccurrences) {
  put("s", {.cron = kHourly, .task = {.queue = "q", .payload = "7"}});
  const Pushed first = must(RunSchedule{.name = "s", .id = "mine"});
  EXPECT_EQ(first.id, "mine");
  EXPECT_TRUE(first.created);
  EXPECT_EQ(task("mine").payload, Json("7"));
  EXPECT_FALSE(must(RunSchedule{.name = "s", .id = "mine"}).created);
  EXPECT_TRUE(must(RunSchedule{.name = "s"}).created);
  EXPECT_EQ(info("s").next.at(0), kStart + 1h);
  EXPECT_REFUSED(ask(RunSchedule{.name = "nothing"}), kNotFound);
}

TEST_P(Schedules, ADeletedScheduleMakesNothingMore) {
  put("s", {.cron = kHourly});
  EXPECT_EQ(must(DeleteSchedule{.name = "s"}).removed, 1);
  advance(1h);
  EXPECT_EQ(made(), Ids{});
  EXPECT_EQ(must(Stats{}).schedules, 0);
}

TEST_P(Schedules, TheTasksOfASchedulesAreNotRefusedByAFullQueue) {
  begin({.queue_tasks = 1});
  push({.id = "a"});
  put("s", {.cron = kHourly});
  advance(1h);
  EXPECT_EQ(state_of("schedule:s:20300101T010000.000Z"), kQueued);
}

TEST_P(Schedules, SeveralSchedulesAreListedPageByPage) {
  for (const std::string& name : numbered("s", 5)) put(name, {.cron = kHourly});
  std::set<std::string> names;
  for (const ScheduleInfo& each :
       all_pages(broker(), ListSchedules{.limit = 2}, &ScheduleList::schedules)) {
    names.insert(each.name);
  }
  EXPECT_EQ(names, (std::set<std::string>{"s1", "s2", "s3", "s4", "s5"}));
}

TEST_P(Schedules, ThereIsALimitToHowMany) {
  begin({.schedules = 1});
  put("a", {.cron = kHourly});
  EXPECT_REFUSED(ask(PutSchedule{.name = "b", .schedule = {.cron = kHourly}}), kOverloaded);
  put("a", {.cron = "@daily"});
}

}  // namespace
}  // namespace retsu::conformance
