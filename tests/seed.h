#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

namespace retsu {

// For the dice of a test: another one each time, unless RETSU_SEED says which. Printed, to be
// played again.
inline std::uint64_t seed_of_this_run() {
  const char* const given = std::getenv("RETSU_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::cout << "RETSU_SEED=" << seed << '\n';
  return seed;
}

}  // namespace retsu
