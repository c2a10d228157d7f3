// One call to a server, from its first attempt to its answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/http_client.h"
#include "broker/broker.h"
#include "broker/remote/remote_broker.h"

namespace retsu {

// To the server of the settings, by their token.
HttpCall request_to(const RemoteSettings& settings, std::string_view method,
                    const std::string& target);

// Shared by whoever is to go on with it: the attempt under way, or the pause before the next. What
// follows `begin` is on the client's thread, and nothing of it blocks.
class RemoteCall final : public std::enable_shared_from_this<RemoteCall> {
 public:
  // The name is nobody else's. Settings and client outlive the call.
  RemoteCall(const RemoteSettings& settings, HttpClient& client, std::string name, Command command,
             Context context, Broker::Done done);
  RemoteCall(const RemoteCall&) = delete;
  RemoteCall& operator=(const RemoteCall&) = delete;
  ~RemoteCall();  // the client went, and a pause with it: answers `shutdown`

  void begin();

 private:
  using Steady = std::chrono::steady_clock;
  struct Attempt;

  void begin_again();
  std::uint64_t send();
  [[nodiscard]] HttpCall request();
  void heed_stop();
  void give_up();
  void take(const HttpClient::Answered& answered);
  [[nodiscard]] Attempt judge(const HttpClient::Answered& answered) const;
  [[nodiscard]] Error failure_of(const HttpFailure& failure) const;
  [[nodiscard]] Error refusal_of(const HttpAnswer& answer) const;
  [[nodiscard]] std::optional<Millis> pause_after(const Attempt& attempt) const;
  bool goes_without_key(const Error& error);
  void finish(Answer answer);
  void fail(Error error);

  const RemoteSettings& settings_;
  HttpClient& client_;
  const std::string name_;  // which is also its key, if it needs one
  Command command_;
  const Operation& operation_;
  Context context_;
  Broker::Done done_;  // none: it was answered
  bool has_own_key_ = false;
  bool may_repeat_ = false;  // also when it may have been done
  Steady::time_point wait_until_;
  Steady::time_point deadline_;
  std::int64_t attempts_ = 1;  // with the one under way
  std::uint64_t number_ = 0;   // the client's, of that one
  bool is_under_way_ = false;
  bool may_be_done_ = false;   // by one before
  std::optional<Error> last_;  // what it would end with, while it pauses
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace retsu
