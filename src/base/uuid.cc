#include "base/uuid.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace retsu {
namespace {

constexpr std::uint64_t kMaxMillis = (std::uint64_t{1} << 48) - 1;
constexpr std::uint64_t kMaxCounter = (1 << 12) - 1;
constexpr std::uint64_t kVersion = 7;
constexpr std::uint64_t kVariant = 2;

std::string format(std::uint64_t high, std::uint64_t low) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(36, '-');
  std::size_t place = 0;
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) ++place;
    const std::uint64_t half = digit < 16 ? high : low;
    text[place++] = kDigits[half >> (60 - 4 * (digit % 16)) & 15];
  }
  return text;
}

std::mt19937_64 seeded_by_the_system() {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device(),
                     device(), device(), device(), device()};
  return std::mt19937_64(seed);
}

}  // namespace

UuidSource::UuidSource() : random_(seeded_by_the_system()) {}

UuidSource::UuidSource(std::uint64_t seed) : random_(seed) {}

std::string UuidSource::next(TimePoint now) {
  const auto millis =
      static_cast<std::uint64_t>(std::max<std::int64_t>(now.time_since_epoch().count(), 0));
  const std::lock_guard lock(mutex_);
  if (millis > millis_) {
    millis_ = std::min(millis, kMaxMillis);
    counter_ = random_() & kMaxCounter >> 1;  // half of the range is left for counting
  } else if (counter_ < kMaxCounter) {
    ++counter_;
  } else {
    ++millis_;  // borrowed from the future
    counter_ = 0;
  }
  const std::uint64_t high = millis_ << 16 | kVersion << 12 | counter_;
  const std::uint64_t low = kVariant << 62 | random_() >> 2;
  return format(high, low);
}

}  // namespace retsu
