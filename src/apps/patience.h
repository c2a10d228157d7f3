#pragma once

#include <chrono>

#include "broker/broker.h"

namespace retsu::apps {

// For calls to the queue that somebody waits for.
inline Context with_patience() {
  return {.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10)};
}

}  // namespace retsu::apps
