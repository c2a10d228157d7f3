// Names for things that nobody named.
#pragma once

#include <cstdint>
#include <mutex>
#include <random>
#include <string>

#include "base/time.h"

namespace retsu {

class IdSource {
 public:
  IdSource() = default;
  IdSource(const IdSource&) = delete;
  IdSource& operator=(const IdSource&) = delete;
  virtual ~IdSource() = default;

  // An id that it has not given before.
  virtual std::string next(TimePoint now) = 0;
};

// UUIDs of version 7 (RFC 9562): `0199a0b1-c2d3-7e4f-8a5b-6c7d8e9f0a1b`. The ids of one source rise
// strictly, also within a millisecond and when the clock goes backwards. Not secrets: whoever has
// seen enough of them can guess the next. Thread-safe.
class UuidSource final : public IdSource {
 public:
  UuidSource();  // seeded by the operating system
  explicit UuidSource(std::uint64_t seed);

  std::string next(TimePoint now) override;

 private:
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::uint64_t millis_ = 0;   // of the last id
  std::uint64_t counter_ = 0;  // its 12 bits after the version, counted up within a millisecond
};

}  // namespace retsu
