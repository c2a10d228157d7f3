// Cron expressions and the moments at which they run.
//
// Both classes are small immutable values: copy them freely, use them from any thread. Nothing here
// reads a clock, and nothing throws (but for memory running out).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/time.h"

namespace date {
class time_zone;
}

namespace retsu {

// A time zone of the IANA database installed on this machine. Cheap to copy: the database owns the
// data and lives as long as the process.
//
// Limit: the database, as the library underneath reads it, lists the clock changes up to 2037.
// Later times keep the last offset listed, which for most zones with daylight saving is winter
// time.
class TimeZone {
 public:
  // Needs no database, so it cannot fail.
  static TimeZone utc() { return TimeZone(nullptr); }

  // By exact name, such as `Asia/Tokyo` or `UTC`. Refused: unknown names, names that could be paths
  // or are longer than 64 characters, and `localtime`, which differs from machine to machine. The
  // first call reads the list of zones from disk, and the first for each zone its data.
  static tl::expected<TimeZone, std::string> find(std::string_view iana_name);

  std::string_view name() const;

  // The stretch of time around a moment during which the offset from UTC does not change.
  struct Stretch {
    TimePoint begin;
    TimePoint end;  // exclusive
    Millis offset;  // local time minus UTC
  };
  // `time` must lie within kEarliestTime to kLatestTime, give or take a week.
  Stretch stretch_at(TimePoint time) const;

 private:
  explicit TimeZone(const date::time_zone* zone) : zone_(zone) {}

  const date::time_zone* zone_;  // null: UTC
};

// Five fields: minute (0-59), hour (0-23), day-of-month (1-31), month (1-12 or jan-dec) and
// day-of-week (0-7 or sun-sat, Sunday is 0 or 7). Each is a list, separated by commas, of `*`, `5`,
// `10-50`, and with a step `*/5`, `10-50/10`, `5/15` (from 5 to the end of the field). Or one of
// @hourly @daily @midnight @weekly @monthly @yearly @annually. Case does not matter.
//
// Days follow the classic rule: if both day fields are restricted, a day that matches either will
// do; else it has to match both. A field that begins with `*` is not restricted, `*/2` neither.
class Cron {
 public:
  // Refused, naming the field and the problem: what does not follow the grammar above, ranges that
  // run backwards (but fri-sun is fine), steps of 0 or beyond the field's largest value, days that
  // never come (30 February), and texts longer than 256 characters.
  static tl::expected<Cron, std::string> parse(std::string_view text);

  // The first occurrence strictly after `after`. Each local time that matches runs once, at the
  // first moment at which the zone's clock shows it or a later time. So, when the clock changes:
  //  - A time that is skipped runs at the first moment after the gap. All occurrences swallowed by
  //    one gap, and the one at its very end, are one moment and run once.
  //  - A time that comes twice runs the first time only. This holds for `*/5 * * * *` too: in the
  //    repeated hour it pauses, because each of these local times has run already.
  // Feeding results back gives a strictly increasing sequence in which no matching day is missing.
  //
  // None if there is no occurrence up to kLatestTime. An `after` before kEarliestTime counts as the
  // moment before it. Costs well under a microsecond for common expressions.
  std::optional<TimePoint> next(TimePoint after, const TimeZone& zone) const;

 private:
  enum Field { kMinute, kHour, kDayOfMonth, kMonth, kDayOfWeek, kFieldCount };
  using LocalMinute = std::chrono::local_time<std::chrono::minutes>;

  Cron() = default;

  bool has(Field field, unsigned value) const { return (bits_[field] >> value & 1) != 0; }
  std::optional<LocalMinute> next_local(LocalMinute from) const;
  std::optional<std::chrono::minutes> next_time_of_day(std::chrono::minutes from) const;
  std::uint64_t days_of(std::chrono::year_month month) const;

  std::array<std::uint64_t, kFieldCount> bits_{};  // bit n of a field: value n matches
  bool either_day_ = false;                        // both day fields are restricted
};

}  // namespace retsu
