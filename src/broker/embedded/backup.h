// Copies of a store, made while it works, and put back.
#pragma once

#include <string>

#include "broker/embedded/verify.h"

namespace retsu::embedded {

// Copies the store in `from` to a new store in `to`, a directory that is made if need be: all that
// was answered before the call is in the copy. The store may be open in another process, which is
// not held up. When it returns, the copy has been verified and is on the disk; until then, nothing
// in `to` looks like a store. Refused (`conflict`): there is one already. A damaged store is copied
// as far as SQLite can read it, and then refused.
Result<Verdict> backup(const std::string& from, const std::string& to,
                       const OnProgress& on_progress = nullptr);

struct Restored {
  Verdict verdict;
  std::string set_aside;  // where the store is that was in `to`; empty: there was none
};

// Copies the store in `from` (a backup) to `to`. A store that is there already is set aside, as
// retsu.db.before-TIME and journal.db.before-TIME (if it was not closed), if `force` says so, and
// is a `conflict` otherwise; it is touched only when the copy has been verified. A process that
// ends in between leaves the old store, the new one, or none and the old one set aside. Refused:
// somebody has the store in `to` open.
Result<Restored> restore(const std::string& from, const std::string& to, bool force, TimePoint now,
                         const OnProgress& on_progress = nullptr);

}  // namespace retsu::embedded
