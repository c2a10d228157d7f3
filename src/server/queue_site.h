#pragma once

#include <chrono>
#include <string>

#include "base/log.h"
#include "server/connection.h"
#include "server/metrics.h"
#include "server/router.h"
#include "server/tokens.h"

namespace retsu::server {

// Who may ask, for what, and who answers.
class QueueSite final : public Site {
 public:
  // Without tokens, everybody may do everything. They outlive the site.
  explicit QueueSite(const Tokens* tokens, Log* request_log = nullptr)
      : tokens_(tokens), request_log_(request_log) {}

  Router& router() { return router_; }
  Counters& counters() { return counters_; }
  [[nodiscard]] bool knows(const Caller& caller) const;  // still

  Result<std::size_t> admit(const std::shared_ptr<Exchange>& exchange) override;
  void serve(const std::shared_ptr<Exchange>& exchange) override;

 private:
  using Steady = std::chrono::steady_clock;
  void count(const Exchange& exchange, const HttpResponse& response, Steady::time_point began);
  [[nodiscard]] Status authorize(Exchange& exchange) const;

  const Tokens* const tokens_;
  Log* const request_log_;  // none: requests are not logged
  Router router_;
  Counters counters_;
};

}  // namespace retsu::server
