// How a queue runs its tasks: pace, patience, memory. See docs/operations.md for what each field
// means in detail; a field `…_ms` there is a duration here.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "retsu/time.h"

namespace retsu_api {

enum class RetryKind : std::uint8_t { kExponential, kFixed };

struct Retry {
  RetryKind kind = RetryKind::kExponential;
  Duration base = std::chrono::seconds(1);
  double factor = 2;
  Duration max = std::chrono::minutes(5);
  double jitter = 0.1;  // up to this share of the delay is added
  std::int64_t max_attempts = 3;
};

// A token bucket: `limit` starts every `per`, at most `burst` saved up (0: as many as the limit).
struct Rate {
  std::int64_t limit = 1;
  Duration per = std::chrono::seconds(1);
  std::int64_t burst = 0;
};

// After so many throttles in a row, the longest hold.
struct Breaker {
  std::int64_t after = 1;
};

// How long ended tasks are kept, and at most how many of each end state.
struct Retention {
  Duration finished = std::chrono::hours(24);
  Duration canceled = std::chrono::hours(1);
  Duration failed = std::chrono::hours(7 * 24);
  std::int64_t max_tasks = 100'000;
  std::int64_t max_bytes = std::int64_t{1} << 30;
};

// How much earlier one step of priority counts. Strict: a higher priority always comes first.
struct Aging {
  Duration step = std::chrono::minutes(10);
  bool strict = false;
};

struct QueuePolicy {
  std::optional<std::int64_t> concurrency = {};  // tasks running at once; none: as many as claimed
  Duration interval = {};                        // from the end of one run to the next start
  std::optional<Rate> rate = {};
  std::optional<Duration> throttle = {};  // hold after a throttle that names no time
  Duration max_hold = std::chrono::hours(24);
  Retry retry = {};
  std::optional<Breaker> breaker = {};
  Duration lease = std::chrono::seconds(60);     // 0: until released
  Duration timeout = std::chrono::seconds(300);  // of one run; 0: none
  Aging aging = {};
  bool paused = false;
  bool await_keeps_permit = false;
  Retention retention = {};
};

// A queue as it is.
struct QueueInfo {
  std::string queue = {};
  QueuePolicy policy = {};
  std::map<std::string, std::int64_t> tasks = {};  // by state: {"QUEUED", 12}
  std::int64_t running = 0;                        // permits in use
  std::int64_t waiting_bytes = 0;
  std::int64_t users = 0;                    // with tasks that could start
  std::optional<Duration> oldest_age = {};   // of what is QUEUED
  std::optional<TimePoint> hold_until = {};  // throttled until then
  std::map<std::string, std::int64_t> per_minute = {};
  std::map<std::string, std::int64_t> counters = {};
};

}  // namespace retsu_api

namespace retsu {
namespace api = ::retsu_api;
using namespace ::retsu_api;
}  // namespace retsu
