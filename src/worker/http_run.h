// Tasks as HTTP requests.
#pragma once

#include <memory>

#include "base/http_client.h"
#include "worker/worker.h"

namespace retsu::worker {

// The payload is {"method"?,"url","headers"?,"body"?}: a body that is a string is sent as it is,
// any other as JSON. The result is {"status","headers","body"}, where a body that is JSON stands as
// it is. 2xx finishes the task; 429, and 503 with Retry-After, throttle the queue; 408, other 5xx
// and network errors fail it; all else fails it for good. Retry-After is obeyed. Redirects are not
// followed.
Handler run_http(std::shared_ptr<HttpClient> client);

}  // namespace retsu::worker
