#include "broker/broker.h"

#include <future>

namespace retsu {

bool passes(const EventFilter& filter, const TaskEvent& event) {
  return (filter.queue.empty() || filter.queue == event.queue) &&
         (filter.user.empty() || filter.user == event.user) &&
         (!filter.state || filter.state == event.to);
}

Result<Reply> call_any(Broker& broker, Command command, Context context) {
  auto answer = std::make_shared<std::promise<Result<Reply>>>();
  auto future = answer->get_future();
  broker.submit(std::move(command), std::move(context),
                [answer](Result<Reply> reply) { answer->set_value(std::move(reply)); });
  return future.get();
}

}  // namespace retsu
