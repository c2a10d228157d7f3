// How services limit their clients. Pure: time is an argument, and one that goes back changes
// nothing.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace retsu::simulators {

// Holds up to `burst` tokens, at first all of them, and is refilled evenly, `per_minute` a minute.
// Counts exactly: nothing is lost by asking often.
class TokenBucket {
 public:
  TokenBucket(std::int64_t burst, std::int64_t per_minute)
      : full_(burst * kParts), per_ms_(per_minute), level_(full_) {}

  // All of them, or none and false.
  bool take(std::int64_t tokens, TimePoint now) {
    refill(now);
    if (level_ < tokens * kParts) return false;
    level_ -= tokens * kParts;
    return true;
  }
  [[nodiscard]] std::int64_t left(TimePoint now) {  // whole ones
    refill(now);
    return level_ / kParts;
  }
  // Until so many are there; not more than `burst`.
  [[nodiscard]] Millis wait_for(std::int64_t tokens, TimePoint now) {
    refill(now);
    return Millis((std::max(tokens * kParts - level_, std::int64_t{0}) + per_ms_ - 1) / per_ms_);
  }
  [[nodiscard]] Millis until_full(TimePoint now) { return wait_for(full_ / kParts, now); }

 private:
  static constexpr std::int64_t kParts = 60'000;  // of a token: a minute in milliseconds

  void refill(TimePoint now) {
    if (now <= at_) return;
    // Compared before it is multiplied: the first moment is far from the epoch.
    const std::int64_t passed = (now - at_).count();
    const std::int64_t missing = full_ - level_;
    level_ = passed > missing / per_ms_ ? full_ : level_ + passed * per_ms_;
    at_ = now;
  }

  const std::int64_t full_;
  const std::int64_t per_ms_;  // parts
  std::int64_t level_;         // parts
  TimePoint at_{};
};

// Allows `limit` in each window; windows follow each other from the epoch on, so that those of a
// day begin at midnight, UTC.
class FixedWindow {
 public:
  FixedWindow(std::int64_t limit, Millis length) : limit_(limit), length_(length) {}

  bool take(std::int64_t amount, TimePoint now) {
    turn(now);
    if (limit_ - used_ < amount) return false;
    used_ += amount;
    return true;
  }
  [[nodiscard]] std::int64_t left(TimePoint now) {
    turn(now);
    return limit_ - used_;
  }
  [[nodiscard]] Millis until_end(TimePoint now) const {
    return length_ - now.time_since_epoch() % length_;
  }
  [[nodiscard]] std::int64_t limit() const { return limit_; }
  [[nodiscard]] Millis length() const { return length_; }

 private:
  void turn(TimePoint now) {
    const std::int64_t window = now.time_since_epoch() / length_;
    if (window > window_) used_ = 0;
    window_ = std::max(window, window_);
  }

  const std::int64_t limit_;
  const Millis length_;
  std::int64_t window_ = 0;
  std::int64_t used_ = 0;
};

}  // namespace retsu::simulators
