#include "broker/broker.h"

#include <future>

namespace retsu {

Result<Reply> call_any(Broker& broker, Command command, Context context) {
  auto answer = std::make_shared<std::promise<Result<Reply>>>();
  auto future = answer->get_future();
  broker.submit(std::move(command), std::move(context),
                [answer](Result<Reply> reply) { answer->set_value(std::move(reply)); });
  return future.get();
}

}  // namespace retsu
