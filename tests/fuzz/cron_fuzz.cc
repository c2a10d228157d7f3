// An accepted expression gives moments that rise strictly and do not depend on where one looks
// from. Lines: expression, time zone, moment to begin at.
#include "base/check.h"
#include "base/cron.h"
#include "base/json.h"
#include "input.h"

namespace {

constexpr int kMoments = 20;

// The first of them is to come 1 ms after `from`, or later.
void check_moments(const retsu::Cron& cron, const retsu::TimeZone& zone, retsu::TimePoint from) {
  using retsu::Millis;
  for (int i = 0; i < kMoments; ++i) {
    const auto next = cron.next(from, zone);
    if (!next) return;
    RETSU_CHECK(*next > from && *next <= retsu::kLatestTime);
    RETSU_CHECK(cron.next(*next - Millis(1), zone) == next);
    RETSU_CHECK(cron.next(from + (*next - from) / 2, zone) == next);
    const auto stretch = zone.stretch_at(*next);
    RETSU_CHECK(stretch.begin <= *next && *next < stretch.end);
    // On the minute of its clock, or right after a gap.
    const bool on_minute =
        (*next + stretch.offset).time_since_epoch() % std::chrono::minutes(1) == Millis(0);
    RETSU_CHECK(on_minute || *next == stretch.begin);
    from = *next;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retsu;  // NOLINT
  fuzz::Input in(data, size);
  const auto cron = Cron::parse(in.line());
  const auto zone = TimeZone::find(in.line());
  const auto from = parse_time(in.rest());
  if (!cron) RETSU_CHECK(is_utf8(cron.error()));
  if (!zone) RETSU_CHECK(is_utf8(zone.error()));
  if (zone) RETSU_CHECK(TimeZone::find(zone->name())->name() == zone->name());
  if (cron) {
    check_moments(*cron, zone.value_or(TimeZone::utc()), from.value_or(TimePoint()));
  }
  return 0;
}
