#include "simulators/hardcover/limits.h"

#include <fmt/format.h>

namespace retsu::simulators::hardcover {
namespace {

constexpr std::int64_t kPerMinute = 60;
constexpr std::int64_t kBurst = 10;
constexpr std::int64_t kPerDay = 5'000;

}  // namespace

Limits::Limits(int speed, bool daily)
    : per_minute_(kPerMinute * speed), minute_(kBurst, per_minute_) {
  if (daily) day_.emplace(kPerDay, Millis(std::chrono::days(1)) / speed);
}

std::optional<Millis> Limits::take(int requests, TimePoint now) {
  if (day_ && day_->left(now) < requests) return day_->until_end(now);
  if (!minute_.take(requests, now)) return minute_.wait_for(requests, now);
  if (day_) day_->take(requests, now);
  return std::nullopt;
}

Limits::Left Limits::left(TimePoint now) {
  Left left{.now = minute_.left(now)};
  if (day_) left.today = day_->left(now);
  return left;
}

void Limits::add_headers(ServiceHeaders& headers, TimePoint now) {
  std::string policy = fmt::format("\"Free\";q={};w=60;burst={}", per_minute_, kBurst);
  std::string state =
      fmt::format("\"Free\";r={};t={}", minute_.left(now), whole_seconds(minute_.until_full(now)));
  if (day_) {
    policy += fmt::format(", \"daily\";q={};w={}", day_->limit(), whole_seconds(day_->length()));
    state +=
        fmt::format(", \"daily\";r={};t={}", day_->left(now), whole_seconds(day_->until_end(now)));
  }
  headers.emplace_back("RateLimit-Policy", std::move(policy));
  headers.emplace_back("RateLimit", std::move(state));
}

std::int64_t whole_seconds(Millis time) {
  return std::chrono::ceil<std::chrono::seconds>(time).count();
}

}  // namespace retsu::simulators::hardcover
