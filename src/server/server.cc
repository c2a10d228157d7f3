#include "server/server.h"

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_set>

#include "base/file_limit.h"
#include "server/applications.h"
#include "server/clock_door.h"
#include "server/events.h"
#include "server/health.h"
#include "server/loop.h"
#include "server/openapi.h"
#include "server/operations.h"
#include "server/queue_site.h"
#include "server/token_doors.h"

namespace retsu::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = Connection::Clock;

constexpr auto kSweepEvery = std::chrono::milliseconds(500);
constexpr std::size_t kTurnedAway = 256;  // beyond the limit, at once: they get a word with it

std::string shown(const tcp::endpoint& endpoint) {
  return endpoint.address().is_v6()
             ? fmt::format("[{}]:{}", endpoint.address().to_string(), endpoint.port())
             : fmt::format("{}:{}", endpoint.address().to_string(), endpoint.port());
}

}  // namespace

class Server::Body {
 public:
  Body(Broker& broker, ServerSettings settings)
      : settings_(std::move(settings)),
        audit_(settings_.audit_log, loop_),
        times_(broker),
        site_(settings_.tokens, settings_.log_requests ? settings_.log : nullptr) {
    const Doors doors{broker, *loop_, audit_};
    add_operations(site_.router(), doors);
    add_metrics(site_.router(), doors, {site_.counters(), times_, settings_.commits});
    ticks_.push_back(add_alerts(site_.router(), doors, settings_.alerts, times_, site_.counters(),
                                settings_.log));
    if (settings_.tokens != nullptr) {
      add_tokens(site_.router(), *settings_.tokens, audit_);
      ticks_.push_back([this] { (void)settings_.tokens->reload(); });
    }
    ticks_.push_back(add_events(site_.router(), broker, loop_,
                                [this](const Caller& caller) { return site_.knows(caller); }));
    add_health(site_.router(), doors);
    for (Application* const each : settings_.applications) {
      auto& thread = *applications_.emplace_back(std::make_unique<ApplicationThread>(*each));
      thread.add_to(site_.router(), doors);
      ticks_.push_back([&thread] { thread.tick(); });
    }
    if (settings_.move_clock) add_clock(site_.router(), loop_, settings_.move_clock);
    add_openapi(site_.router());
  }

  ~Body() {
    // Answers of applications are taken by the loop before it ends, or they would be forgotten.
    for (const auto& each : applications_) each->finish();
    loop_->post([this] { loop_->stop(); });
    if (thread_.joinable()) thread_.join();
    loop_->finish_long();
    for (const auto& connection : std::exchange(connections_, {})) connection->close();
  }

  Status listen() {
    raise_file_limit();
    if (auto ready = prepare_tls(); !ready) return ready;
    error_code code;
    const auto address = asio::ip::make_address(settings_.host, code);
    if (code) {
      return refuse(ErrorCode::kInvalid,
                    fmt::format("{} is not an address to listen on", settings_.host));
    }
    const bool is_open = settings_.tokens == nullptr || settings_.tokens->is_open();
    if (is_open && !address.is_loopback()) {
      return refuse(ErrorCode::kForbidden,
                    fmt::format("listening on {} needs a token, or everybody could use the queue: "
                                "retsu token create --scope admin makes the first one",
                                settings_.host));
    }
    const tcp::endpoint endpoint(address, settings_.port);
    acceptor_.open(endpoint.protocol(), code);
    if (!code) acceptor_.set_option(tcp::acceptor::reuse_address(true), code);
    if (!code) acceptor_.bind(endpoint, code);
    if (!code) acceptor_.listen(4096, code);
    if (code) {
      return refuse(ErrorCode::kUnavailable,
                    fmt::format("cannot listen on {}: {}", shown(endpoint), code.message()));
    }
    endpoint_ = acceptor_.local_endpoint();
    accept();
    sweep();
    thread_ = std::thread([this] { loop_->run(); });
    return {};
  }

  [[nodiscard]] const tcp::endpoint& endpoint() const { return endpoint_; }
  [[nodiscard]] bool is_encrypted() const { return !settings_.tls_certificate.empty(); }

  void stop(Millis patience) {
    loop_->post([this] {
      stopping_ = true;
      error_code ignored;
      acceptor_.close(ignored);
      for (const auto& connection : std::unordered_set(connections_)) connection->finish();
      tell_if_empty();
    });
    std::unique_lock lock(mutex_);
    empty_.wait_for(lock, patience, [this] { return is_empty_; });
  }

