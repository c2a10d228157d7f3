// A server on a port of its own, with a queue in memory.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/http_client.h"
#include "base/temporary_directory.h"
#include "broker/codec.h"
#include "broker/memory/memory_broker.h"
#include "server/raw_client.h"
#include "server/server.h"

namespace retsu {

class ServerTest : public testing::Test {
 protected:
  // The clock stands still if there is none.
  explicit ServerTest(Limits limits = {}, MemoryBroker::Clock clock = MemoryBroker::system_clock())
      : queue_(limits, std::move(clock)) {
    settings_.port = 0;
  }

  // Also before what a test gave it goes.
  void TearDown() override { server_.reset(); }

  // With settings_ as they are then.
  void start() {
    auto started = server::Server::start(queue_, settings_);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }

  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  [[nodiscard]] std::string url(const std::string& target) const {
    return server_->address() + target;
  }
  RawClient connect() { return RawClient(port()); }

  HttpAnswer ask(std::string method, const std::string& target, std::string body = "",
                 std::vector<std::pair<std::string, std::string>> headers = {}) {
    auto answer = client_.call({.method = std::move(method),
                                .url = url(target),
                                .headers = std::move(headers),
                                .body = std::move(body),
                                .timeout = std::chrono::seconds(30)});
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *std::move(answer) : HttpAnswer{};
  }
  HttpAnswer get(const std::string& target) { return ask("GET", target); }
  HttpAnswer post(const std::string& target, std::string body) {
    return ask("POST", target, std::move(body));
  }

  static std::string request(std::string_view method, std::string_view target,
                             std::string_view body = "", std::string_view headers = "") {
    return fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n{}Content-Length: {}\r\n\r\n{}",
                       method, target, headers, body.size(), body);
  }
  static std::string code_in(const HttpAnswer& answer) {
    const auto error = error_from_json(answer.body);
    return error ? std::string(row_of(error->code).name) : "no error";
  }

  // Of /metrics; -1: it is not there.
  double metric(const std::string& series) {
    const std::string text = "\n" + get("/metrics").body;
    const auto at = text.find("\n" + series + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + series.size() + 2));
  }

  std::int64_t stored() {
    const auto stats = call(queue_, Stats{});
    std::int64_t count = 0;
    for (const auto& [state, tasks] : stats->tasks) count += tasks;
    return count;
  }

  MemoryBroker queue_;
  server::ServerSettings settings_;
  std::unique_ptr<server::Server> server_;
  HttpClient client_;
};

}  // namespace retsu
