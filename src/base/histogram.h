#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace retsu {

// How many things took how long. Any thread may add and read.
class Histogram {
 public:
  using Time = std::chrono::microseconds;
  // The last of them has no bound.
  static constexpr std::array kBounds = {
      Time(100),        Time(500),        Time(1'000),       Time(5'000),        Time(10'000),
      Time(50'000),     Time(100'000),    Time(500'000),     Time(1'000'000),    Time(5'000'000),
      Time(30'000'000), Time(60'000'000), Time(600'000'000), Time(3'600'000'000)};

  void add(Time took) {
    std::size_t bucket = 0;
    while (bucket < kBounds.size() && took > kBounds[bucket]) ++bucket;
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(static_cast<std::uint64_t>(took.count()), std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t count(std::size_t bucket) const {
    return counts_[bucket].load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t all = 0;
    for (const auto& count : counts_) all += count.load(std::memory_order_relaxed);
    return all;
  }
  [[nodiscard]] Time sum() const { return Time(sum_.load(std::memory_order_relaxed)); }

 private:
  std::array<std::atomic<std::uint64_t>, kBounds.size() + 1> counts_{};
  std::atomic<std::uint64_t> sum_ = 0;
};

}  // namespace retsu
