#pragma once

#include <string>

#include "model/task_operations.h"
#include "spool/spool.h"

namespace retsu {

// Whether a push that failed so may succeed later, or already has.
bool may_be_spooled(const Error& error);

// A push that waits in a spool: sent from there, it has the effect of the push once, also if that
// had arrived after all. The entry's id is the key, and the task's id unless that is given or the
// key cannot be one.
struct SpoolablePush {
  SpoolablePush(NewTask its_task, std::optional<std::string> its_key, const std::string& new_id);

  NewTask task;
  std::string key;

  // What every server would refuse.
  [[nodiscard]] Status check() const;

  // After a try that failed so.
  [[nodiscard]] spool::Entry entry(TimePoint now, const Error& error) const;
  [[nodiscard]] spool::Entry entry(TimePoint now) const;  // that was never tried
};

}  // namespace retsu
