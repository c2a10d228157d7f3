#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/uuid.h"
#include "broker/broker.h"
#include "retsu/queue.h"

namespace retsu_api {

// Where the public API and the library meet: a broker that is asked in JSON. Thread-safe.
class Queue::Door {
 public:
  explicit Door(std::unique_ptr<retsu::Broker> broker) : broker_(std::move(broker)) {}

  struct Answered {
    std::string body;
    bool replayed = false;
  };
  // Asks for the operation of this name, and throws what is refused.
  Answered call(std::string_view operation, std::string_view body, retsu::Context context = {});

  [[nodiscard]] retsu::Broker& broker() const { return *broker_; }

  // An id that nobody has.
  std::string new_id() { return ids_.next(now()); }

 private:
  const std::unique_ptr<retsu::Broker> broker_;
  retsu::UuidSource ids_;
};

}  // namespace retsu_api
