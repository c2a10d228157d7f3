#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace retsu {

struct HttpCall {
  std::string method = "GET";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  bool once = false;  // not sent again by itself on a new connection if a kept one turns out dead
  std::optional<std::chrono::milliseconds> timeout = {};  // for all of it; none: for ever
  std::chrono::milliseconds connect_timeout{5'000};
  std::size_t answer_limit = std::size_t{256} << 20;  // of a body; that of a failure is cut there
  // For an answer of 200 that is read while it comes; its body stays empty. On the client's thread.
  std::function<void(std::string_view)> on_piece = nullptr;
};

struct HttpAnswer {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers = {};  // names in small letters
  std::string body = {};

  // The value of the first one with this name, in small letters; empty: there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

struct HttpFailure {
  enum class Kind : std::uint8_t {
    kUnreachable,  // the request was not sent
    kBroken,       // it may have been received; there is no whole answer
    kTimeout,      // as broken, after the time that it was given
    kTooLarge,     // the answer
    kCanceled,
    kInvalid,  // no such URL
  };
  Kind kind = Kind::kBroken;
  std::string message;
};

// Calls over HTTP and HTTPS, many at once on one thread of its own, with connections kept for the
// next call. Thread-safe.
class HttpClient {
 public:
  using Answered = tl::expected<HttpAnswer, HttpFailure>;
  using Done = std::function<void(Answered)>;  // once, on the client's thread: it must not block

  HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();  // what is under way ends as canceled

  // Answers a number to cancel it by.
  std::uint64_t start(HttpCall call, Done done);
  void cancel(std::uint64_t number);  // nothing happens if it has ended

  // Waits; not on the client's thread. A stop cancels it, and nothing is sent after one.
  Answered call(HttpCall call, const std::stop_token& stop = {});

  // Runs something on the client's thread, later. Dropped if the client goes before; what is due at
  // once is not.
  void run_after(std::chrono::milliseconds delay, std::function<void()> call);

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace retsu
