#pragma once

#include "broker/engine_broker.h"

namespace retsu {

// A queue that lives and dies with its process. It serves tests of everything above, and programs
// that want fairness and pace without durability.
class MemoryBroker final : public EngineBroker {
 public:
  explicit MemoryBroker(Limits limits = {}, Clock clock = nullptr)
      : EngineBroker(limits, std::move(clock), std::make_unique<Engine>(limits), nullptr) {}
};

}  // namespace retsu
