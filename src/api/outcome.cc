#include <utility>

#include "retsu/operations.h"

namespace retsu_api {

Outcome finish(Json result) { return {.result = std::move(result)}; }

Outcome fail(std::string error, const FailOptions& options) {
  return {.kind = OutcomeKind::kFail,
          .error = std::move(error),
          .retryable = options.retryable,
          .retry_after = options.retry_after};
}

Outcome release() { return {.kind = OutcomeKind::kRelease}; }

Outcome throttle(std::optional<Duration> retry_after) {
  return {.kind = OutcomeKind::kThrottle, .retry_after = retry_after};
}

Outcome await(std::vector<NewTask> children) {
  return {.kind = OutcomeKind::kAwait, .children = std::move(children)};
}

}  // namespace retsu_api
