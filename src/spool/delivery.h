// How an entry is sent to a server, and what the server's answer means for it.
#pragma once

#include <optional>
#include <string>

#include "base/http_client.h"
#include "spool/entry.h"

namespace retsu::spool {

struct Delivery {
  std::string url;
  std::string body;
  std::string key;  // for Idempotency-Key
};

// An `upload` to a URL of this server goes there, with its data as the body; any other entry
// becomes a task of its type and payload.
Delivery delivery_of(const Entry& entry, const std::string& server);

struct Verdict {
  enum class Kind : std::uint8_t {
    kDone,
    kFailed,     // it may go well another time
    kRefused,    // it never will
    kBusy,       // somebody else is sending the same
    kHold,       // not now, and perhaps none of the others either
    kForbidden,  // not from us, and perhaps none of the others either
    kStop,       // none of them will be taken from us
  };
  Kind kind = Kind::kDone;
  std::string message = {};         // what the server said
  std::optional<Millis> wait = {};  // what it asked for
  bool was_known = false;           // the answer is that of an earlier time
};
Verdict verdict_of(const HttpAnswer& answer, TimePoint now);

}  // namespace retsu::spool
