#include "spool/watch.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/rest.h"
#include "base/wall_clock.h"

namespace retsu::spool {
namespace {

using Steady = std::chrono::steady_clock;
using End = Sender::Pass::End;

class Watch {
 public:
  Watch(Spool& spool, Sender& sender, const WatchSettings& settings, const std::stop_token& stop)
      : spool_(spool), sender_(sender), settings_(settings), stop_(stop) {}

  Status run() {
    while (!stop_.stop_requested()) {
      auto done = tidy();
      if (done && link_ == Link::kOffline) set(Link::kReconnecting, "");
      if (done) done = send();
      if (done) continue;
      const ErrorCode code = done.error().code;
      if (code != ErrorCode::kUnavailable && code != ErrorCode::kStorageFull) return done;
      if (settings_.on_trouble) settings_.on_trouble(done.error());
      sleep(about(settings_.health_interval));
    }
    return {};
  }

 private:
  // All that is due, then a rest until there may be more. Whether somebody answers is asked also if
  // there is nothing to send.
  Status send() {
    if (auto healthy = sender_.check_health(stop_); !healthy) {
      if (healthy.error().code == ErrorCode::kInvalid) return healthy;
      if (!stop_.stop_requested()) be_offline(healthy.error().message);
      return {};
    }
    set(Link::kOnline, "");
    auto pass = sender_.send_due(stop_);
    if (!pass) return tl::unexpected(std::move(pass.error()));
    switch (pass->end) {
      case End::kTurnedAway:
        return refuse(ErrorCode::kUnauthorized, pass->why);
      case End::kStopped:
        break;
      case End::kOffline:
        be_offline(pass->why);
        break;
      case End::kHeld:
        sleep(pass->wait);
        break;
      case End::kNothingDue:
        wait_for_more(pass->next);
        break;
    }
    return {};
  }

  void be_offline(const std::string& why) {
    set(Link::kOffline, why);
    sleep(about(settings_.health_interval));
  }

  [[nodiscard]] File::Mark mark() const { return mark_of(spool_.path()).value_or(File::Mark{}); }

  // But not beyond the next time to tidy up.
  void sleep(Millis time) const {
    const auto left = std::chrono::ceil<Millis>(tidy_at_ - Steady::now());
    rest(std::clamp(left, Millis(1), std::max(time, Millis(1))), stop_);
  }

  void wait_for_more(std::optional<TimePoint> due) {
    seen_ = mark();
    const auto added = spool_.peek();  // while the last batch was on its way
    if (added && *added) return;
    const auto until = Steady::now() + about(settings_.health_interval);
    while (Steady::now() < until && (!due || wall_clock() < *due)) {
      if (mark() != seen_) return;
      Millis time = settings_.look_interval;
      if (due) time = std::clamp(*due - wall_clock(), Millis(1), time);
      if (!rest(time, stop_)) return;
    }
  }

  Status tidy() {
    if (Steady::now() < tidy_at_) return {};
    tidy_at_ = Steady::now() + settings_.tidy_interval;
    return sender_.tidy();
  }

  void set(Link link, const std::string& why) {
    if (std::exchange(link_, link) != link && settings_.on_link) settings_.on_link(link, why);
  }

  Millis about(Millis time) {
    constexpr double kSpread = 0.25;
    const double factor = std::uniform_real_distribution<>(1 - kSpread, 1 + kSpread)(random_);
    return Millis(std::llround(static_cast<double>(time.count()) * factor));
  }

  Spool& spool_;
  Sender& sender_;
  const WatchSettings& settings_;
  const std::stop_token stop_;
  Link link_ = Link::kUnknown;
  File::Mark seen_;
  Steady::time_point tidy_at_{};
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace

Status watch(Spool& spool, Sender& sender, const WatchSettings& settings,
             const std::stop_token& stop) {
  return Watch(spool, sender, settings, stop).run();
}

}  // namespace retsu::spool
