#include "cli/by_id.h"

namespace retsu::cli {

Action add_cancel(Arguments& arguments) {
  return by_id_or_filter<CancelTask, CancelTasks>(arguments, "canceled");
}

}  // namespace retsu::cli
