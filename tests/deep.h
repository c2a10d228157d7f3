#pragma once

#include <cstdlib>
#include <string_view>

namespace retsu {

// Whether tests should take the time that `./dev test --deep` gives them.
inline bool deep() {
  const char* value = std::getenv("RETSU_DEEP");
  return value != nullptr && std::string_view(value) == "1";
}

// So many in release, a fraction of it under a sanitizer, where everything takes several times as
// long.
constexpr int scaled(int times, int fraction = 5) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return times / fraction;
#else
  return (void)fraction, times;
#endif
}

}  // namespace retsu
