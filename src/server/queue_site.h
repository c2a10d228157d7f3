#pragma once

#include <string>

#include "server/connection.h"
#include "server/router.h"

namespace retsu::server {

// Who may ask, for what, and who answers.
class QueueSite final : public Site {
 public:
  Router& router() { return router_; }

  Result<std::size_t> admit(const std::shared_ptr<Exchange>& exchange) override;
  void serve(const std::shared_ptr<Exchange>& exchange) override;

 private:
  Router router_;
};

}  // namespace retsu::server
