#pragma once

#include <cstdlib>
#include <string_view>

namespace retsu {

// Whether tests should take the time that `./dev test --deep` gives them.
inline bool deep() {
  const char* value = std::getenv("RETSU_DEEP");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace retsu
