// The rows of kOperations, served by a broker.
#pragma once

#include "broker/broker.h"
#include "server/audit.h"
#include "server/loop.h"
#include "server/router.h"

namespace retsu::server {

// What routes need to answer. The broker and the audit outlive the routes, and all calls.
struct Doors {
  Broker& broker;
  Loop& loop;  // whoever may answer when it has gone shares it
  Audit& audit;
};

// Asks, and goes on with the answer on the loop's thread.
template <class Then>
void ask(const Doors& doors, Command command, Then then, Context context = {}) {
  doors.broker.submit(std::move(command), std::move(context),
                      [loop = doors.loop.shared_from_this(), then](Answer answer) {
                        loop->post([then, answer = std::move(answer)] { then(answer); });
                      });
}

void add_operations(Router& router, const Doors& doors);

// The key of a request, as it was meant: bare or in quotes.
std::optional<std::string> idempotency_key_of(const HttpRequest& request);

}  // namespace retsu::server
