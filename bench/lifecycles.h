#pragma once

#include <cstdint>
#include <utility>
#include <vector>

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
double lifecycles_per_second(Broker& broker, const Load& load);

// Pushes so many tasks, spread over so many users.
void push_backlog(Broker& broker, std::int64_t tasks, std::int64_t users);

}  // namespace retsu::bench
