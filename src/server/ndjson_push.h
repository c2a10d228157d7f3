// POST /v1/tasks with one task a line, pushed while they come in.
#pragma once

#include <memory>

#include "server/exchange.h"
#include "server/keys_in_use.h"
#include "server/operations.h"

namespace retsu::server {

// A reader of the exchange's body, or none if that is not application/x-ndjson. Lines are pushed in
// groups of a thousand, each as a whole unless the query says `partial=true`; the answer has what
// became of all of them, and ends with an `error` that names the line if not all could be read or
// pushed.
//
// With an idempotency key, tasks without an id get one from the key and their line, and each group
// has a key made of it, which stands for its lines and for whether more follow them. So the same
// lines again make nothing new, go on where the first time ended, and are a replay if that was the
// end; other lines, more or fewer of them under the same key are refused. While they come in, the
// key is in use, and refused to others as `idempotency_in_progress`.
Result<std::shared_ptr<BodyReader>> read_ndjson(const std::shared_ptr<Exchange>& exchange,
                                                const Doors& doors, KeysInUse& in_use);

}  // namespace retsu::server
