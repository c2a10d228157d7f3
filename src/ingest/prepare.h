// Names for what the caller left unnamed.
#pragma once

#include "base/uuid.h"
#include "model/operations.h"

namespace retsu {

// Fills in the ids that are missing: of pushed tasks, of the children in a settle (both are marked
// as generated), of a claim, and of the task that a schedule is told to make. After this a command
// means the same however often and wherever it is applied.
Command prepare(Command command, TimePoint now, IdSource& ids);

}  // namespace retsu
