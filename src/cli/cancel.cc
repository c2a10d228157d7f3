#include "cli/bulk.h"
#include "cli/by_id.h"
#include "cli/commands.h"

namespace retsu::cli {

Action add_cancel(CLI::App& app) {
  struct Options {
    std::vector<std::string> ids;
    BulkOptions bulk;
  };
  auto options = std::make_shared<Options>();
  app.add_option("TASK", options->ids, "Ids; or say with options which tasks");
  options->bulk.add_to(app);
  return [options](Session& session) -> Result<int> {
    const bool by_filter =
        options->bulk.filter.given() || options->bulk.expect || options->bulk.dry_run;
    if (options->ids.empty() == !by_filter) {
      return refuse(ErrorCode::kInvalid,
                    "name tasks by their ids, or with options such as --queue, but not both");
    }
    if (by_filter) return do_bulk<CancelTasks>(session, options->bulk, "canceled");
    return for_each_id<CancelTask>(session, options->ids);
  };
}

}  // namespace retsu::cli
