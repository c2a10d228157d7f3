// Faults on request: what the stand-in answers instead of the truth.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/fields.h"
#include "base/time.h"
#include "simulators/hardcover/query.h"

namespace retsu::simulators::hardcover {

enum class FaultKind : std::uint8_t {
  kUnauthorized,
  kTimeout,
  kTooMany,
  kBroken,
  kUnavailable,
  kSlow,          // the right answer, late
  kCut,           // the connection is closed in the middle of the right answer
  kGarbage,       // 200, and a body that is no JSON
  kGraphqlError,  // 200, and {"errors":…}
  kEmpty,         // no editions are found
  kNoBody,        // 200, and nothing
};
constexpr auto names_of(std::type_identity<FaultKind>) {
  using enum FaultKind;
  return std::to_array<Named<FaultKind>>({{"401", kUnauthorized},
                                          {"408", kTimeout},
                                          {"429", kTooMany},
                                          {"500", kBroken},
                                          {"503", kUnavailable},
                                          {"slow", kSlow},
                                          {"cut", kCut},
                                          {"garbage", kGarbage},
                                          {"graphql_error", kGraphqlError},
                                          {"empty", kEmpty},
                                          {"no_body", kNoBody}});
}

struct Fault {
  FaultKind kind = FaultKind::kUnavailable;
  std::int64_t times = 1;
  std::optional<std::int64_t> retry_after_s = {};  // a header Retry-After; of 429: 1 unless said
  std::optional<std::int64_t> delay_ms = {};       // of any kind; of slow: 1,000 unless said
  std::optional<std::string> isbn13 = {};          // only where it is asked for
};
constexpr auto fields_of(std::type_identity<Fault>) {
  return List{Field{"kind", &Fault::kind, kRequired}, Field{"times", &Fault::times},
              Field{"retry_after_s", &Fault::retry_after_s}, Field{"delay_ms", &Fault::delay_ms},
              Field{"isbn13", &Fault::isbn13}};
}

// In the order in which they were added. Not thread-safe.
class FaultQueue {
 public:
  // Refused, with a sentence: numbers out of range, or too many faults at once.
  tl::expected<void, std::string> add(Fault fault);
  void clear() { waiting_.clear(); }

  // The first that is meant for this, once less from now on.
  std::optional<Fault> next(const std::vector<Asked>& asked);
  [[nodiscard]] std::vector<Fault> waiting() const { return {waiting_.begin(), waiting_.end()}; }

 private:
  std::deque<Fault> waiting_;
};

}  // namespace retsu::simulators::hardcover
