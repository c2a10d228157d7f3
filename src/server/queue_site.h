#pragma once

#include <string>

#include "server/connection.h"
#include "server/metrics.h"
#include "server/router.h"
#include "server/tokens.h"

namespace retsu::server {

// Who may ask, for what, and who answers.
class QueueSite final : public Site {
 public:
  // Without tokens, everybody may do everything. They outlive the site.
  explicit QueueSite(const Tokens* tokens) : tokens_(tokens) {}

  Router& router() { return router_; }
  Counters& counters() { return counters_; }
  [[nodiscard]] bool knows(const Caller& caller) const;  // still

  Result<std::size_t> admit(const std::shared_ptr<Exchange>& exchange) override;
  void serve(const std::shared_ptr<Exchange>& exchange) override;

 private:
  void count(const HttpResponse& response);
  [[nodiscard]] Status authorize(Exchange& exchange) const;

  const Tokens* const tokens_;
  Router router_;
  Counters counters_;
};

}  // namespace retsu::server
