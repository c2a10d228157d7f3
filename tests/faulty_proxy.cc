#include "faulty_proxy.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <string_view>

#include "base/check.h"

namespace retsu {
namespace {

constexpr int kLingerMs = 2'000;

sockaddr_in address_of(const std::string& host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  RETSU_CHECK(::inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1);
  return address;
}

int new_socket() {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  RETSU_CHECK(made >= 0);
  return made;
}

// Several of our own sockets may have one port.
int bound_socket(std::uint16_t port) {
  const int made = new_socket();
  const int yes = 1;
  RETSU_CHECK(::setsockopt(made, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) == 0);
  const sockaddr_in address = address_of("127.0.0.1", port);
  RETSU_CHECK(::bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return made;
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// ------------------------------------------------------------------------------------ messages

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

// Calls `take` with the place, name (in small letters) and value of each header.
void for_each_header(const std::string& message,
                     const std::function<void(std::size_t, std::string, std::string)>& take) {
  const auto head = message.find("\r\n\r\n");
  for (auto at = message.find("\r\n"); at < head; at = message.find("\r\n", at + 2)) {
    const auto end = message.find("\r\n", at + 2);
    const auto colon = std::min(message.find(':', at + 2), end);
    const auto value = std::min(message.find_first_not_of(" \t", colon + 1), end);
    take(at + 2, in_small_letters(std::string_view(message).substr(at + 2, colon - at - 2)),
         message.substr(value, end - value));
  }
}

std::string header_of(const std::string& message, std::string_view name) {
  std::string found;
  for_each_header(message, [&](std::size_t, const std::string& each, const std::string& value) {
    if (each == name) found = value;
  });
  return found;
}

std::string with_close(std::string message) {
  std::size_t place = 0;
  for_each_header(message, [&](std::size_t at, const std::string& name, const std::string&) {
    if (name == "connection") place = at;
  });
  if (place != 0) message.erase(place, message.find("\r\n", place) + 2 - place);
  return message.insert(message.find("\r\n") + 2, "Connection: close\r\n");
}

bool is_whole(const std::string& message, bool has_ended) {
  const auto head = message.find("\r\n\r\n");
  if (head == std::string::npos) return false;
  const std::string length = header_of(message, "content-length");
  if (!length.empty()) return message.size() >= head + 4 + std::stoul(length);
  if (header_of(message, "transfer-encoding").empty())
    return has_ended || !message.starts_with("HTTP/");
  return message.ends_with("0\r\n\r\n");
}

// A request, or an answer; empty: it does not come to its end.
std::string receive(int socket) {
  std::string message;
  std::array<char, 16 << 10> bytes;
  while (!is_whole(message, false)) {
    const ssize_t size = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (size < 0 || (size == 0 && !is_whole(message, true))) return {};
    if (size == 0) break;
    message.append(bytes.data(), static_cast<std::size_t>(size));
  }
  return message;
}

// Whether all of it was sent and the other side hung up in peace, or does not hang up.
bool deliver(int socket, std::string_view answer) {
  if (!send_all(socket, answer)) return false;
  ::shutdown(socket, SHUT_WR);
  std::array<char, 1 << 10> bytes;
  for (pollfd wait{socket, POLLIN, 0}; ::poll(&wait, 1, kLingerMs) == 1;) {
    const ssize_t size = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (size <= 0) return size == 0;
  }
  return true;
}

}  // namespace

// A socket that is cut when the proxy goes offline.
class FaultyProxy::Wire {
 public:
  Wire(FaultyProxy& proxy, int socket) : proxy_(proxy), socket_(socket) {
    const std::lock_guard lock(proxy_.mutex_);
    proxy_.open_.insert(socket_);
    if (!proxy_.online_) ::shutdown(socket_, SHUT_RDWR);
  }
  // To the server. If that is not reached, nothing is sent or received.
  explicit Wire(FaultyProxy& proxy) : Wire(proxy, new_socket()) {
    std::string host = proxy.settings_.upstream.substr(std::string_view("http://").size());
    const auto colon = host.find(':');
    const sockaddr_in address =
        address_of(host.substr(0, colon), std::stoi(host.substr(colon + 1)));
    connected_ =
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() {
    const std::lock_guard lock(proxy_.mutex_);
    proxy_.open_.erase(socket_);
    ::close(socket_);
  }

  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] bool send(std::string_view bytes) const {
    return connected_ && send_all(socket_, bytes);
  }

 private:
  FaultyProxy& proxy_;
  const int socket_;
  bool connected_ = true;
};

FaultyProxy::FaultyProxy(Settings settings)
    : settings_(std::move(settings)),
      reserved_(bound_socket(0)),
      dice_(settings_.seed),
      percent_(settings_.percent) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  RETSU_CHECK(::getsockname(reserved_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  go_online();
}

FaultyProxy::~FaultyProxy() {
  go_offline();
  for (Session& each : sessions_) each.thread.join();
  ::close(reserved_);
}

std::string FaultyProxy::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

void FaultyProxy::go_online() {
  const std::lock_guard lock(mutex_);
  if (online_) return;
  online_ = true;
  listener_ = bound_socket(port_);
  RETSU_CHECK(::listen(listener_, 1'024) == 0);
  acceptor_ = std::thread([this, listener = listener_] { accept_all(listener); });
}

void FaultyProxy::go_offline() {
  {
    const std::lock_guard lock(mutex_);
    if (!online_) return;
    online_ = false;
    ::shutdown(listener_, SHUT_RDWR);
    for (const int each : open_) ::shutdown(each, SHUT_RDWR);
  }
  acceptor_.join();
  ::close(listener_);
}

void FaultyProxy::set_percent(Percent percent) {
  const std::lock_guard lock(mutex_);
  percent_ = std::move(percent);
}

std::vector<FaultyProxy::Answered> FaultyProxy::log() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return under_way_ == 0; });
  return log_;
}

std::map<Fate, int> FaultyProxy::counts() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return under_way_ == 0; });
  return counts_;
}

