// Randomness from one number, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <random>

namespace retsu::random_runs {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  // 0 to n − 1.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool percent(std::int64_t chance) { return below(100) < chance; }

  template <class List>
  const auto& pick(const List& list) {
    return *std::next(std::begin(list), below(std::ssize(list)));
  }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *std::next(list.begin(), below(static_cast<std::int64_t>(list.size())));
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace retsu::random_runs
