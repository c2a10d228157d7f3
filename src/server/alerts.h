// GET /v1/alerts, and those who are told when one fires.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "server/alert_rules.h"
#include "server/metrics.h"
#include "server/operations.h"

namespace retsu::server {

class TaskTimes;

struct AlertSettings {
  AlertRules rules = default_alert_rules();
  std::string webhook = {};  // is sent {"alert","state","value","above",…} when one fires or ends
};

struct AlertState {
  std::string name;
  bool firing = false;
  std::optional<TimePoint> since;  // firing
  std::optional<double> value;     // none: too few events
  AlertRule rule;
};
constexpr auto fields_of(std::type_identity<AlertState>) {
  return List{Field{"name", &AlertState::name}, Field{"firing", &AlertState::firing, kAlwaysShown},
              Field{"since", &AlertState::since}, Field{"value", &AlertState::value, kAlwaysShown},
              Field{"rule", &AlertState::rule}};
}

// Counters and gauges at one moment, by queue ("": of all) and name.
struct Sample {
  TimePoint at;
  std::map<std::string, std::map<std::string, double, std::less<>>> values = {};
};

// The past that rules look at, and what they make of it.
class AlertBook {
 public:
  explicit AlertBook(AlertRules rules);

  // Answers the alerts that changed by it.
  std::vector<AlertState> add(const Sample& sample);
  [[nodiscard]] std::vector<AlertState> states() const;

 private:
  // What a rule looks at, at one moment.
  struct Point {
    TimePoint at;
    double count;  // or the gauge
    double whole;
  };
  struct Watched {
    AlertState state;
    std::deque<Point> past = {};  // of the window and the last one before, a few hundred at most
  };
  static void remember(Watched& watched, const Point& point);
  static std::optional<double> value_of(const Watched& watched);

  std::map<std::string, Watched> watched_;
};

// Answers what is to be called twice a second, on the loop's thread. All of them outlive the
// router.
std::function<void()> add_alerts(Router& router, const Doors& doors, AlertSettings settings,
                                 const TaskTimes& times, const Counters& counters, Log* log);

}  // namespace retsu::server
