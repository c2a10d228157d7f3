// Who changed what: a file of one JSON object a line.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "server/exchange.h"
#include "server/loop.h"

namespace retsu::server {

// Lines are written beside the loop, in the order of the calls; a file of more than 10 MiB is set
// aside as audit.log.1 (the one before as .2, up to .5). What cannot be written is told on standard
// error, and stops nothing.
class Audit {
 public:
  // An empty path: nothing is noted.
  Audit(std::string path, std::weak_ptr<Loop> loop)
      : path_(std::move(path)), loop_(std::move(loop)) {}

  // `what`: JSON, or empty.
  void note(const Exchange& exchange, std::string_view operation, std::string what);

 private:
  const std::string path_;
  const std::weak_ptr<Loop> loop_;
};

}  // namespace retsu::server
