// GET /openapi.json: what can be asked, made from the tables of operations and fields.
#pragma once

#include <string>

#include "server/router.h"

namespace retsu::server {

// OpenAPI 3.1. Rows of kOperations with all their fields; other routes by method and path.
std::string openapi_of(const Router& router);

// The last route to be added: it tells of all those before.
void add_openapi(Router& router);

}  // namespace retsu::server
