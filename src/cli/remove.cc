#include "cli/options.h"
#include "cli/removal.h"

namespace retsu::cli {

Action add_remove(CLI::App& app) {
  return add_removal(app, &RemoveTask::id, "id", "TASK",
                     "Ids of tasks that have ended, and whose result no other task needs");
}

}  // namespace retsu::cli
