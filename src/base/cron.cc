#include "base/cron.h"

#include <date/tz.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <exception>
#include <span>
#include <utility>
#include <vector>

namespace retsu {
namespace {

using std::chrono::days;
using std::chrono::minutes;

constexpr std::size_t kMaxNameLength = 64;
constexpr std::size_t kMaxTextLength = 256;

// 29 February on a given weekday is the rarest thing that comes at all: 40 years may lie between.
constexpr std::chrono::years kSearchLimit{40};

// More than two zones' clocks ever differ, or one zone's clock before and after a change.
constexpr days kWidestOffset{2};

constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kWeekdays{"sun", "mon", "tue", "wed",
                                                    "thu", "fri", "sat"};

struct FieldRule {
  std::string_view name;
  unsigned first;
  unsigned last;     // where `*` and `5/15` end
  unsigned largest;  // what may be written: 7 is Sunday again
  std::span<const std::string_view> names;
};
constexpr std::array<FieldRule, 5> kFields{{{"minute", 0, 59, 59, {}},
                                            {"hour", 0, 23, 23, {}},
                                            {"day-of-month", 1, 31, 31, {}},
                                            {"month", 1, 12, 12, kMonths},
                                            {"day-of-week", 0, 6, 7, kWeekdays}}};

struct Macro {
  std::string_view name;
  std::string_view text;
};
constexpr std::array<Macro, 7> kMacros{{{"@hourly", "0 * * * *"},
                                        {"@daily", "0 0 * * *"},
                                        {"@midnight", "0 0 * * *"},
                                        {"@weekly", "0 0 * * 0"},
                                        {"@monthly", "0 0 1 * *"},
                                        {"@yearly", "0 0 1 1 *"},
                                        {"@annually", "0 0 1 1 *"}}};

template <typename... Args>
tl::unexpected<std::string> bad_cron(fmt::format_string<Args...> problem, Args&&... args) {
  return tl::unexpected("not a cron expression: " +
                        fmt::format(problem, std::forward<Args>(args)...));
}

// The parts of `text` between separators: commas keep empty parts, blanks do not.
std::vector<std::string_view> split(std::string_view text, std::string_view separators,
                                    bool keep_empty) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    if (keep_empty || end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

using Number = tl::expected<unsigned, std::string>;

Number parse_number(std::string_view text, unsigned first, unsigned last, std::string_view field,
                    std::string_view what) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size())
    return bad_cron("{}: {} '{}' is not a number", field, what, text);
  if (error != std::errc{} || value < first || value > last)
    return bad_cron("{}: {} '{}' is not in {} to {}", field, what, text, first, last);
  return value;
}

Number parse_value(std::string_view text, const FieldRule& rule) {
  if (text.empty()) return bad_cron("{}: a value is missing", rule.name);
  const auto named = std::find(rule.names.begin(), rule.names.end(), text);
  if (named != rule.names.end())
    return rule.first + static_cast<unsigned>(named - rule.names.begin());
  return parse_number(text, rule.first, rule.largest, rule.name, "value");
}

struct Range {
  unsigned low;
  unsigned high;
};

tl::expected<Range, std::string> parse_range(std::string_view text, bool stepped,
                                             const FieldRule& rule) {
  if (text == "*") return Range{rule.first, rule.last};
  const std::size_t dash = text.find('-');
  const Number low = parse_value(text.substr(0, dash), rule);
  if (!low) return tl::unexpected(low.error());
  if (dash == std::string_view::npos)
    return Range{*low, stepped ? std::max(*low, rule.last) : *low};

  const std::string_view high_text = text.substr(dash + 1);
  const Number high = parse_value(high_text, rule);
  if (!high) return tl::unexpected(high.error());
  if (*low <= *high) return Range{*low, *high};
  if (high_text == kWeekdays.front()) return Range{*low, 7};
  return bad_cron("{}: range '{}' runs backwards", rule.name, text);
}

tl::expected<std::uint64_t, std::string> parse_field(std::string_view text, const FieldRule& rule) {
  std::uint64_t bits = 0;
  for (const std::string_view part : split(text, ",", true)) {
    const std::size_t slash = part.find('/');
    const bool stepped = slash != std::string_view::npos;
    const auto range = parse_range(part.substr(0, slash), stepped, rule);
    if (!range) return tl::unexpected(range.error());
    const Number step =
        stepped ? parse_number(part.substr(slash + 1), 1, rule.largest, rule.name, "step") : 1;
    if (!step) return tl::unexpected(step.error());
    for (unsigned value = range->low; value <= range->high; value += *step)
      bits |= std::uint64_t{1} << (value > rule.last ? rule.first : value);
  }
  return bits;
}

// The smallest value in `bits` that is `from` or more; 64 if there is none.
unsigned next_bit(std::uint64_t bits, unsigned from) {
  return from > 63 ? 64 : static_cast<unsigned>(std::countr_zero(bits >> from << from));
}

template <typename Duration>
std::chrono::local_time<Duration> local(std::chrono::sys_time<Duration> time, Millis offset) {
  return std::chrono::local_time<Duration>{(time + offset).time_since_epoch()};
}

// The first whole minute that the clock has not shown up to and including `time`. When a clock is
// turned back, that is later than what it shows now.
std::chrono::local_time<minutes> first_unseen(TimePoint time, const TimeZone& zone) {
  TimeZone::Stretch stretch = zone.stretch_at(time);
  auto unseen = std::chrono::floor<minutes>(local(time, stretch.offset)) + minutes{1};
  while (stretch.begin > time - kWidestOffset) {
    const TimePoint change = stretch.begin;
    stretch = zone.stretch_at(change - Millis{1});
    unseen = std::max(unseen, std::chrono::ceil<minutes>(local(change, stretch.offset)));
  }
  return unseen;
}

// The first moment at which the clock shows `wanted` or later.
TimePoint first_moment(std::chrono::local_time<minutes> wanted, const TimeZone& zone) {
  const TimePoint as_if_utc{wanted.time_since_epoch()};
  TimeZone::Stretch stretch = zone.stretch_at(as_if_utc - kWidestOffset);
  for (;;) {
    const TimePoint moment = std::max(stretch.begin, as_if_utc - stretch.offset);
    if (moment < stretch.end) return moment;
    stretch = zone.stretch_at(stretch.end);
  }
}

}  // namespace

