#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/http_client.h"
#include "base/uuid.h"
#include "broker/broker.h"

namespace retsu {

struct RemoteSettings {
  std::string url;    // http://host:7380
  std::string token;  // empty: none
  // For one call, beyond the time that it may wait itself, where its context sets no deadline.
  std::chrono::milliseconds patience{30'000};
};

// A queue behind a server. A call that changes something and has no key of its own gets one, so
// that it has one effect even if it has to be sent twice. What was sent and not answered is
// `outcome_unknown`; what could not be sent is `unavailable`.
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
  UuidSource keys_;
  HttpClient client_;
};

}  // namespace retsu