void FaultyProxy::accept_all(int listener) {
  for (int client = 0; (client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    const std::lock_guard lock(mutex_);
    std::erase_if(sessions_, [](Session& each) {
      if (each.ended) each.thread.join();
      return each.ended;
    });
    Session& session = sessions_.emplace_back();
    session.thread = std::thread([this, client, &session] {
      serve(client);
      const std::lock_guard locked(mutex_);
      session.ended = true;
    });
  }
}

void FaultyProxy::serve(int client) {
  const Wire wire(*this, client);
  const std::string request = receive(client);
  if (request.empty()) return;
  meet(choose(), with_close(request), wire);
  const std::lock_guard lock(mutex_);
  --under_way_;
  idle_.notify_all();
}

std::uint64_t FaultyProxy::roll(std::uint64_t least, std::uint64_t most) {
  const std::lock_guard lock(mutex_);
  return least + dice_() % (most - least + 1);
}

Fate FaultyProxy::choose() {
  auto left = static_cast<int>(roll(0, 99));
  const std::lock_guard lock(mutex_);
  Fate chosen = Fate::kPass;
  for (const auto& [fate, percent] : percent_) {
    if (left >= 0 && left < percent) chosen = fate;
    left -= percent;
  }
  ++counts_[chosen];
  ++under_way_;
  return chosen;
}

void FaultyProxy::meet(Fate fate, const std::string& request, const Wire& client) {
  if (fate == Fate::kDrop) return;
  if (fate == Fate::kDelay) {
    const auto most = static_cast<std::uint64_t>(settings_.longest_delay.count());
    std::this_thread::sleep_for(std::chrono::milliseconds(roll(0, most)));
  }
  const auto first_part = [this](const std::string& message) {
    return message.substr(0, roll(1, message.size() - 1));
  };
  const auto ask_besides = [&] {
    const Wire other(*this);
    if (other.send(request)) (void)note(request, receive(other.socket()));
  };
  if (fate == Fate::kRepeatAfter) ask_besides();
  const Wire upstream(*this);
  if (fate == Fate::kCutRequest) return (void)upstream.send(first_part(request));
  if (!upstream.send(request)) return;
  if (fate == Fate::kRepeatAtOnce) ask_besides();
  const std::string answer = receive(upstream.socket());
  const std::size_t entry = note(request, answer);
  if (answer.empty() || fate == Fate::kLoseAnswer) return;
  if (fate == Fate::kCutAnswer) return (void)client.send(first_part(with_close(answer)));
  const bool reached = deliver(client.socket(), with_close(answer));
  const std::lock_guard lock(mutex_);
  log_[entry].reached_client = reached;
}

std::size_t FaultyProxy::note(const std::string& request, const std::string& answer) {
  const std::lock_guard lock(mutex_);
  if (answer.empty()) return log_.size();
  const auto method = request.find(' ');
  log_.push_back({.method = request.substr(0, method),
                  .target = request.substr(method + 1, request.find(' ', method + 1) - method - 1),
                  .key = header_of(request, "idempotency-key"),
                  .attempt = header_of(request, "retsu-attempt"),
                  .status = std::stoi(answer.substr(answer.find(' ') + 1))});
  return log_.size() - 1;
}

}  // namespace retsu
