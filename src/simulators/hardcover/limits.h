#pragma once

#include <optional>
#include <string>

#include "simulators/http_service.h"
#include "simulators/token_bucket.h"

namespace retsu::simulators::hardcover {

// What a free account may ask for: 60 requests a minute, 10 of them at once, 5,000 a day. With a
// speed of S the bucket is refilled S times as fast and a day is S times shorter; what headers say
// is true on the caller's clock. A day begins at midnight, UTC. Not thread-safe.
class Limits {
 public:
  Limits(int speed, bool daily);

  // None: they are granted, and counted. Else how long to wait; nothing is counted then.
  std::optional<Millis> take(int requests, TimePoint now);

  struct Left {
    std::int64_t now = 0;
    std::optional<std::int64_t> today = {};
  };
  [[nodiscard]] Left left(TimePoint now);

  // RateLimit-Policy and RateLimit.
  void add_headers(ServiceHeaders& headers, TimePoint now);

 private:
  const std::int64_t per_minute_;
  TokenBucket minute_;
  std::optional<FixedWindow> day_;
};

// Rounded up, for headers that tell whole seconds.
std::int64_t whole_seconds(Millis time);

}  // namespace retsu::simulators::hardcover
