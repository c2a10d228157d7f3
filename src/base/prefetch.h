#pragma once

#include <cstddef>

namespace retsu {

// The object is needed soon: brings it into the caches while other work is done. None is allowed.
template <class T>
void prefetch(const T* object) {
  constexpr std::size_t kLine = 64;
  const auto* bytes = reinterpret_cast<const char*>(object);
  for (std::size_t i = 0; i < sizeof(T); i += kLine) __builtin_prefetch(bytes + i, 1);
}

}  // namespace retsu
