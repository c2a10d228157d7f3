#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace retsu::engine {

// The number after which a list goes on; 0 at its beginning. Validation has seen to it that it is
// one.
inline std::uint64_t read_cursor(std::string_view cursor) {
  std::uint64_t number = 0;
  std::from_chars(cursor.data(), cursor.data() + cursor.size(), number);
  return number;
}

}  // namespace retsu::engine
