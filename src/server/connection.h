#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "server/exchange.h"
#include "server/request_parser.h"
#include "server/stream.h"

namespace retsu::server {

struct ConnectionLimits {
  using Duration = std::chrono::milliseconds;

  std::size_t header_bytes = 16 << 10;
  std::size_t pipelined = 64;                // requests that wait for their answers
  std::size_t unread_bytes = 4 << 20;        // of answers: no request is read before some are taken
  Duration request_time{10'000};             // for the header, and for the body's first bytes
  std::size_t body_bytes_per_second = 1024;  // the slowest that a body may come
  Duration idle_time{75'000};                // between two requests
  Duration stalled_time{30'000};             // an answer of which nothing is taken
  Duration linger_time{2'000};               // for the other side to read the last answer
  std::size_t linger_bytes = 4 << 20;        // that it may still send meanwhile
  // For bodies that are held whole, over all connections.
  std::shared_ptr<BodyBudget> bodies = std::make_shared<BodyBudget>(std::size_t{256} << 20);
};

// What is done with the requests of connections. On the loop's thread.
class Site {
 public:
  virtual ~Site() = default;

  // The header has come: finds who asks, and for what. Answers how many bytes the body may have, or
  // the refusal, which is the answer: the body is not looked at then.
  virtual Result<std::size_t> admit(const std::shared_ptr<Exchange>& exchange) = 0;

  // The request is whole, unless the exchange has a body reader, which is told instead.
  virtual void serve(const std::shared_ptr<Exchange>& exchange) = 0;
};

// One connection: reads requests, as far ahead as is good, and writes their answers in order. On
// the loop's thread. Lives as long as something of it is under way.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;

  // Post runs something soon, on the same thread, after what is to be done already.
  using Post = std::function<void(std::function<void()>)>;

  Connection(std::unique_ptr<Stream> stream, Site& site, const ConnectionLimits& limits,
             std::string peer, Post post, std::function<void(Connection&)> on_closed);

  void start();

  // Closes it if the other side takes too long with something.
  void sweep(Clock::time_point now);

  // No more requests: what is under way is answered, who waits is told to stop waiting.
  void finish();

  void close();

  // One answer to whoever it is, and goodbye.
  void turn_away(const Error& error);

 private:
  void read();
  void on_read(error_code code, std::string_view bytes);
  void parse(std::string_view bytes);
  std::size_t take_some(std::string_view bytes);
  void begin_request();
  void end_request();
  void refuse(const Error& error);
  void add(const std::shared_ptr<Exchange>& exchange);
  void drop_arriving();
  void on_progress();
  void go_on();
  void gather();
  void write();
  void on_written(error_code code, std::size_t size);
  void linger();
  [[nodiscard]] bool may_take() const;
  [[nodiscard]] bool is_late(Clock::time_point now) const;
  bool is_too_slow(Clock::time_point now);

  const std::unique_ptr<Stream> stream_;
  Site& site_;
  const ConnectionLimits& limits_;
  const std::string peer_;
  const Post post_;
  const std::function<void(Connection&)> on_closed_;

  // In.
  RequestParser parser_;
  std::string kept_;                    // read, not parsed yet
  bool held_back_ = false;              // there may be more in it than was parsed
  std::size_t header_bytes_ = 0;        // of the request that arrives, so far
  std::shared_ptr<Exchange> arriving_;  // its header is here, its body is not
  std::size_t body_bytes_ = 0;          // of that, so far
  bool reading_ = false;
  bool input_ended_ = false;  // by the other side
  bool last_ = false;         // no further request is taken

  // Out.
  std::deque<std::shared_ptr<Exchange>> exchanges_;  // to be answered, in this order
  struct Leaving {
    std::shared_ptr<Exchange> exchange;
    std::uint64_t end;  // of its answer, in all that was ever gathered
  };
  std::deque<Leaving> leaving_;  // answered, not written yet
  std::uint64_t gathered_total_ = 0;
  std::uint64_t written_total_ = 0;
  std::string gathered_;
  std::string writing_;
  std::size_t written_ = 0;  // of that
  bool posted_ = false;
  bool lingers_ = false;  // until the other side has read the last answer
  std::size_t lingered_bytes_ = 0;
  bool finishes_ = false;  // the server does
  bool closed_ = false;

  Clock::time_point request_began_;
  Clock::time_point slice_began_;  // of the time in which the body's speed is measured
  std::size_t slice_bytes_ = 0;    // that had come by then
  Clock::time_point last_active_;
  Clock::time_point last_written_;
};

}  // namespace retsu::server
