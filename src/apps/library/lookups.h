// Calls to Hardcover, as tasks of one paced queue that all clients share: each runs whatever lookup
// is next, also those of others, and a question that was answered is not asked again.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "apps/library/door.h"
#include "apps/library/hardcover_api.h"
#include "apps/library/rate_limits.h"
#include "base/http_client.h"
#include "worker/worker.h"

namespace retsu::library {

struct HardcoverSettings {
  std::string url;    // https://api.hardcover.app/v1/graphql
  std::string token;  // of its account
  std::string client;
};

// Runs lookups. Its handler is a worker's.
class HardcoverCaller {
 public:
  // `on_refused`: the service does not take what this client asks for; nothing more may be run.
  HardcoverCaller(HardcoverSettings settings, Door& library, std::function<void()> on_refused)
      : settings_(std::move(settings)), library_(library), on_refused_(std::move(on_refused)) {}

  SettleOne run(worker::Run& run);

  // Why it was refused; none: it was not.
  [[nodiscard]] std::optional<std::string> refusal() const;

 private:
  using Steady = std::chrono::steady_clock;

  SettleOne judge(const HttpAnswer& answer);
  SettleOne give_up(std::string why);
  void heed_limits(const HttpAnswer& answer);

  const HardcoverSettings settings_;
  Door& library_;
  const std::function<void()> on_refused_;
  HttpClient client_;

  mutable std::mutex mutex_;
  std::optional<std::string> refusal_;
  std::optional<RatePolicy> told_;  // to the library
  Steady::time_point used_up_until_;
};

// What a lookup ended with, as its task keeps it.
struct LookupResult {
  std::optional<Found> found;
};
constexpr auto fields_of(std::type_identity<LookupResult>) {
  return List{Field{"found", &LookupResult::found, kAlwaysShown}};
}

inline constexpr const char* kLookupType = "hardcover.lookup";

// Asks for a lookup and waits for its end. Refused: `shutdown` after a stop, else why it failed;
// `invalid` if it will fail again.
Result<std::optional<Found>> look_up(Broker& broker, const LookupQuery& query,
                                     const std::string& client, const std::stop_token& stop);

}  // namespace retsu::library
