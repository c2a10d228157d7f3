// The rows of kOperations, served by a broker.
#pragma once

#include "broker/broker.h"
#include "server/loop.h"
#include "server/router.h"

namespace retsu::server {

// The broker outlives the router, and all calls.
void add_operations(Router& router, Broker& broker, const std::shared_ptr<Loop>& loop);

// The key of a request, as it was meant: bare or in quotes.
std::optional<std::string> idempotency_key_of(const HttpRequest& request);

}  // namespace retsu::server
