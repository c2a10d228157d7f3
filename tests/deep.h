#pragma once

#include <cstdlib>
#include <string_view>

namespace retsu {

// Whether tests should take the time that `./dev test --deep` gives them.
inline bool deep() {
  const char* value = std::getenv("RETSU_DEEP");
  return value != nullptr && std::string_view(value) == "1";
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// So many in release, a fraction of it under a sanitizer, where everything takes several times as
// long.
constexpr int scaled(int times, int fraction = 5) { return kSanitized ? times / fraction : times; }

}  // namespace retsu
