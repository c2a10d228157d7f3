// A queue behind a real server, asked by the remote broker over a real socket.
#pragma once

#include <fmt/format.h>

#include "base/check.h"
#include "base/http_client.h"
#include "broker/memory/memory_broker.h"
#include "broker/remote/remote_broker.h"
#include "conformance/subject.h"
#include "server/server.h"

namespace retsu::conformance {

class HttpSubject final : public Subject {
 public:
  explicit HttpSubject(Limits limits) : queue_(limits) {
    server::ServerSettings settings{
        .port = 0, .move_clock = [this](Millis by) { queue_.set_clock(queue_time_ += by); }};
    auto started = server::Server::start(queue_, std::move(settings));
    RETSU_CHECK(started.has_value());
    server_ = std::move(*started);
    // One attempt: what is refused is to be told at once.
    remote_ = std::make_unique<RemoteBroker>(
        RemoteSettings{.url = server_->address(), .retry = {.max_attempts = 1}});
  }

  Broker& broker() override { return *remote_; }
  TimePoint now() override { return now_; }
  bool is_remote() override { return true; }
  void set_clock(TimePoint time) override {
    const auto answer =
        client_.call({.method = "POST",
                      .url = server_->address() + "/v1/clock",
                      .body = fmt::format(R"({{"advance_ms":{}}})", (time - now_).count())});
    RETSU_CHECK(answer.has_value() && answer->status == 200);
    now_ = time;
  }

 private:
  MemoryBroker queue_;
  TimePoint queue_time_{};
  TimePoint now_{};
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<RemoteBroker> remote_;
  HttpClient client_;
};

}  // namespace retsu::conformance
