#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/fields.h"

namespace retsu {

inline constexpr std::int64_t kSecond = 1'000;
inline constexpr std::int64_t kMinute = 60 * kSecond;
inline constexpr std::int64_t kHour = 60 * kMinute;
inline constexpr std::int64_t kDay = 24 * kHour;

enum class RetryKind : std::uint8_t { kExponential, kFixed };

constexpr auto names_of(std::type_identity<RetryKind>) {
  return std::to_array<Named<RetryKind>>(
      {{"exponential", RetryKind::kExponential}, {"fixed", RetryKind::kFixed}});
}

struct Retry {
  RetryKind kind = RetryKind::kExponential;
  std::int64_t base_ms = kSecond;
  double factor = 2;
  std::int64_t max_ms = 5 * kMinute;
  double jitter = 0.1;  // up to this share of the delay is added
  std::int64_t max_attempts = 3;

  bool operator==(const Retry&) const = default;
};

constexpr auto fields_of(std::type_identity<Retry>) {
  return List{Field{"kind", &Retry::kind},     Field{"base_ms", &Retry::base_ms},
              Field{"factor", &Retry::factor}, Field{"max_ms", &Retry::max_ms},
              Field{"jitter", &Retry::jitter}, Field{"max_attempts", &Retry::max_attempts}};
}

// A token bucket: `limit` starts every `per_ms`, refilled evenly, at most `burst` saved up (0:
// limit).
struct Rate {
  std::int64_t limit = 0;
  std::int64_t per_ms = kSecond;
  std::int64_t burst = 0;

  [[nodiscard]] constexpr std::int64_t capacity() const { return burst > 0 ? burst : limit; }
  bool operator==(const Rate&) const = default;
};

constexpr auto fields_of(std::type_identity<Rate>) {
  return List{Field{"limit", &Rate::limit, kRequired}, Field{"per_ms", &Rate::per_ms, kRequired},
              Field{"burst", &Rate::burst}};
}

struct Breaker {
  std::int64_t after = 0;
  bool operator==(const Breaker&) const = default;
};

constexpr auto fields_of(std::type_identity<Breaker>) {
  return List{Field{"after", &Breaker::after, kRequired}};
}

// How long ended tasks are kept. The limits hold for each end state by itself.
struct Retention {
  std::int64_t finished_ms = kDay;
  std::int64_t canceled_ms = kHour;
  std::int64_t failed_ms = 7 * kDay;
  std::int64_t max_tasks = 100'000;
  std::int64_t max_bytes = std::int64_t{1} << 30;

  bool operator==(const Retention&) const = default;
};

constexpr auto fields_of(std::type_identity<Retention>) {
  return List{Field{"finished_ms", &Retention::finished_ms},
              Field{"canceled_ms", &Retention::canceled_ms},
              Field{"failed_ms", &Retention::failed_ms}, Field{"max_tasks", &Retention::max_tasks},
              Field{"max_bytes", &Retention::max_bytes}};
}

// How much earlier one step of priority counts. In JSON a number of milliseconds, or "strict".
struct Aging {
  std::int64_t step_ms = 10 * kMinute;
  bool operator==(const Aging&) const = default;
};
// Strict priority is aging so slow that no task outlives a step: one formula orders both.
inline constexpr Aging kStrictAging{std::int64_t{1'000} * 365 * kDay};

// The pace and the patience of a queue.
struct QueuePolicy {
  std::optional<std::int64_t> concurrency;
  std::int64_t interval_ms = 0;
  std::optional<Rate> rate;
  std::optional<std::int64_t> throttle_ms;  // absent: retry.base_ms
  std::int64_t max_hold_ms = kDay;
  Retry retry;
  std::optional<Breaker> breaker;
  std::int64_t lease_ms = 60 * kSecond;     // 0: until released
  std::int64_t timeout_ms = 300 * kSecond;  // 0: none
  Aging aging_ms;
  bool paused = false;
  bool await_keeps_permit = false;
  Retention retention;

  [[nodiscard]] std::int64_t throttle_hold_ms() const {
    return throttle_ms.value_or(retry.base_ms);
  }
  bool operator==(const QueuePolicy&) const = default;
};

constexpr auto fields_of(std::type_identity<QueuePolicy>) {
  return List{Field{"concurrency", &QueuePolicy::concurrency},
              Field{"interval_ms", &QueuePolicy::interval_ms},
              Field{"rate", &QueuePolicy::rate},
              Field{"throttle_ms", &QueuePolicy::throttle_ms},
              Field{"max_hold_ms", &QueuePolicy::max_hold_ms},
              Field{"retry", &QueuePolicy::retry},
              Field{"breaker", &QueuePolicy::breaker},
              Field{"lease_ms", &QueuePolicy::lease_ms},
              Field{"timeout_ms", &QueuePolicy::timeout_ms},
              Field{"aging_ms", &QueuePolicy::aging_ms},
              Field{"paused", &QueuePolicy::paused},
              Field{"await_keeps_permit", &QueuePolicy::await_keeps_permit},
              Field{"retention", &QueuePolicy::retention}};
}

// What a user gets in a queue. Set for one queue or, with no queue named, for all: the one wins
// field by field. Limits hold in each queue by itself.
struct UserSettings {
  std::optional<std::int64_t> weight;
  std::optional<std::int64_t> max_running;
  std::optional<std::int64_t> max_waiting;
  std::optional<std::int64_t> max_waiting_bytes;

  bool operator==(const UserSettings&) const = default;
};

constexpr auto fields_of(std::type_identity<UserSettings>) {
  return List{Field{"weight", &UserSettings::weight},
              Field{"max_running", &UserSettings::max_running},
              Field{"max_waiting", &UserSettings::max_waiting},
              Field{"max_waiting_bytes", &UserSettings::max_waiting_bytes}};
}

// What the queue as a whole holds; above it, a clear error and no change.
struct Limits {
  std::int64_t payload_bytes = 1 << 20;
  std::int64_t result_bytes = 1 << 20;
  std::int64_t error_bytes = 16 << 10;
  std::int64_t progress_bytes = 4 << 10;
  std::int64_t xcom_bytes = 256 << 10;
  std::int64_t batch = 1'000;         // tasks in a push, results in a settle
  std::int64_t claim = 1'000;         // tasks in a claim
  std::int64_t claim_names = 1'000;   // queues, users and steal targets in a claim, each
  std::int64_t dependencies = 1'000;  // of one task, its children included
  std::int64_t tags = 16;
  std::int64_t tag_bytes = 64;
  std::int64_t history = 20;  // attempts remembered of one task; the oldest go first
  std::int64_t page = 1'000;
  std::int64_t graph_nodes = 1'000;
  std::int64_t queues = 10'000;
  std::int64_t schedules = 10'000;
  std::int64_t xcom_entries = 1'000'000;
  std::int64_t queue_tasks = 20'000'000;              // waiting in one queue
  std::int64_t queue_bytes = std::int64_t{16} << 30;  // payloads waiting in one queue
  std::int64_t remembered_ids = 20'000'000;           // tombstones and aliases
  std::int64_t idempotency_keys = 10'000'000;         // remembered with their answers
  std::int64_t closed_claims = 100'000;               // kept so that a repeated settle is answered
  std::int64_t settled_tasks = 1'000'000;             // of claims, kept likewise
  std::int64_t steps = 1'000;                         // of a cascade or of housekeeping at once
};

}  // namespace retsu
