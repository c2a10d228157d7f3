#pragma once

#include <chrono>

namespace retsu {

// Whether the call succeeds before half a minute is over. What it waits for has no event of its
// own: a queue asks for room on its disk once a second, and until then each try is refused.
template <class Call>
bool succeeds_in_the_end(Call call) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < deadline) {
    if (call()) return true;
  }
  return false;
}

}  // namespace retsu
