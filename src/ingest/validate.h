// What may enter a queue.
#pragma once

#include <cstdint>

#include "model/operations.h"

namespace retsu {

// Where the Json fields of a command come from: the codec has checked what it read.
enum class JsonOrigin : std::uint8_t { kCaller, kCodec };

// Checks every field of the operation by itself and against the others, and nothing that depends on
// what is stored or on the time. The first problem is answered: `too_large` for bytes and lists
// beyond the limits, `invalid` for all else, with a message such as `tasks[3].user: must be 1 to
// 128 of A-Z a-z 0-9 . _ : -`. Ids that prepare() fills in may be missing.
Status validate(const Command& command, const Limits& limits,
                JsonOrigin origin = JsonOrigin::kCaller);

}  // namespace retsu
