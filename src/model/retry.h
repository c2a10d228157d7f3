#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "model/policy.h"

namespace retsu {

// A number from 0 up to 1, the same for the same task and attempt everywhere: jitter without
// randomness.
constexpr double jitter_of(std::string_view id, std::int64_t attempts) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
  for (const char c : id) mix(static_cast<unsigned char>(c));
  mix(static_cast<std::uint64_t>(attempts));
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93;
  hash ^= hash >> 32;
  return static_cast<double>(hash >> 11) * 0x1p-53;
}

// How long to wait after the given number of attempts has failed.
constexpr Millis retry_delay(const Retry& retry, std::string_view id, std::int64_t attempts) {
  double delay = static_cast<double>(retry.base_ms);
  const auto most = static_cast<double>(retry.max_ms);
  if (retry.kind == RetryKind::kExponential) {
    for (std::int64_t i = 1; i < attempts && delay < most; ++i) delay *= retry.factor;
    delay = std::min(delay, most);
  }
  delay += delay * retry.jitter * jitter_of(id, attempts);
  return Millis(static_cast<std::int64_t>(delay));
}

}  // namespace retsu
