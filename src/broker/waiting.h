#pragma once

#include <cstdint>

#include "model/operations.h"

namespace retsu {

// For how long the operation may be answered late; 0: not at all.
inline std::int64_t wait_ms_of(const Command& command) {
  if (const auto* claim = std::get_if<Claim>(&command)) return claim->wait_ms;
  if (const auto* get = std::get_if<GetTask>(&command)) return get->wait_ms;
  return 0;
}

}  // namespace retsu
