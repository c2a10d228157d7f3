// What a token that is limited to queues or to a user may ask, and what it is told.
#pragma once

#include <string>
#include <vector>

#include "model/operations.h"
#include "server/caller.h"

namespace retsu::server {

// What is still to be done before the command may be asked.
struct Permit {
  std::vector<std::string> tasks = {};  // must be there, and be such that the caller may see them
  ErrorCode hidden = ErrorCode::kNotFound;  // the refusal otherwise
};

// Narrows the command to what the caller may see (a list without a queue gets the caller's, a push
// without a user is the caller's), or refuses it with `forbidden`. A claim's id is the caller's
// own: no other can name it.
Result<Permit> permit(const Caller& caller, Command& command);

// Takes out of an answer what is not the caller's to see.
void conceal(const Caller& caller, Reply& reply);

Status permit(const Caller& caller, std::string& queue, std::string& user);

}  // namespace retsu::server
