// GET and POST /v1/tokens, DELETE /v1/tokens/{id}.
#pragma once

#include "server/audit.h"
#include "server/router.h"
#include "server/tokens.h"

namespace retsu::server {

// Tokens and audit outlive the router.
void add_tokens(Router& router, Tokens& tokens, Audit& audit);

}  // namespace retsu::server
