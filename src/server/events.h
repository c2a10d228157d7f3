// GET /v1/events: what happens to tasks, as server-sent events.
#pragma once

#include <memory>

#include "broker/broker.h"
#include "server/loop.h"
#include "server/router.h"

namespace retsu::server {

// Answers never end by themselves. Event numbers go on rising over restarts; who comes back with
// the last one that it saw (Last-Event-ID) gets what it missed, or is told how many are gone:
//
//   id: 1794833293989000
//   event: gap
//   data: {"missed":12}
//
// The broker outlives the router. Answers what is to be called twice a second, on the loop's
// thread.
// Readers whose token is not valid any more are dropped.
using IsValid = std::function<bool(const Caller&)>;
std::function<void()> add_events(Router& router, Broker& broker, const std::shared_ptr<Loop>& loop,
                                 IsValid is_valid);

}  // namespace retsu::server
