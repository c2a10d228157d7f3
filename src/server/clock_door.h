// For tests: a queue whose clock moves when it is told to.
#pragma once

#include <functional>

#include "server/loop.h"
#include "server/router.h"

namespace retsu::server {

// POST /v1/clock {"advance_ms":n}, backwards too; answered when all that is due has happened.
void add_clock(Router& router, const std::shared_ptr<Loop>& loop,
               std::function<void(Millis by)> move);

}  // namespace retsu::server
