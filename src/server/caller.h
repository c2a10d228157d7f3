#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/operations.h"

namespace retsu::server {

// Who asks, as the token says. Without tokens: everybody may do everything.
struct Caller {
  std::string name = "anyone";  // the token's id; whose idempotency keys it uses
  std::vector<Scope> scopes = {Scope::kAdmin};
  std::vector<std::string> queues;  // empty: all
  std::string user;                 // empty: all

  [[nodiscard]] bool is_limited() const { return !queues.empty() || !user.empty(); }
};

}  // namespace retsu::server
