#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "broker/application.h"
#include "broker/broker.h"
#include "server/alerts.h"
#include "server/connection.h"
#include "server/tokens.h"

namespace retsu::server {

struct ServerSettings {
  std::string host = "127.0.0.1";
  std::uint16_t port = 7380;  // 0: any that is free
  std::size_t connections = 16'384;
  ConnectionLimits limits;
  std::string tls_certificate;  // a file of PEM, with its chain; empty: in the clear
  std::string tls_key;
  Tokens* tokens = nullptr;  // outlive the server; none: everybody may do everything
  std::string audit_log;     // a file; empty: none
  AlertSettings alerts = {};
  const Histogram* commits = nullptr;  // of the store, for /metrics; outlives the server
  Log* log = nullptr;                  // outlives the server; none: nothing is told
  bool log_requests = false;
  std::vector<Application*> applications = {};  // served beside the queue; outlive the server
  // Stops the queue's clock at the beginning, and moves it. Opens POST /v1/clock.
  std::function<void(Millis by)> move_clock;
};

// The door to a queue over HTTP. Has threads of its own; the broker outlives it.
class Server {
 public:
  // Returns when it listens.
  static Result<std::unique_ptr<Server>> start(Broker& broker, ServerSettings settings);
  ~Server();  // as stop, without patience

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string address() const;  // http://127.0.0.1:7380

  // Accepts nothing more, tells those who wait to stop waiting, and returns when all answers are
  // written, or after that time.
  void stop(Millis patience);

 private:
  class Body;
  explicit Server(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace retsu::server
