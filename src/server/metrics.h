// GET /metrics, as Prometheus reads it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "server/operations.h"
#include "server/router.h"
#include "server/task_times.h"

namespace retsu::server {

// What the server counts itself. On the loop's thread.
struct Counters {
  std::array<std::uint64_t, 6> answers{};  // by the first digit of their status
  std::uint64_t connections = 0;           // accepted
  std::uint64_t turned_away = 0;           // of these, because there were too many
  std::uint64_t open_connections = 0;
  std::uint64_t keyed = 0;       // answers to requests with an idempotency key
  std::uint64_t replayed = 0;    // of these, what the key had got before
  std::uint64_t mismatched = 0;  // of these, that the key was used for something else
  // Answers to requests that their client had sent before, as it says.
  struct {
    std::uint64_t created = 0;   // it was done now
    std::uint64_t replayed = 0;  // it had been done
    std::uint64_t refused = 0;
  } retried;
};

// Text of metrics: each name once, with its values.
class MetricsText {
 public:
  enum class Kind : std::uint8_t { kGauge, kCounter, kHistogram };
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

  // Values that follow are of this one. Counters end in _total.
  void begin(std::string_view name, Kind kind, std::string_view help);
  void value(double value, const Labels& labels = {});
  // In seconds.
  void histogram(const Histogram& histogram, std::string_view queue = {});

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void line(std::string_view suffix, double value, const Labels& labels);

  std::string name_;
  std::string text_;
};

// Where the figures come from that a broker is not asked for. All of them outlive the router.
struct MetricsSources {
  const Counters& counters;
  const TaskTimes& times;
  const Histogram* commits = nullptr;  // of the store; none: there is none
};

void add_metrics(Router& router, const Doors& doors, const MetricsSources& sources);

}  // namespace retsu::server
