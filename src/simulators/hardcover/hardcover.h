// A stand-in for the GraphQL service of Hardcover (api.hardcover.app), which finds editions of
// books, with its limits and its faults. See docs/simulators.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/time.h"
#include "base/wall_clock.h"
#include "simulators/hardcover/call_log.h"
#include "simulators/hardcover/catalogue.h"
#include "simulators/hardcover/faults.h"
#include "simulators/hardcover/limits.h"
#include "simulators/http_service.h"

namespace retsu::simulators {

struct HardcoverSettings {
  std::uint16_t port = 0;  // 0: any that is free
  std::string token = {};  // the one that is right; empty: any
  int speed = 1;           // of the limits, from 1 to kMostSpeed
  bool daily_limit = true;
  Millis latency{0};          // of every answer of the API
  std::string log_file = {};  // calls are appended to it; empty: nowhere
  std::size_t kept_calls = 1'000'000;
  std::function<TimePoint()> clock = wall_clock;  // of limits and log; called on any thread

  static constexpr int kMostSpeed = 100'000;
};

// Serves from start() until it goes, on 127.0.0.1. Thread-safe. The limits are shared by all
// clients, as those of one account are.
class HardcoverSimulator {
 public:
  using Edition = hardcover::Edition;
  using Fault = hardcover::Fault;
  using FaultKind = hardcover::FaultKind;
  using Call = hardcover::Call;

  // Fails with a sentence: the port is taken, the log cannot be written, a setting is out of range.
  static tl::expected<std::unique_ptr<HardcoverSimulator>, std::string> start(
      HardcoverSettings settings);
  HardcoverSimulator(const HardcoverSimulator&) = delete;
  HardcoverSimulator& operator=(const HardcoverSimulator&) = delete;
  ~HardcoverSimulator() = default;

  [[nodiscard]] std::string url() const;  // http://127.0.0.1:PORT/v1/graphql
  [[nodiscard]] std::uint16_t port() const { return service_->port(); }

  // What it answers if nothing is wrong; see hardcover/catalogue.h.
  static std::optional<Edition> edition_by_isbn(std::string_view isbn) {
    return hardcover::edition_by_isbn(isbn);
  }
  static std::optional<Edition> edition_by_title(std::string_view title, std::string_view author) {
    return hardcover::edition_by_title(title, author);
  }

  // The next calls that limits and token let through get it. Refused: values out of range.
  tl::expected<void, std::string> add_fault(Fault fault);
  void clear_faults();

  [[nodiscard]] std::vector<Call> calls()
      const;  // the last kept_calls of them, in order of answers
  [[nodiscard]] std::map<std::string, std::int64_t> calls_by_status() const;

 private:
  explicit HardcoverSimulator(HardcoverSettings settings);

  ServiceAnswer answer(const ServiceRequest& request);
  ServiceAnswer graphql(const ServiceRequest& request);
  ServiceAnswer get_log(const ServiceRequest& request);
  ServiceAnswer get_stats(const ServiceRequest& request);
  ServiceAnswer get_faults(const ServiceRequest& request);
  ServiceAnswer post_fault(const ServiceRequest& request);
  ServiceAnswer delete_faults(const ServiceRequest& request);

  // The answer to a request with the right token; fills in what is told in the log.
  ServiceAnswer permitted(const ServiceRequest& request, TimePoint now, Call& call);
  ServiceAnswer planned(const hardcover::Plan& plan, Call& call);

  struct Route;
  static const Route kRoutes[];

  const HardcoverSettings settings_;
  mutable std::mutex mutex_;  // of the three that follow
  hardcover::Limits limits_;
  hardcover::FaultQueue faults_;
  hardcover::CallLog log_;
  std::unique_ptr<HttpService> service_;  // goes first
};

}  // namespace retsu::simulators
