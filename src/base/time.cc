#include "base/time.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace retsu {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Takes pieces off the front of a text. A piece that is not there leaves the text as it was.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool empty() const { return rest_.empty(); }

  bool take(std::string_view one_of) {
    if (rest_.empty() || one_of.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool number(std::size_t digits, int& value) {
    if (rest_.size() < digits) return false;
    if (!std::all_of(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(digits), is_digit))
      return false;
    value = 0;
    for (char c : rest_.substr(0, digits)) value = value * 10 + (c - '0');
    rest_.remove_prefix(digits);
    return true;
  }

  template <typename Predicate>
  std::string_view take_while(Predicate holds) {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), holds);
    const auto taken = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view rest_;
};

tl::unexpected<std::string> bad_time(std::string_view problem) {
  return tl::unexpected("not a time: " + std::string(problem) +
                        "; write it like 2026-11-15T22:20:19.123Z");
}

tl::unexpected<std::string> bad_duration(std::string_view problem) {
  return tl::unexpected("not a duration: " + std::string(problem) +
                        "; write it like 1h30m or 250ms");
}

using Parsed = tl::expected<Millis, std::string>;

tl::expected<TimePoint, std::string> parse_date(Reader& in) {
  int year = 0, month = 0, day = 0;
  if (!in.number(4, year) || !in.take("-") || !in.number(2, month) || !in.take("-") ||
      !in.number(2, day))
    return bad_time("it must start with a date, YYYY-MM-DD");
  if (month < 1 || month > 12) return bad_time("the month must be 01 to 12");
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return bad_time("that month has no such day");
  return std::chrono::sys_days{date};
}

Parsed parse_fraction(Reader& in) {
  if (!in.take(".")) return Millis{0};
  const auto digits = in.take_while(is_digit);
  if (digits.empty() || digits.size() > 9)
    return bad_time("the fraction of a second must have 1 to 9 digits");
  int value = 0;
  for (std::size_t i = 0; i < 3; ++i)
    value = value * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  return Millis{value};
}

Parsed parse_time_of_day(Reader& in) {
  int hour = 0, minute = 0, second = 0;
  if (!in.take("Tt ")) return bad_time("a T or a space must follow the date");
  if (!in.number(2, hour) || !in.take(":") || !in.number(2, minute) || !in.take(":") ||
      !in.number(2, second))
    return bad_time("the time of day must be hh:mm:ss");
  if (hour > 23) return bad_time("the hour must be 00 to 23");
  if (minute > 59) return bad_time("the minute must be 00 to 59");
  if (second > 59) return bad_time("the second must be 00 to 59");
  const std::chrono::seconds whole{(hour * 60 + minute) * 60 + second};
  return parse_fraction(in).map([&](Millis fraction) { return whole + fraction; });
}

Parsed parse_offset(Reader& in) {
  if (in.take("Zz")) return Millis{0};
  const bool negative = in.take("-");
  if (!negative && !in.take("+")) return bad_time("it must end with Z or an offset such as +09:00");
  int hours = 0, minutes = 0;
  if (!in.number(2, hours) || (in.take(":"), !in.number(2, minutes)))
    return bad_time("the offset must be +hh:mm or +hhmm");
  if (hours > 23 || minutes > 59) return bad_time("the offset must be at most 23:59");
  return (negative ? -1 : 1) * std::chrono::minutes{hours * 60 + minutes};
}

struct Unit {
  std::string_view name;
  std::int64_t millis;
};
// Largest first: the order in which a duration is written.
constexpr std::array<Unit, 5> kUnits{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};

void put_digits(char* to, int count, unsigned value) {
  for (int i = count - 1; i >= 0; --i, value /= 10) to[i] = static_cast<char>('0' + value % 10);
}

}  // namespace

std::string format_time(TimePoint time) {
  time = std::clamp(time, kEarliestTime, kLatestTime);
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const auto millis = static_cast<unsigned>((time - day).count());

  std::string text = "0000-00-00T00:00:00.000Z";
  put_digits(&text[0], 4, static_cast<unsigned>(static_cast<int>(date.year())));
  put_digits(&text[5], 2, static_cast<unsigned>(date.month()));
  put_digits(&text[8], 2, static_cast<unsigned>(date.day()));
  put_digits(&text[11], 2, millis / 3'600'000);
  put_digits(&text[14], 2, millis / 60'000 % 60);
  put_digits(&text[17], 2, millis / 1000 % 60);
  put_digits(&text[20], 3, millis % 1000);
  return text;
}

tl::expected<TimePoint, std::string> parse_time(std::string_view text) {
  Reader in(text);
  const auto date = parse_date(in);
  if (!date) return date;
  const auto time_of_day = parse_time_of_day(in);
  if (!time_of_day) return tl::unexpected(time_of_day.error());
  const auto offset = parse_offset(in);
  if (!offset) return tl::unexpected(offset.error());
  if (!in.empty()) return bad_time("nothing may follow the offset");

  const TimePoint time = *date + *time_of_day - *offset;
  if (time < kEarliestTime || time > kLatestTime)
    return bad_time("in UTC it must lie in the years 0000 to 9999");
  return time;
}

tl::expected<Millis, std::string> parse_duration(std::string_view text) {
  if (text.empty()) return bad_duration("it is empty");
  Reader in(text);
  std::int64_t total = 0;
  for (std::size_t next_unit = 0; !in.empty();) {
    const auto digits = in.take_while(is_digit);
    if (digits.empty()) return bad_duration("each part must be a whole number and its unit");
    const auto name = in.take_while(is_letter);
    if (name.empty()) return bad_duration("a number needs a unit: d, h, m, s or ms");

    const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                   [&](const Unit& each) { return each.name == name; });
    if (unit == kUnits.end()) return bad_duration("the units are d, h, m, s and ms");
    const auto index = static_cast<std::size_t>(unit - kUnits.begin());
    if (index < next_unit) return bad_duration("each unit may come once, the largest first");
    next_unit = index + 1;

    std::int64_t part = 0;
    bool overflow = false;
    for (char c : digits)
      overflow = overflow || __builtin_mul_overflow(part, 10, &part) ||
                 __builtin_add_overflow(part, c - '0', &part);
    if (overflow || __builtin_mul_overflow(part, unit->millis, &part) ||
        __builtin_add_overflow(total, part, &total))
      return bad_duration("it is too long to be counted in milliseconds");
  }
  return Millis{total};
}

std::string format_duration(Millis duration) {
  if (duration == Millis::zero()) return "0ms";
  std::string text = duration < Millis::zero() ? "-" : "";
  // Unsigned, because the most negative count has no positive counterpart.
  auto rest = static_cast<std::uint64_t>(duration.count());
  if (duration < Millis::zero()) rest = 0 - rest;
  for (const Unit& unit : kUnits) {
    const auto size = static_cast<std::uint64_t>(unit.millis);
    if (rest >= size) text.append(std::to_string(rest / size)).append(unit.name);
    rest %= size;
  }
  return text;
}

}  // namespace retsu
