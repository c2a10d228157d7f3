#include "cli/bulk.h"
#include "cli/options.h"
#include "cli/removal.h"

namespace retsu::cli {

Action add_queue_rm(Arguments& arguments) {
  return add_removal(arguments, &DeleteQueue::queue, "queue", "QUEUE",
                     "Queues in which nothing waits or runs; their ended tasks and their policy go "
                     "with them");
}

Action add_queue_purge(Arguments& arguments) {
  auto queue = std::make_shared<std::string>();
  arguments
      .option("QUEUE", *queue, "Its name; what runs goes on, retsu cancel --queue ends that too")
      .required();
  return [queue](Session& session) -> Result<int> {
    const auto answer = ask_patiently(session, PurgeQueue{.queue = *queue}, "canceling");
    if (!answer) return tl::unexpected(answer.error());
    show_bulk(session.screen(), std::get<BulkReply>(*answer), "canceled");
    return 0;
  };
}

}  // namespace retsu::cli
