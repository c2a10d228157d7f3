#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

#include "model/error.h"

namespace retsu::engine {

// The number after which a list goes on; 0 at its beginning.
inline Result<std::uint64_t> read_cursor(std::string_view cursor) {
  std::uint64_t number = 0;
  if (cursor.empty()) return number;
  const auto [end, failure] = std::from_chars(cursor.data(), cursor.data() + cursor.size(), number);
  if (failure == std::errc() && end == cursor.data() + cursor.size() && number > 0) return number;
  return refuse(ErrorCode::kInvalid, "this cursor is not one: use next_cursor of the page before");
}

}  // namespace retsu::engine
