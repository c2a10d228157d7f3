#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/http_client.h"
#include "broker/broker.h"

namespace retsu {

struct RemoteSettings {
  std::string url;    // http://host:7380
  std::string token;  // empty: none
  // For one call, beyond the time that it may wait itself, where its context sets no deadline.
  std::chrono::milliseconds patience{30'000};
};

// A queue behind a server. What was sent and not answered is `outcome_unknown`, unless it changes
// nothing; what could not be sent is `unavailable`. Whoever wants to send it again gives it an
// idempotency key.
class RemoteBroker final : public Broker {
 public:
  explicit RemoteBroker(RemoteSettings settings);
  ~RemoteBroker() override;

  void submit(Command command, Context context, Done done) noexcept override;
  // Returns when the server has begun to tell, or cannot be reached: then it goes on trying, and
  // the first events come with a gap.
  Subscription watch(EventFilter filter, EventSink sink) override;
  [[nodiscard]] Capabilities capabilities() const override;

 private:
  class Watch;

  [[nodiscard]] HttpCall call_to(std::string_view method, const std::string& target) const;

  const RemoteSettings settings_;
  HttpClient client_;
};

}  // namespace retsu
