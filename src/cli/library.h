// The commands of the library.
#pragma once

#include <memory>
#include <string>

#include "apps/library/door.h"
#include "cli/session.h"

namespace retsu::cli {

// The library beside the queue that the session names: at its server, or in its directory (or
// RETSU_DATA, as a server would have it).
// `patience`: with a server that is away.
Result<std::unique_ptr<library::Door>> open_library(Session& session,
                                                    Millis patience = Millis(10'000));

// Asks the library, and prints the answer as JSON, or as `shown` says.
template <class Op, class Shown>
Result<int> ask_library(Session& session, const Op& op, Shown shown) {
  const auto door = open_library(session);
  if (!door) return tl::unexpected(door.error());
  const auto reply = (*door)->ask(op);
  if (!reply) return tl::unexpected(reply.error());
  if (!session.screen().json()) {
    shown(*reply);
    return 0;
  }
  std::string json;
  append_json(json, *reply);
  session.screen().line(json);
  return 0;
}

}  // namespace retsu::cli
