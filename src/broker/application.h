// What is served beside a queue: a program that uses it, with doors of its own.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "broker/http_form.h"

namespace retsu {

struct AppRequest {
  PathFields path = {};    // decoded
  std::string query = {};  // as it was sent
  std::string body = {};
  std::string caller = {};  // whose idempotency keys it uses
  std::optional<std::string> idempotency_key = {};
  Millis key_age{72 * kHour};  // for how long it is remembered
};

struct AppResponse {
  int status = 200;
  std::string body = {};
  bool replayed = false;                    // what the same key was answered before
  std::function<void()> on_lost = nullptr;  // if the answer did not arrive; on the same thread
};

// One thread at a time uses it, and may have to wait.
class Application {
 public:
  Application() = default;
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  virtual ~Application() = default;

  // Its rows, as those of kOperations. They outlive it.
  [[nodiscard]] virtual std::span<const Operation> operations() const = 0;
  virtual Result<AppResponse> serve(const Operation& operation, const AppRequest& request) = 0;
  // Now and then: what it left for later.
  virtual void tick() {}
};

}  // namespace retsu
