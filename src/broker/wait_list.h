#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace retsu {

// Who waits for what, by numbers that rise with their coming. Ten thousand who wait cost nothing to
// whoever comes and goes: everything is found by what has happened.
class WaitList {
 public:
  using Steady = std::chrono::steady_clock;
  using Number = std::uint64_t;

  // What may end the waiting, besides being given up.
  struct Reasons {
    std::vector<std::string> queues = {};  // one of these has something to give
    std::string task = {};                 // this one has ended
    TimePoint at = kNever;                 // on the queue's clock
    Steady::time_point deadline = Steady::time_point::max();
  };

  void add(Number number, Reasons reasons);
  void remove(Number number);

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] std::vector<Number> all() const;
  [[nodiscard]] std::set<std::string> queues() const;  // that somebody waits for
  [[nodiscard]] std::vector<Number> due(TimePoint now, Steady::time_point steady_now) const;
  [[nodiscard]] std::vector<Number> of_task(std::string_view id) const;
  // The first that came after that one.
  [[nodiscard]] std::optional<Number> next_of_queue(std::string_view queue, Number after) const;

  [[nodiscard]] TimePoint next_time() const;
  [[nodiscard]] Steady::time_point next_deadline() const;

 private:
  using Numbers = std::set<Number>;
  using ByName = std::map<std::string, Numbers, std::less<>>;

  static void drop(ByName& names, const std::string& name, Number number);

  std::map<Number, Reasons> waiting_;
  ByName by_queue_;
  ByName by_task_;
  std::set<std::pair<TimePoint, Number>> by_time_;
  std::set<std::pair<Steady::time_point, Number>> by_deadline_;
};

}  // namespace retsu
