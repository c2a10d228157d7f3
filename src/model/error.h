#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>

#include "base/fields.h"
#include "base/time.h"

namespace retsu {

// Everything that can go wrong, for every door. The same row gives the code in JSON, the HTTP
// status and the exit status of the command line.
enum class ErrorCode : std::uint8_t {
  kInvalid,
  kUnknownField,
  kUnauthorized,
  kForbidden,
  kNotFound,
  kInvalidTransition,
  kStaleClaim,
  kConflict,
  kIdempotencyMismatch,
  kIdempotencyInProgress,
  kTooLarge,
  kDependencyCycle,
  kUnknownDependency,
  kOverloaded,
  kUnavailable,
  kDraining,
  kOutcomeUnknown,
  kShutdown,
  kDeadline,
  kStorageFull,
};

struct ErrorRow {
  ErrorCode code;
  std::string_view name;
  int http_status;
  int exit_code;
};

inline constexpr ErrorRow kErrors[] = {
    {ErrorCode::kInvalid, "invalid", 400, 2},
    {ErrorCode::kUnknownField, "unknown_field", 400, 2},
    {ErrorCode::kUnauthorized, "unauthorized", 401, 1},
    {ErrorCode::kForbidden, "forbidden", 403, 1},
    {ErrorCode::kNotFound, "not_found", 404, 3},
    {ErrorCode::kInvalidTransition, "invalid_transition", 409, 4},
    {ErrorCode::kStaleClaim, "stale_claim", 409, 4},
    {ErrorCode::kConflict, "conflict", 409, 4},
    {ErrorCode::kIdempotencyMismatch, "idempotency_mismatch", 409, 4},
    {ErrorCode::kIdempotencyInProgress, "idempotency_in_progress", 409, 4},
    {ErrorCode::kTooLarge, "too_large", 413, 2},
    {ErrorCode::kDependencyCycle, "dependency_cycle", 422, 4},
    {ErrorCode::kUnknownDependency, "unknown_dependency", 422, 4},
    {ErrorCode::kOverloaded, "overloaded", 429, 1},
    {ErrorCode::kUnavailable, "unavailable", 503, 5},
    {ErrorCode::kDraining, "draining", 503, 1},
    {ErrorCode::kOutcomeUnknown, "outcome_unknown", 503, 1},
    {ErrorCode::kShutdown, "shutdown", 503, 5},
    {ErrorCode::kDeadline, "deadline_exceeded", 504, 5},
    {ErrorCode::kStorageFull, "storage_full", 507, 1},
};

constexpr const ErrorRow& row_of(ErrorCode code) { return kErrors[static_cast<std::size_t>(code)]; }

struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;       // what, and what to do
  std::string details = {};  // a JSON object, or empty
  std::optional<Millis> retry_after = {};

  bool operator==(const Error&) const = default;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<std::monostate>;

inline tl::unexpected<Error> refuse(ErrorCode code, std::string message, std::string details = {}) {
  return tl::unexpected(Error{code, std::move(message), std::move(details)});
}

}  // namespace retsu
