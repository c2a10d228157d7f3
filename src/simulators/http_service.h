// A small HTTP/1.1 server for stand-ins of services that others run: it answers as it is told, and
// fails as it is told.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/time.h"

namespace retsu::simulators {

using ServiceHeaders = std::vector<std::pair<std::string, std::string>>;

struct ServiceRequest {
  std::string method;
  std::string target;           // as it was sent, with its query
  ServiceHeaders headers = {};  // names in small letters
  std::string body = {};

  // The value of the first one with this name, in small letters; empty: there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

// Where the connection is closed instead of going on.
enum class Cut : std::uint8_t { kNot, kBeforeTheAnswer, kInsideTheAnswer };

struct ServiceAnswer {
  int status = 200;
  ServiceHeaders headers = {};  // without Content-Length, Date and Connection
  std::string body = {};
  Millis delay{0};  // before the first byte of it, or before the cut
  Cut cut = Cut::kNot;
  // Called once, on the service's thread, right before the first byte goes out (or would), also if
  // the client has left. Not called for what is under way when the service ends.
  std::function<void()> on_send = nullptr;
};

// What a client may send and take; the defaults are far above what stand-ins need.
struct ServiceLimits {
  std::uint32_t header_bytes = 16 << 10;  // else 431
  std::uint64_t body_bytes = 1 << 20;     // else 413
  std::size_t connections = 1'000;        // the next one waits until another ends
  Millis idle_time{60'000};               // for a whole request, and for a client to take an answer
};

// Serves on 127.0.0.1 only, many connections at once, kept alive, on one thread of its own. All
// functions may be called from any thread but that one.
class HttpService {
 public:
  // Runs on the service's thread: it must not block, and must not throw.
  using Handler = std::function<ServiceAnswer(const ServiceRequest&)>;

  // Listens when it returns. Port 0: any that is free. Fails with a sentence that names the port.
  static tl::expected<std::unique_ptr<HttpService>, std::string> start(std::uint16_t port,
                                                                       Handler handler,
                                                                       ServiceLimits limits = {});
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;
  ~HttpService();  // closes all connections; the handler is not called afterwards

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string url(std::string_view target) const;  // http://127.0.0.1:PORT/target

 private:
  class Body;
  explicit HttpService(std::unique_ptr<Body> body);
  const std::unique_ptr<Body> body_;
};

}  // namespace retsu::simulators
