// POST /v1/tasks with one task a line, pushed while they come in.
#pragma once

#include <memory>

#include "server/exchange.h"
#include "server/operations.h"

namespace retsu::server {

// A reader of the exchange's body, or none if that is not application/x-ndjson. Lines are pushed in
// groups of a thousand, each as a whole unless the query says `partial=true`; the answer has what
// became of all of them, and ends with an `error` that names the line if not all could be read or
// pushed. With an idempotency key, tasks without an id get one from the key and their line, so that
// the same lines again make nothing new; other lines under the same key are refused.
Result<std::shared_ptr<BodyReader>> read_ndjson(const std::shared_ptr<Exchange>& exchange,
                                                const Doors& doors);

}  // namespace retsu::server
