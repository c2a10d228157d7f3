#pragma once

#include <functional>

#include "spool/spool.h"

namespace retsu::spool {

// Calls each(line, entry) for every dead letter, the oldest first; what cannot be read is given
// without an entry.
using EachDead = std::function<void(std::string_view line, const DeadEntry* dead)>;
Status read_dead(const std::string& spool, const EachDead& each);

using Chosen = std::function<bool(const DeadEntry&)>;

// Removes these for good; answers how many.
Result<std::int64_t> purge_dead(const std::string& spool, const Chosen& chosen);

// Puts these back into the spool, as new as those that were just added, under their old ids.
// Refused, as a whole: the limits of the spool leave too little room.
Result<std::int64_t> redrive_dead(Spool& spool, const Chosen& chosen);

}  // namespace retsu::spool
