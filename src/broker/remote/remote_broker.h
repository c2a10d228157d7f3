#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/http_client.h"
#include "base/uuid.h"
#include "broker/broker.h"

namespace retsu {

struct RemoteSettings {
  std::string url;    // http://host:7380
  std::string token;  // empty: none
  // For one call with all its attempts, beyond the time that it may wait itself, where its context
  // sets no deadline.
  std::chrono::milliseconds patience{30'000};
  Retry retry = {};  // how often a call is sent, and how long after one attempt the next follows
  // Before such a pause; on the client's thread, where it must not block.
  std::function<void(const Error& error, Millis pause)> on_retry = nullptr;
};

// A queue behind a server. A call that was not answered, or was answered that it may be tried again
// (408, 429, 5xx, a key in use), is sent again, as often and as late as `retry` says, not before
// the server's Retry-After and not after the call's deadline. For that, what must not happen twice
// gets an idempotency key if its caller gave it none; a claim is repeated if its caller named it.
// What could not be sent at all may be sent in any case.
//
// In the end, what may have been done is `outcome_unknown`, unless it changes nothing; what was not
// is answered with the last attempt's error, `unavailable` if nobody was reached.
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

  const RemoteSettings settings_;
  UuidSource names_;
  HttpClient client_;
};

}  // namespace retsu
