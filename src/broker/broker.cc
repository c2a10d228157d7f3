#include "broker/broker.h"

#include <future>

namespace retsu {

bool passes(const EventFilter& filter, const TaskEvent& event) {
  return (filter.queue.empty() || filter.queue == event.queue) &&
         (filter.user.empty() || filter.user == event.user) &&
         (!filter.state || filter.state == event.to);
}

Answer call_any(Broker& broker, Command command, Context context) {
  auto promise = std::make_shared<std::promise<Answer>>();
  auto future = promise->get_future();
  broker.submit(std::move(command), std::move(context),
                [promise](Answer answer) { promise->set_value(std::move(answer)); });
  return future.get();
}

}  // namespace retsu
