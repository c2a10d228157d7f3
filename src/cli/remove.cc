#include "cli/options.h"
#include "cli/removal.h"

namespace retsu::cli {

Action add_remove(Arguments& arguments) {
  return add_removal(arguments, &RemoveTask::id, "id", "TASK",
                     "Ids of tasks that have ended, and whose result no other task needs");
}

}  // namespace retsu::cli