 private:
  Status prepare_tls() {
    if (!is_encrypted()) return {};
    error_code code;
    tls_.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                     asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                     asio::ssl::context::no_tlsv1_1);
    tls_.use_certificate_chain_file(settings_.tls_certificate, code);
    if (code) return cannot_read(settings_.tls_certificate, code);
    tls_.use_private_key_file(settings_.tls_key, asio::ssl::context::pem, code);
    if (code) return cannot_read(settings_.tls_key, code);
    return {};
  }
  static Status cannot_read(const std::string& file, const error_code& code) {
    return refuse(ErrorCode::kInvalid, fmt::format("{}: {}", file, code.message()));
  }

  void accept() {
    acceptor_.async_accept([this](error_code code, tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (!code) {
        open(std::move(socket));
      } else if (code != asio::error::connection_aborted) {
        // No files left, most likely: those who have some will give them back.
        pause_.expires_after(std::chrono::milliseconds(50));
        return pause_.async_wait([this](error_code) { accept(); });
      }
      accept();
    });
  }

  void open(tcp::socket socket) {
    const bool is_full = connections_.size() >= settings_.connections;
    if (connections_.size() >= settings_.connections + kTurnedAway) return;
    if (is_full && is_encrypted()) return;  // a word with it would cost a handshake
    error_code code;
    socket.set_option(tcp::no_delay(true), code);
    const tcp::endpoint peer = socket.remote_endpoint(code);
    if (code) return;
    auto stream =
        is_encrypted() ? make_tls_stream(std::move(socket), tls_) : make_stream(std::move(socket));
    auto connection = std::make_shared<Connection>(
        std::move(stream), site_, settings_.limits, shown(peer),
        [this](std::function<void()> call) { loop_->post(std::move(call)); },
        [this](Connection& closed) {
          connections_.erase(closed.shared_from_this());
          site_.counters().open_connections = connections_.size();
          tell_if_empty();
        });
    connections_.insert(connection);
    Counters& counters = site_.counters();
    ++counters.connections;
    counters.turned_away += is_full ? 1 : 0;
    counters.open_connections = connections_.size();
    if (is_full) {
      return connection->turn_away(
          {ErrorCode::kUnavailable, "too many connections", "", Millis(1'000)});
    }
    connection->start();
  }

  void sweep() {
    sweep_.expires_after(kSweepEvery);
    sweep_.async_wait([this](error_code code) {
      if (code) return;
      for (const auto& connection : std::unordered_set(connections_))
        connection->sweep(Clock::now());
      for (const auto& tick : ticks_) tick();
      sweep();
    });
  }

  void tell_if_empty() {
    if (!stopping_ || !connections_.empty()) return;
    const std::lock_guard lock(mutex_);
    is_empty_ = true;
    empty_.notify_all();
  }

  const ServerSettings settings_;
  const std::shared_ptr<Loop> loop_ = std::make_shared<Loop>();
  Audit audit_;
  TaskTimes times_;
  QueueSite site_;
  std::vector<std::unique_ptr<ApplicationThread>> applications_;
  std::vector<std::function<void()>> ticks_;
  asio::ssl::context tls_{asio::ssl::context::tls_server};
  tcp::acceptor acceptor_{loop_->context()};
  tcp::endpoint endpoint_;
  asio::steady_timer pause_{loop_->context()};
  asio::steady_timer sweep_{loop_->context()};
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  bool stopping_ = false;

  std::mutex mutex_;
  std::condition_variable empty_;
  bool is_empty_ = false;
  std::thread thread_;
};

Server::Server(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(Broker& broker, ServerSettings settings) {
  auto body = std::make_unique<Body>(broker, std::move(settings));
  if (auto listens = body->listen(); !listens) return tl::unexpected(std::move(listens.error()));
  return std::unique_ptr<Server>(new Server(std::move(body)));
}

std::uint16_t Server::port() const { return body_->endpoint().port(); }

std::string Server::address() const {
  return fmt::format("{}://{}", body_->is_encrypted() ? "https" : "http", shown(body_->endpoint()));
}

void Server::stop(Millis patience) { body_->stop(patience); }

}  // namespace retsu::server
