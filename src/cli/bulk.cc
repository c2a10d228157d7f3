#include "cli/bulk.h"

#include <chrono>
#include <future>
#include <memory>

#include "cli/progress.h"

namespace retsu::cli {

Result<Reply> ask_patiently(Session& session, Command command, const std::string& what) {
  const auto broker = session.broker();
  if (!broker) return tl::unexpected(broker.error());
  const auto promise = std::make_shared<std::promise<Answer>>();
  auto answer = promise->get_future();
  (*broker)->submit(std::move(command), {},
                    [promise](Answer given) { promise->set_value(std::move(given)); });
  Progress progress(what);
  while (answer.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
    progress.at(0, 0);
  }
  return static_cast<Result<Reply>>(answer.get());
}

}  // namespace retsu::cli
