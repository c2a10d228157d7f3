#include "simulators/http_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cctype>
#include <optional>
#include <thread>

namespace retsu::simulators {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Error = boost::system::error_code;
using Tcp = asio::ip::tcp;

constexpr Millis kAcceptPause{100};  // when the process has too many files open
constexpr Millis kDrainTime{2'000};
constexpr std::size_t kDrainBytes = 64 << 10;

struct Refusal {
  http::error error;
  int status;
  std::string_view told;
};
constexpr Refusal kRefusals[] = {
    {http::error::header_limit, 431, "the header is too large\n"},
    {http::error::body_limit, 413, "the body is too large\n"},
};
constexpr Refusal kNotHttp = {{}, 400, "this is not a request of HTTP/1.1\n"};

const Refusal* refusal_of(const Error& error) {
  for (const Refusal& row : kRefusals) {
    if (error == row.error) return &row;
  }
  static const Error kAny(http::error::end_of_stream);
  const bool is_grammar =
      error.category() == kAny.category() && error != kAny && error != http::error::partial_message;
  return is_grammar ? &kNotHttp : nullptr;
}

std::string in_small_letters(beast::string_view text) {
  std::string small(text);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small;
}

ServiceRequest request_of(http::request<http::string_body> message) {
  ServiceRequest request{.method = std::string(message.method_string()),
                         .target = std::string(message.target()),
                         .body = std::move(message.body())};
  for (const auto& field : message) {
    request.headers.emplace_back(in_small_letters(field.name_string()), std::string(field.value()));
  }
  return request;
}

// The answer as it is on the wire, or as much of it as is to be sent.
std::string wire_of(const ServiceAnswer& answer, bool with_body, bool keep_alive) {
  const auto reason = http::obsolete_reason(http::int_to_status(unsigned(answer.status)));
  std::string wire = fmt::format("HTTP/1.1 {} {}\r\n", answer.status, std::string(reason));
  for (const auto& [name, value] : answer.headers) wire += fmt::format("{}: {}\r\n", name, value);
  wire += fmt::format("Content-Length: {}\r\nConnection: {}\r\n\r\n", answer.body.size(),
                      keep_alive ? "keep-alive" : "close");
  if (with_body) wire += answer.body;
  if (answer.cut == Cut::kInsideTheAnswer) {
    const bool inside_body = with_body && !answer.body.empty();
    wire.erase(inside_body ? wire.size() - (answer.body.size() + 1) / 2 : wire.size() / 2);
  }
  return wire;
}

}  // namespace

std::string_view ServiceRequest::header(std::string_view name) const {
  const auto found = std::ranges::find(
      headers, name, [](const auto& header) { return std::string_view(header.first); });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

class HttpService::Body {
 public:
  Body(Handler handler, ServiceLimits limits) : handler_(std::move(handler)), limits_(limits) {}
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  ~Body() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Error listen(std::uint16_t port) {
    const Tcp::endpoint here(asio::ip::address_v4::loopback(), port);
    Error error;
    if (acceptor_.open(here.protocol(), error)) return error;
    if (acceptor_.set_option(Tcp::acceptor::reuse_address(true), error)) return error;
    if (acceptor_.bind(here, error)) return error;
    if (acceptor_.listen(asio::socket_base::max_listen_connections, error)) return error;
    port_ = acceptor_.local_endpoint(error).port();
    if (error) return error;
    accept();
    thread_ = std::thread([this] { context_.run(); });
    return {};
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  class Connection;

  void accept();
  void pause() {
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](Error) { accept(); });
  }
  void ended() {
    --connections_;
    // At the end of the service connections go too, and nobody is to come.
    if (!accepting_ && !context_.stopped()) accept();
  }

  const Handler handler_;
  const ServiceLimits limits_;
  std::uint16_t port_ = 0;
  std::size_t connections_ = 0;
  bool accepting_ = false;       // or about to
  asio::io_context context_{1};  // goes first, and with it all that waits in it
  Tcp::acceptor acceptor_{context_};
  asio::steady_timer pause_{context_};
  std::thread thread_;
};

// Owned by whatever it waits for.
class HttpService::Body::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Body& service, Tcp::socket socket)
      : service_(service), stream_(std::move(socket)), timer_(service.context_) {
    Error ignored;
    stream_.socket().set_option(Tcp::no_delay(true), ignored);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { service_.ended(); }

  void read() {
    parser_.emplace();
    parser_->header_limit(service_.limits_.header_bytes);
    parser_->body_limit(service_.limits_.body_bytes);
    stream_.expires_after(service_.limits_.idle_time);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](Error error, std::size_t) {
                       error ? self->refuse(error) : self->handle();
                     });
  }

 private:
  void refuse(const Error& error) {
    const Refusal* const refusal = refusal_of(error);
    if (refusal == nullptr) return;  // it has gone
    answer_ = {.status = refusal->status,
               .headers = {{"Content-Type", "text/plain"}},
               .body = std::string(refusal->told)};
    with_body_ = true;
    keep_alive_ = false;
    send();
  }

  void handle() {
    keep_alive_ = parser_->keep_alive();
    with_body_ = parser_->get().method() != http::verb::head;
    answer_ = service_.handler_(request_of(parser_->release()));
    stream_.expires_never();
    if (answer_.delay <= Millis(0)) return send();
    timer_.expires_after(answer_.delay);
    timer_.async_wait([self = shared_from_this()](Error) { self->send(); });
  }

  void send() {
    if (answer_.on_send) std::exchange(answer_.on_send, nullptr)();
    if (answer_.cut == Cut::kBeforeTheAnswer) return close();
    if (answer_.cut == Cut::kInsideTheAnswer) keep_alive_ = false;
    wire_ = wire_of(answer_, with_body_, keep_alive_);
    stream_.expires_after(service_.limits_.idle_time);
    asio::async_write(stream_, asio::buffer(wire_),
                      [self = shared_from_this()](Error error, std::size_t) {
                        if (error || self->answer_.cut != Cut::kNot) return self->close();
                        self->keep_alive_ ? self->read() : self->drain();
                      });
  }

  // What still comes is taken, for a while: if it were left, the client would see a reset, and
  // perhaps not the answer.
  void drain() {
    Error ignored;
    stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
    buffer_.clear();
    buffer_.reserve(kDrainBytes);
    stream_.expires_after(kDrainTime);
    drain_some();
  }
  void drain_some() {
    stream_.async_read_some(buffer_.prepare(kDrainBytes),
                            [self = shared_from_this()](Error error, std::size_t) {
                              error ? self->close() : self->drain_some();
                            });
  }

  void close() {
    Error ignored;
    stream_.socket().shutdown(Tcp::socket::shutdown_both, ignored);
    stream_.close();
  }

  Body& service_;
  beast::tcp_stream stream_;
  asio::steady_timer timer_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  ServiceAnswer answer_;
  std::string wire_;
  bool with_body_ = true;
  bool keep_alive_ = false;
};

void HttpService::Body::accept() {
  accepting_ = true;
  acceptor_.async_accept([this](Error error, Tcp::socket socket) {
    if (error) return pause();
    accepting_ = false;
    ++connections_;
    std::make_shared<Connection>(*this, std::move(socket))->read();
    if (connections_ < limits_.connections) accept();
  });
}

tl::expected<std::unique_ptr<HttpService>, std::string> HttpService::start(std::uint16_t port,
                                                                           Handler handler,
                                                                           ServiceLimits limits) {
  auto body = std::make_unique<Body>(std::move(handler), limits);
  if (const Error error = body->listen(port)) {
    return tl::unexpected(
        fmt::format("cannot listen on 127.0.0.1, port {}: {}", port, error.message()));
  }
  return std::unique_ptr<HttpService>(new HttpService(std::move(body)));
}

HttpService::HttpService(std::unique_ptr<Body> body) : body_(std::move(body)) {}
HttpService::~HttpService() = default;

std::uint16_t HttpService::port() const { return body_->port(); }

std::string HttpService::url(std::string_view target) const {
  return fmt::format("http://127.0.0.1:{}{}", port(), target);
}

}  // namespace retsu::simulators
