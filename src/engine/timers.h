#pragma once

#include "engine/tables.h"

namespace retsu::engine {

// Lets everything happen that is due up to `clock`, each at its own time, in order. Housekeeping
// and cascades go only as far as one call may.
void advance(Tables& tables, TimePoint clock);

// When advance has something to do next; kNever: only after another command.
TimePoint next_event(const Tables& tables);

}  // namespace retsu::engine