tl::expected<TimeZone, std::string> TimeZone::find(std::string_view iana_name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/_+-").find(c) != std::string_view::npos;
  };
  if (iana_name.empty()) return tl::unexpected<std::string>("the time zone's name is empty");
  if (iana_name.size() > kMaxNameLength)
    return tl::unexpected<std::string>("the time zone's name is longer than 64 characters");
  if (iana_name.front() == '/' || !std::all_of(iana_name.begin(), iana_name.end(), allowed))
    return tl::unexpected<std::string>("not a time zone's name; write it like Asia/Tokyo");
  if (iana_name == "UTC") return utc();

  const auto unknown = [&] {
    return tl::unexpected(
        fmt::format("unknown time zone '{}'; write it like Asia/Tokyo", iana_name));
  };
  if (iana_name == "localtime") return unknown();
  try {
    const TimeZone zone(date::locate_zone(std::string(iana_name)));
    // The library reads a zone's file when it is first asked, and may throw then: ask now.
    zone.stretch_at(TimePoint{});
    return zone;
  } catch (const std::exception&) {
    return unknown();
  }
}

std::string_view TimeZone::name() const {
  if (zone_ == nullptr) return "UTC";
  return zone_->name();
}

TimeZone::Stretch TimeZone::stretch_at(TimePoint time) const {
  if (zone_ == nullptr) return {TimePoint::min(), TimePoint::max(), Millis{0}};
  const date::sys_info info = zone_->get_info(std::chrono::floor<std::chrono::seconds>(time));
  return {info.begin, info.end, info.offset};
}

