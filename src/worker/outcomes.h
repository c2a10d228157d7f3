// How runs end.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "model/operations.h"

namespace retsu::worker {

inline SettleOne finished(Json result) {
  SettleOne outcome;
  outcome.result = std::move(result);
  return outcome;
}

enum class Again : std::uint8_t { kNever, kLater };
inline SettleOne failed(std::string error, Again again = Again::kLater) {
  SettleOne outcome;
  outcome.outcome = Outcome::kFail;
  outcome.error = std::move(error);
  outcome.retryable = again == Again::kLater;
  return outcome;
}

inline SettleOne throttled(std::string error, std::optional<std::int64_t> retry_after_ms = {}) {
  SettleOne outcome;
  outcome.outcome = Outcome::kThrottle;
  outcome.error = std::move(error);
  outcome.retry_after_ms = retry_after_ms;
  return outcome;
}

inline SettleOne released() {
  SettleOne outcome;
  outcome.outcome = Outcome::kRelease;
  return outcome;
}

}  // namespace retsu::worker
