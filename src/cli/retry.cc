#include "cli/by_id.h"

namespace retsu::cli {

Action add_retry(Arguments& arguments) {
  return by_id_or_filter<RetryTask, RetryTasks>(arguments, "queued again");
}

}  // namespace retsu::cli
