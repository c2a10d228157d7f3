#include "cli/by_id.h"

namespace retsu::cli {

Action add_retry(CLI::App& app) {
  return by_id_or_filter<RetryTask, RetryTasks>(app, "queued again");
}

}  // namespace retsu::cli
