// A wait is never below zero nor above a day, shrinks as time goes by, and is exact for a date that
// is written as RFC 9110 wants it. Lines: the moment that is now, the header.
#include <fmt/format.h>

#include "base/check.h"
#include "base/retry_after.h"
#include "input.h"

namespace {

using namespace std::chrono_literals;
using retsu::Millis;
using retsu::parse_retry_after;
using retsu::TimePoint;

std::string http_date(std::chrono::sys_seconds time) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays[std::chrono::weekday(day).c_encoding()], unsigned(date.day()),
                     kMonths[unsigned(date.month()) - 1], int(date.year()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  retsu::fuzz::Input in(data, size);
  const TimePoint now = retsu::parse_time(in.line()).value_or(TimePoint(1'800'000'000s));
  const auto wait = parse_retry_after(in.rest(), now);
  if (wait) {
    RETSU_CHECK(*wait >= 0ms && *wait <= 24h);
    const bool is_negative = in.rest()[0] == '-' &&
                             in.rest().find_first_not_of("0123456789", 1) == std::string_view::npos;
    RETSU_CHECK(!is_negative || *wait == 0ms);
    const auto later = parse_retry_after(in.rest(), now + 1s);
    RETSU_CHECK(later && *later <= *wait && *wait - *later <= 1s);
  }
  // Years that libcurl surely knows.
  if (now < TimePoint(0s) || now > TimePoint(4'000'000'000s)) return 0;
  const auto at = std::chrono::ceil<std::chrono::seconds>(now) + 90s;
  RETSU_CHECK(parse_retry_after(http_date(at), now) == at - now);
  return 0;
}