tl::expected<Cron, std::string> Cron::parse(std::string_view text) {
  if (text.size() > kMaxTextLength) return bad_cron("it is longer than 256 characters");
  std::string lower;
  for (char c : text) {
    if (c != '\t' && (c < ' ' || c > '~'))
      return bad_cron("it has a character that is not ASCII text");
    lower.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }

  auto fields = split(lower, " \t", false);
  if (fields.size() == 1 && fields[0].front() == '@') {
    const auto macro = std::find_if(kMacros.begin(), kMacros.end(),
                                    [&](const Macro& each) { return each.name == fields[0]; });
    if (macro == kMacros.end()) return bad_cron("unknown shorthand '{}'", fields[0]);
    fields = split(macro->text, " ", false);
  }
  if (fields.size() != kFieldCount)
    return bad_cron("it has {} fields, not 5 (minute hour day-of-month month day-of-week)",
                    fields.size());

  Cron cron;
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const auto bits = parse_field(fields[i], kFields[i]);
    if (!bits) return tl::unexpected(bits.error());
    cron.bits_[i] = *bits;
  }
  cron.either_day_ = fields[kDayOfMonth].front() != '*' && fields[kDayOfWeek].front() != '*';

  const std::chrono::local_days any_day{std::chrono::year{2000} / std::chrono::January / 1};
  if (!cron.next_local(any_day)) return bad_cron("day-of-month and month: such a day never comes");
  return cron;
}

std::optional<TimePoint> Cron::next(TimePoint after, const TimeZone& zone) const {
  if (after >= kLatestTime) return std::nullopt;
  after = std::max(after, kEarliestTime - Millis{1});
  const auto wanted = next_local(first_unseen(after, zone));
  if (!wanted) return std::nullopt;
  const TimePoint moment = first_moment(*wanted, zone);
  if (moment > kLatestTime) return std::nullopt;
  return moment;
}

std::optional<Cron::LocalMinute> Cron::next_local(LocalMinute from) const {
  const auto from_day = std::chrono::floor<days>(from);
  const std::chrono::year_month_day date{from_day};
  const std::chrono::year_month first_month{date.year(), date.month()};

  for (auto month = first_month; month <= first_month + kSearchLimit;
       month += std::chrono::months{1}) {
    if (!has(kMonth, static_cast<unsigned>(month.month()))) continue;
    const std::uint64_t matching = days_of(month);
    const unsigned first_day = month == first_month ? static_cast<unsigned>(date.day()) : 1;
    for (unsigned day = next_bit(matching, first_day); day < 64;
         day = next_bit(matching, day + 1)) {
      const std::chrono::local_days midnight{month / std::chrono::day{day}};
      const auto time = next_time_of_day(midnight == from_day ? from - from_day : minutes{0});
      if (time) return midnight + *time;
    }
  }
  return std::nullopt;
}

std::optional<minutes> Cron::next_time_of_day(minutes from) const {
  const auto from_hour = static_cast<unsigned>(from.count() / 60);
  unsigned hour = next_bit(bits_[kHour], from_hour);
  if (hour == from_hour) {
    const unsigned minute = next_bit(bits_[kMinute], static_cast<unsigned>(from.count() % 60));
    if (minute < 64) return minutes{hour * 60 + minute};
    hour = next_bit(bits_[kHour], from_hour + 1);
  }
  if (hour == 64) return std::nullopt;
  return minutes{hour * 60 + next_bit(bits_[kMinute], 0)};
}

// The days of a month that match, as bits 1 to 31.
std::uint64_t Cron::days_of(std::chrono::year_month month) const {
  const std::chrono::weekday first{std::chrono::local_days{month / std::chrono::day{1}}};
  const auto length = static_cast<unsigned>((month / std::chrono::last).day());
  std::uint64_t by_weekday = 0;
  for (unsigned day = 1; day <= length; ++day)
    if (has(kDayOfWeek, (first.c_encoding() + day - 1) % 7)) by_weekday |= std::uint64_t{1} << day;
  const std::uint64_t in_month = (std::uint64_t{2} << length) - 2;
  const std::uint64_t by_day = bits_[kDayOfMonth] & in_month;
  return either_day_ ? by_day | by_weekday : by_day & by_weekday;
}

}  // namespace retsu
