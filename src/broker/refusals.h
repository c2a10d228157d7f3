#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "broker/broker.h"
#include "model/error.h"
#include "model/policy.h"

// What a broker says when it cannot.
namespace retsu {

inline Error shut_down() {
  return {ErrorCode::kShutdown, "the queue is shutting down: ask again later"};
}
inline Error stopped() { return {ErrorCode::kShutdown, "the caller gave up"}; }
inline Error read_anew() {
  return {ErrorCode::kUnavailable, "the store is being read anew: ask again"};
}
inline Error too_late() {
  return {ErrorCode::kDeadline, "the time for this call had passed; nothing was done"};
}

inline Error storage_full() {
  return {ErrorCode::kStorageFull,
          "the store's disk is full: make room, it goes on by itself",
          {},
          Millis(kSecond)};
}
inline Error outcome_unknown() {
  return {ErrorCode::kOutcomeUnknown,
          "the store failed while this was being kept: it may have been done or not; ask again"};
}

inline Error payload_lost() {
  return {ErrorCode::kUnavailable,
          "the store cannot be read at the moment; nothing was done",
          {},
          Millis(kSecond)};
}
inline Error key_mismatch() {
  return {ErrorCode::kIdempotencyMismatch,
          "this idempotency key was used for something else: take a new one"};
}
inline constexpr std::string_view kTooManyKeys = R"({"limit":"idempotency_keys"})";
inline Error too_many_keys() {
  return {ErrorCode::kOverloaded,
          "too many idempotency keys are remembered: ask without one, or wait",
          std::string(kTooManyKeys), Millis(kMinute)};
}

// Why nobody waits for the answer any more; none: somebody does.
inline std::optional<Error> given_up(const Context& context) {
  if (context.stop.stop_requested()) return stopped();
  if (std::chrono::steady_clock::now() >= context.deadline) return too_late();
  return std::nullopt;
}

}  // namespace retsu
