// GET /metrics, as Prometheus reads it.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "server/operations.h"
#include "server/router.h"

namespace retsu::server {

// What the server counts itself. On the loop's thread.
struct Counters {
  std::array<std::uint64_t, 6> answers{};  // by the first digit of their status
  std::uint64_t connections = 0;           // accepted
  std::uint64_t turned_away = 0;           // of these, because there were too many
  std::uint64_t open_connections = 0;
  std::uint64_t replayed = 0;  // answers that an idempotency key had got before
};

// Text of metrics: each name once, with its values.
class MetricsText {
 public:
  enum class Kind : std::uint8_t { kGauge, kCounter };
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  // Values that follow are of this one. Counters end in _total.
  void begin(std::string_view name, Kind kind, std::string_view help);
  void value(double value, Labels labels = {});

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string name_;
  std::string text_;
};

void add_metrics(Router& router, const Doors& doors, const Counters& counters);

}  // namespace retsu::server
