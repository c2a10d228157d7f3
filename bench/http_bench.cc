#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "base/check.h"
#include "base/temporary_directory.h"
#include "bench.h"
#include "broker/embedded/embedded_broker.h"
#include "cli/lifecycles.h"
#include "processes.h"

// The server as a process of its own, asked over loopback, beside the embedded broker in this
// process and nginx that answers a fixed 200.
namespace retsu::bench {
namespace {

using Steady = std::chrono::steady_clock;

// ---------------------------------------------------------------------------------------- client

// One connection of a client that has next to no work of its own.
class Wire {
 public:
  explicit Wire(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    RETSU_CHECK(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  Wire(Wire&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Wire& operator=(Wire&&) = delete;
  ~Wire() {
    if (socket_ >= 0) ::close(socket_);
  }

  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      RETSU_CHECK(sent > 0);
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // An answer, if all of it is here; the body is good until the next call.
  std::optional<std::string_view> receive() {
    if (has_answer_) answer_.clear();
    has_answer_ = false;
    char bytes[64 << 10];
    const ssize_t size = ::recv(socket_, bytes, sizeof bytes, 0);
    RETSU_CHECK(size > 0);
    answer_.append(bytes, static_cast<std::size_t>(size));
    const auto head = answer_.find("\r\n\r\n");
    if (head == std::string::npos) return std::nullopt;
    const auto field = answer_.find("Content-Length: ");
    std::size_t length = 0;
    std::from_chars(answer_.data() + field + 16, answer_.data() + head, length);
    if (answer_.size() < head + 4 + length) return std::nullopt;
    RETSU_CHECK(answer_[9] == '2');
    has_answer_ = true;
    return std::string_view(answer_).substr(head + 4);
  }
  std::string_view wait() {
    for (;;) {
      if (auto body = receive()) return *body;
    }
  }
  [[nodiscard]] int socket() const { return socket_; }

 private:
  int socket_;
  std::string answer_;
  bool has_answer_ = false;
};

std::string post(std::string_view target, std::string_view body) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}", target,
                     body.size(), body);
}

std::string push_of(std::int64_t batch) {
  const std::string payload(126, 'x');
  std::string tasks;
  for (std::int64_t i = 0; i < batch; ++i) {
    tasks +=
        fmt::format(R"({}{{"user":"user-{}","payload":"{}"}})", i == 0 ? "" : ",", i % 10, payload);
  }
  return post("/v1/tasks", batch == 1 ? tasks : "{\"tasks\":[" + tasks + "]}");
}

std::string settle_of(std::string_view claimed) {
  constexpr std::string_view kBefore = R"("claim_id":")";
  const auto at = claimed.find(kBefore) + kBefore.size();
  return post(fmt::format("/v1/claims/{}/settle", claimed.substr(at, claimed.find('"', at) - at)),
              R"({"all":"finish"})");
}

// What a connection asks next, having got this answer; none: it has done its share.
using Script =
    std::function<std::optional<std::string>(std::size_t connection, std::string_view answer)>;

// Seconds until all connections have done theirs, on one thread.
double drive(std::uint16_t port, std::size_t connections, const Script& script) {
  std::vector<Wire> wires;
  const int poll = ::epoll_create1(EPOLL_CLOEXEC);
  for (std::size_t i = 0; i < connections; ++i) {
    wires.emplace_back(port);
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    ::epoll_ctl(poll, EPOLL_CTL_ADD, wires.back().socket(), &event);
  }
  const double spent = seconds([&] {
    std::size_t left = connections;
    for (std::size_t i = 0; i < connections; ++i) wires[i].send(*script(i, ""));
    std::array<epoll_event, 64> events;
    while (left > 0) {
      const int ready = ::epoll_wait(poll, events.data(), events.size(), -1);
      for (int e = 0; e < ready; ++e) {
        const std::size_t i = events[static_cast<std::size_t>(e)].data.u64;
        const auto body = wires[i].receive();
        if (!body) continue;
        const auto next = script(i, *body);
        next ? wires[i].send(*next) : void(--left);
      }
    }
  });
  ::close(poll);
  return spent;
}

double requests_per_second(std::uint16_t port, std::size_t connections, const std::string& request,
                           std::int64_t count) {
  std::int64_t left = count;
  const double spent = drive(port, connections, [&](std::size_t, std::string_view) {
    return left-- > 0 ? std::optional(request) : std::nullopt;
  });
  return static_cast<double>(count) / spent;
}

double http_lifecycles(std::uint16_t port, std::size_t connections, std::int64_t batch,
                       std::int64_t tasks) {
  const std::string push = push_of(batch);
  const std::string claim = post("/v1/claims", fmt::format(R"({{"max":{}}})", batch));
  std::int64_t left = tasks / batch;
  std::vector<int> steps(connections, 0);
  const double spent = drive(
      port, connections, [&](std::size_t i, std::string_view answer) -> std::optional<std::string> {
        switch (steps[i]++ % 3) {
          case 0:
            if (left-- <= 0) return std::nullopt;
            return push;
          case 1:
            return claim;
          default:
            return settle_of(answer);
        }
      });
  return static_cast<double>(tasks) / spent;
}

// ---------------------------------------------------------------------------------------- figures

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

// Milliseconds from a push to its start in a worker that waits.
double push_to_start(std::uint16_t port) {
  Wire worker(port);
  Wire client(port);
  const std::string push = push_of(1);
  const std::string claim = post("/v1/claims", R"({"wait_ms":60000})");
  std::vector<double> times;
  for (int i = 0; i < 500; ++i) {
    worker.send(claim);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // it waits by then
    std::string claimed;
    times.push_back(1'000 * seconds([&] {
                      client.send(push);
                      claimed = worker.wait();
                    }));
    client.wait();
    client.send(settle_of(claimed));
    client.wait();
  }
  return median(times);
}

