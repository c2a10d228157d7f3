#include <algorithm>
#include <bit>

#include "engine/rows.h"

namespace retsu::engine {
namespace {

constexpr std::uint16_t kRemembered = 1'024;

// Bucket 2k holds waits from 2^k up to 2^k × √2, bucket 2k+1 the rest of the octave; 0 ms counts as
// 1 ms.
std::size_t bucket_of(Millis wait) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(wait.count(), 1));
  const auto octave = static_cast<std::size_t>(std::bit_width(value)) - 1;
  if (octave >= Waits::kBuckets / 2) return Waits::kBuckets - 1;
  const bool upper = value * value >= std::uint64_t{1} << (2 * octave + 1);
  return 2 * octave + (upper ? 1 : 0);
}

std::int64_t upper_bound_of(std::size_t bucket) {
  const auto octave = std::int64_t{1} << (bucket / 2);
  return bucket % 2 == 1 ? 2 * octave
                         : static_cast<std::int64_t>(static_cast<double>(octave) * 1.4143);
}

}  // namespace

void Waits::add(Millis wait) {
  if (total >= kRemembered) {
    total = 0;
    for (std::uint16_t& bucket : buckets) total = static_cast<std::uint16_t>(total + (bucket /= 2));
  }
  ++buckets[bucket_of(wait)];
  ++total;
}

std::optional<std::int64_t> Waits::quantile(double share) const {
  if (total == 0) return std::nullopt;
  const auto wanted = std::max(1.0, share * total);
  double seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets[i];
    if (seen >= wanted) return upper_bound_of(i);
  }
  return upper_bound_of(kBuckets - 1);
}

}  // namespace retsu::engine
