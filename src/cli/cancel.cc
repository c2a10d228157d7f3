#include "cli/by_id.h"

namespace retsu::cli {

Action add_cancel(CLI::App& app) {
  return by_id_or_filter<CancelTask, CancelTasks>(app, "canceled");
}

}  // namespace retsu::cli
