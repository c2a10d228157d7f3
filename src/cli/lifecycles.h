#pragma once

#include <cstdint>
#include <functional>

#include "broker/broker.h"

namespace retsu::bench {

// Whole lifecycles (push, claim, finish) a second, through the one seam: client threads that each
// push a batch, claim as many and finish them. 128-byte payloads.
struct Load {
  int clients = 4;
  int users = 10;
  std::int64_t batch = 100;
  std::int64_t tasks = 400'000;
};
// `on_progress` is told the number of tasks done, on the calling thread.
Result<double> lifecycles_per_second(
    Broker& broker, const Load& load,
    const std::function<void(std::int64_t)>& on_progress = nullptr);

// Pushes so many tasks, spread over so many users.
Status push_backlog(Broker& broker, std::int64_t tasks, std::int64_t users);

}  // namespace retsu::bench
