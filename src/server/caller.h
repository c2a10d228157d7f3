#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "model/operations.h"

namespace retsu::server {

// Who asks, as the token says. Where there are no tokens, everybody may do everything.
struct Caller {
  std::string name = "anyone";  // the token's id; whose idempotency keys it uses
  std::vector<Scope> scopes = {Scope::kAdmin};
  std::vector<std::string> queues;  // empty: all
  std::string user;                 // empty: all

  [[nodiscard]] bool is_limited() const { return !queues.empty() || !user.empty(); }
  [[nodiscard]] bool may(Scope scope) const {
    return std::ranges::find(scopes, Scope::kAdmin) != scopes.end() ||
           std::ranges::find(scopes, scope) != scopes.end();
  }
  [[nodiscard]] bool may_use(const std::string& queue) const {
    return queues.empty() || std::ranges::find(queues, queue) != queues.end();
  }
  [[nodiscard]] bool may_see(const std::string& queue, const std::string& of_user) const {
    return may_use(queue) && (user.empty() || user == of_user);
  }
};

}  // namespace retsu::server
