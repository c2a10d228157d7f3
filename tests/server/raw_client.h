// A client that says exactly what it is told to say, however wrong.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace retsu {

class RawClient {
 public:
  explicit RawClient(std::uint16_t port, int receive_buffer = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    RETSU_CHECK(socket_ >= 0);
    if (receive_buffer > 0) {
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    RETSU_CHECK(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  RawClient(RawClient&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  RawClient& operator=(RawClient&&) = delete;
  ~RawClient() {
    if (socket_ >= 0) ::close(socket_);
  }

  // False: the other side has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void end_sending() { ::shutdown(socket_, SHUT_WR); }

  // Some bytes; empty: closed, or nothing came in that time.
  std::string receive_some(std::chrono::milliseconds patience = std::chrono::seconds(10)) {
    pollfd wait{socket_, POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(patience.count())) != 1) return {};
    std::string bytes(64 << 10, '\0');
    const ssize_t size = ::recv(socket_, bytes.data(), bytes.size(), 0);
    bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    closed_ = size <= 0;
    return bytes;
  }

  // All until it closes.
  std::string receive_all() {
    std::string all;
    for (std::string some = receive_some(); !some.empty(); some = receive_some()) all += some;
    return all;
  }

  // One answer with a Content-Length; what follows it stays for the next call.
  std::string receive_answer() {
    for (;;) {
      const auto head = buffer_.find("\r\n\r\n");
      if (head != std::string::npos) {
        const auto field = buffer_.find("Content-Length: ");
        const std::size_t length = field < head ? std::stoul(buffer_.substr(field + 16)) : 0;
        if (buffer_.size() >= head + 4 + length) {
          std::string answer = buffer_.substr(0, head + 4 + length);
          buffer_.erase(0, answer.size());
          return answer;
        }
      }
      const std::string some = receive_some();
      if (some.empty()) return std::exchange(buffer_, {});
      buffer_ += some;
    }
  }

  std::string ask(std::string_view request) {
    send(request);
    return receive_answer();
  }

  [[nodiscard]] bool closed() const { return closed_; }

 private:
  int socket_;
  bool closed_ = false;
  std::string buffer_;
};

}  // namespace retsu