// Milliseconds to write a page and sync it.
double one_sync() {
  const TemporaryDirectory folder(".");
  const int file = ::open((folder.path() + "/sync").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  RETSU_CHECK(file >= 0);
  const std::string page(4'096, 'x');
  std::vector<double> times;
  for (int i = 0; i < 300; ++i) {
    times.push_back(1'000 * seconds([&] {
                      RETSU_CHECK(::pwrite(file, page.data(), page.size(), 0) == 4'096);
                      RETSU_CHECK(::fdatasync(file) == 0);
                    }));
  }
  ::close(file);
  return median(times);
}

// nginx with one worker that says 200 to everything; none: it is not installed.
std::optional<double> nginx_requests(const std::string& request) {
  const TemporaryDirectory folder(".");
  const auto here = std::filesystem::absolute(folder.path()).string();
  constexpr std::uint16_t kPort = 17'380;
  std::ofstream(here + "/nginx.conf") << fmt::format(
      "worker_processes 1; daemon off; pid {0}/pid; error_log /dev/null;\n"
      "events {{ worker_connections 1024; }}\n"
      "http {{ access_log off; client_body_temp_path {0}/a; proxy_temp_path {0}/b; "
      "fastcgi_temp_path {0}/c;\n"
      "uwsgi_temp_path {0}/d; scgi_temp_path {0}/e; keepalive_requests 1000000000;\n"
      "server {{ listen 127.0.0.1:{1}; location / {{ return 200 ok; }} }} }}\n",
      here, kPort);
  const Process nginx({"nginx", "-c", here + "/nginx.conf"});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  if (nginx.has_ended()) return std::nullopt;
  return requests_per_second(kPort, 32, request, 200'000);
}

void run(const Options&) {
  const ServerProcess server;
  const double nginx = nginx_requests(push_of(1)).value_or(0);
  const auto of_nginx = [&](double rate) {
    return nginx == 0 ? std::string("nginx is not installed")
                      : fmt::format("{:.0f} % of nginx", 100 * rate / nginx);
  };
  fmt::print("{:<58} {:>10.0f}/s\n", "nginx, a fixed 200 to the same POST, 32 connections", nginx);
  const double health = requests_per_second(
      server.port(), 32, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 200'000);
  fmt::print("{:<58} {:>10.0f}/s  {}\n", "GET /healthz, 32 connections", health, of_nginx(health));
  const double pushes = requests_per_second(server.port(), 32, push_of(1), 100'000);
  fmt::print("{:<58} {:>10.0f}/s  {}\n", "push, one task a request, 32 connections", pushes,
             of_nginx(pushes));
  const ServerProcess fresh;
  const double single = http_lifecycles(fresh.port(), 32, 1, 50'000);
  fmt::print("{:<58} {:>10.0f}/s\n", "lifecycles, one task a request, 32 connections", single);
  for (const std::int64_t batch : {100, 1'000}) {
    const double http = http_lifecycles(fresh.port(), 4, batch, 400'000);
    const TemporaryDirectory folder(".");
    auto broker = EmbeddedBroker::open(folder.path());
    RETSU_CHECK(broker.has_value());
    const double embedded = *lifecycles_per_second(**broker, {.batch = batch});
    fmt::print("{:<58} {:>10.0f}/s  {:.0f} % of {:.0f} embedded\n",
               fmt::format("lifecycles, batches of {}, 4 connections", batch), http,
               100 * http / embedded, embedded);
  }
  const double start = push_to_start(fresh.port());
  const double sync = one_sync();
  fmt::print("{:<58} {:>10.2f} ms  (a sync: {:.2f} ms)\n",
             "push to start in a worker that waits, p50", start, sync);
}

}  // namespace

const Suite kHttpSuite = {"http", "the server over loopback, every answer synced", run};

}  // namespace retsu::bench
