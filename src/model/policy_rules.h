// What a policy may say. The same rules hold for a whole policy and for the outcome of a patch.
#pragma once

#include <limits>

#include "model/rules.h"

namespace retsu::rules {

inline constexpr std::int64_t kYear = 365 * kDay;
inline constexpr std::int64_t kAnyNumber = std::numeric_limits<std::int64_t>::max();

inline constexpr Duration kAnyDuration{0, 10 * kYear};
inline constexpr DurationOrZero kLeaseDuration{100, 7 * kDay};
inline constexpr Between kAttempts{1, 1'000};

struct AgingStep {
  bool operator()(Checking& run, const Aging& aging) const {
    if (aging == kStrictAging || (aging.step_ms >= 0 && aging.step_ms <= kYear)) return true;
    return run.fail("must be \"strict\", or 0 to 31536000000 ms (365d), but is " +
                    std::to_string(aging.step_ms));
  }
};

constexpr auto rules_of(For<Retry>) {
  return List{Rule{"kind", &Retry::kind, Anything{}},
              Rule{"base_ms", &Retry::base_ms, Duration{0, kDay}},
              Rule{"factor", &Retry::factor, Share{1, 100}},
              Rule{"max_ms", &Retry::max_ms, Duration{0, 30 * kDay}},
              Rule{"jitter", &Retry::jitter, Share{0, 1}},
              Rule{"max_attempts", &Retry::max_attempts, kAttempts}};
}
inline bool relations_hold(Checking& run, const Retry& retry) {
  return retry.max_ms >= retry.base_ms || run.fail_at("max_ms", "must be at least base_ms");
}

constexpr auto rules_of(For<Rate>) {
  return List{Rule{"limit", &Rate::limit, Between{1, 1'000'000}},
              Rule{"per_ms", &Rate::per_ms, Duration{1, kDay}},
              Rule{"burst", &Rate::burst, Between{0, 1'000'000}}};
}

constexpr auto rules_of(For<Breaker>) {
  return List{Rule{"after", &Breaker::after, Between{1, 1'000}}};
}

constexpr auto rules_of(For<Retention>) {
  return List{Rule{"finished_ms", &Retention::finished_ms, kAnyDuration},
              Rule{"canceled_ms", &Retention::canceled_ms, kAnyDuration},
              Rule{"failed_ms", &Retention::failed_ms, kAnyDuration},
              Rule{"max_tasks", &Retention::max_tasks, Between{0, kAnyNumber}},
              Rule{"max_bytes", &Retention::max_bytes, Between{0, kAnyNumber}}};
}

constexpr auto rules_of(For<QueuePolicy>) {
  return List{Rule{"concurrency", &QueuePolicy::concurrency, Maybe{Between{1, 1'000'000}}},
              Rule{"interval_ms", &QueuePolicy::interval_ms, Duration{0, kDay}},
              Rule{"rate", &QueuePolicy::rate, Maybe{Nested{}}},
              Rule{"throttle_ms", &QueuePolicy::throttle_ms, Maybe{kAnyDuration}},
              Rule{"max_hold_ms", &QueuePolicy::max_hold_ms, kAnyDuration},
              Rule{"retry", &QueuePolicy::retry, Nested{}},
              Rule{"breaker", &QueuePolicy::breaker, Maybe{Nested{}}},
              Rule{"lease_ms", &QueuePolicy::lease_ms, kLeaseDuration},
              Rule{"timeout_ms", &QueuePolicy::timeout_ms, kAnyDuration},
              Rule{"aging_ms", &QueuePolicy::aging_ms, AgingStep{}},
              Rule{"paused", &QueuePolicy::paused, Anything{}},
              Rule{"await_keeps_permit", &QueuePolicy::await_keeps_permit, Anything{}},
              Rule{"retention", &QueuePolicy::retention, Nested{}}};
}

constexpr auto rules_of(For<UserSettings>) {
  return List{
      Rule{"weight", &UserSettings::weight, Maybe{Between{1, 1'000}}},
      Rule{"max_running", &UserSettings::max_running, Maybe{Between{1, kAnyNumber}}},
      Rule{"max_waiting", &UserSettings::max_waiting, Maybe{Between{0, kAnyNumber}}},
      Rule{"max_waiting_bytes", &UserSettings::max_waiting_bytes, Maybe{Between{0, kAnyNumber}}}};
}

}  // namespace retsu::rules
