// The way to a library: in this process, or at a server.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "apps/library/library.h"
#include "base/http_client.h"

namespace retsu::library {

class Door {
 public:
  Door() = default;
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  virtual ~Door() = default;

  // Thread-safe. With a key, which is remembered for ten minutes, what is sent twice is done once.
  template <class Op>
  Result<typename Op::Reply> ask(const Op& op, const std::optional<std::string>& key = {},
                                 const std::stop_token& stop = {}) {
    std::string json;
    append_json(json, op);
    auto body = send(library_row<Op>(), json_to_http(library_row<Op>(), json), key, stop);
    if (!body) return tl::unexpected(std::move(body.error()));
    auto reply = from_json<typename Op::Reply>(*body, {.skip_unknown = true});
    if (reply) return *std::move(reply);
    return refuse(ErrorCode::kUnavailable,
                  "this is not what a library answers: " + reply.error().message);
  }

 private:
  // Answers the body of a success.
  virtual Result<std::string> send(const Operation& operation, const HttpForm& form,
                                   const std::optional<std::string>& key,
                                   const std::stop_token& stop) = 0;
};

class LocalDoor final : public Door {
 public:
  explicit LocalDoor(std::unique_ptr<Library> library) : library_(std::move(library)) {}

 private:
  Result<std::string> send(const Operation& operation, const HttpForm& form,
                           const std::optional<std::string>& key,
                           const std::stop_token& stop) override;

  std::mutex mutex_;
  const std::unique_ptr<Library> library_;
};

struct RemoteDoorSettings {
  std::string url;  // http://host:7380
  std::string token;
  Millis patience{60'000};  // with a server that is away, for a call that may be repeated
  std::function<void(const Error&, Millis pause)> on_retry = nullptr;
};

// A call that may have been done is repeated if that has the effect of once.
class RemoteDoor final : public Door {
 public:
  explicit RemoteDoor(RemoteDoorSettings settings) : settings_(std::move(settings)) {}

 private:
  Result<std::string> send(const Operation& operation, const HttpForm& form,
                           const std::optional<std::string>& key,
                           const std::stop_token& stop) override;

  const RemoteDoorSettings settings_;
  HttpClient client_;
};

}  // namespace retsu::library
