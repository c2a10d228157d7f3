#include "spool/watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <random>

#include "base/rest.h"
#include "base/wall_clock.h"

namespace retsu::spool {
namespace {

using Steady = std::chrono::steady_clock;
using End = Sender::Pass::End;

File::Mark mark_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino, found.st_size};
}

class Watch {
 public:
  Watch(Spool& spool, Sender& sender, const WatchSettings& settings, const std::stop_token& stop)
      : spool_(spool), sender_(sender), settings_(settings), stop_(stop) {}

  Status run() {
    while (!stop_.stop_requested()) {
      if (auto done = tidy(); !done) return done;
      if (link_ == Link::kOffline) set(Link::kReconnecting, "");
      auto pass = send();
      if (!pass) return tl::unexpected(std::move(pass.error()));
      switch (pass->end) {
        case End::kTurnedAway:
          return refuse(ErrorCode::kUnauthorized, pass->why);
        case End::kStopped:
          break;
        case End::kOffline:
          set(Link::kOffline, pass->why);
          rest(about(settings_.health_interval), stop_);
          break;
        case End::kHeld:
          set(Link::kOnline, pass->why);
          rest(pass->wait, stop_);
          break;
        case End::kNothingDue:
          set(Link::kOnline, "");
          wait_for_more(pass->next);
          break;
      }
    }
    return {};
  }

 private:
  // Whether somebody answers is asked also if there is nothing to send.
  Result<Sender::Pass> send() {
    seen_ = mark_of(spool_.path());
    auto pass = sender_.send_due(stop_);
    if (!pass || pass->end != End::kNothingDue) return pass;
    seen_ = mark_of(spool_.path());
    const auto added = spool_.peek();  // while the last batch was on its way
    if (added && *added) return send();
    if (auto healthy = sender_.check_health(stop_); !healthy && !stop_.stop_requested()) {
      return Sender::Pass{.end = End::kOffline, .why = std::move(healthy.error().message)};
    }
    return pass;
  }

  void wait_for_more(std::optional<TimePoint> due) {
    const auto until = Steady::now() + about(settings_.health_interval);
    while (Steady::now() < until && (!due || wall_clock() < *due)) {
      if (mark_of(spool_.path()) != seen_) return;
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
