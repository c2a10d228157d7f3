#pragma once

#include <string>

#include "cli/table.h"
#include "model/queue_operations.h"

namespace retsu::cli {

// All about a queue, or its JSON line.
void show_queue(Screen& screen, const QueueInfo& queue);

// What limits it, in a few words: `paused, 4 at once, 10 in 1s`.
Cell pace_of(const Screen& screen, const QueueInfo& queue);

}  // namespace retsu::cli
