// The headers RateLimit-Policy and RateLimit, with which a service tells how often it may be asked:
//
//   RateLimit-Policy: "Free";q=60;w=60;burst=10, "daily";q=5000;w=86400
//   RateLimit: "Free";r=8;t=42, "daily";r=4231;t=51234
//
// They are lists of RFC 9651. What cannot be understood says nothing: of a header that is not such
// a list nothing is read, and entries that lack a number or have one that makes no sense are left
// out. Other parameters are passed over. No number is below 0 or has more than 15 digits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retsu::library {

struct RatePolicy {
  std::string name;
  std::int64_t quota = 0;     // requests in a window, 1 or more
  std::int64_t window_s = 0;  // 1 or more
  std::int64_t burst = 0;     // 0: not said

  bool operator==(const RatePolicy&) const = default;
};

struct RateState {
  std::string name;  // of the policy
  std::int64_t remaining = 0;
  std::int64_t reset_s = 0;  // until there is more; 0: now, or not said

  bool operator==(const RateState&) const = default;
};

std::vector<RatePolicy> read_rate_policies(std::string_view header);
std::vector<RateState> read_rate_states(std::string_view header);

}  // namespace retsu::library
