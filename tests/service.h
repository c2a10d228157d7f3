// A service that somebody calls over HTTP, as a test wants it.
#pragma once

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"

namespace retsu {

// Answers each request with what `answer` makes of it, both as they are on the wire; nothing: it
// hangs up. One connection at a time.
class Service {
 public:
  using Answer = std::function<std::string(const std::string& request)>;

  explicit Service(Answer answer)
      : answer_(std::move(answer)), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    RETSU_CHECK(::bind(socket_, any, size) == 0 && ::listen(socket_, 16) == 0);
    RETSU_CHECK(::getsockname(socket_, any, &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service() {
    leave();
    thread_.join();
    ::close(socket_);
  }

  [[nodiscard]] std::string url(const std::string& target = "/") const {
    return fmt::format("http://127.0.0.1:{}{}", port_, target);
  }
  // From now on nobody is there; whoever is being answered still is.
  void leave() { ::shutdown(socket_, SHUT_RDWR); }
  [[nodiscard]] std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  static std::string response(const std::string& status, const std::string& body,
                              const std::string& headers = "") {
    return fmt::format("HTTP/1.1 {}\r\n{}Content-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                       headers, body.size(), body);
  }

 private:
  void serve() {
    for (int client = 0; (client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      const std::string request = read_request(client);
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      const std::string answer = answer_(request);
      (void)::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(client);
    }
  }

  static std::string read_request(int client) {
    std::string request;
    std::array<char, 4096> bytes;
    for (;;) {
      const auto head = request.find("\r\n\r\n");
      if (head != std::string::npos) {
        const auto length = request.find("Content-Length: ");
        const std::size_t body =
            length < head
                ? std::stoul(request.substr(length + std::string("Content-Length: ").size()))
                : 0;
        if (request.size() >= head + 4 + body) return request;
      }
      const ssize_t size = ::recv(client, bytes.data(), bytes.size(), 0);
      if (size <= 0) return request;
      request.append(bytes.data(), static_cast<std::size_t>(size));
    }
  }

  const Answer answer_;
  const int socket_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::jthread thread_;
};

}  // namespace retsu
