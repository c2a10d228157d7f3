// Whether the server lives, and whether it can be used.
#pragma once

#include "server/operations.h"
#include "server/router.h"

namespace retsu::server {

// GET /healthz answers as long as the loop turns; GET /readyz when the queue answers too.
void add_health(Router& router, const Doors& doors);

}  // namespace retsu::server
