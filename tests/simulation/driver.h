// The engine and a clock that tests turn: no threads, no waiting, years in seconds.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/uuid.h"
#include "engine/engine.h"
#include "ingest/prepare.h"
#include "ingest/validate.h"

namespace retsu::simulation {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

inline constexpr TimePoint kStart{Millis{1'893'456'000'000}};  // 2030

class Driver {
 public:
  explicit Driver(Limits limits = {}) : limits_(limits), engine_(limits) {}

  template <class Op>
  Result<typename Op::Reply> ask(Op op) {
    Command command(std::move(op));
    if (auto valid = validate(command, limits_); !valid) return tl::unexpected(valid.error());
    command = prepare(std::move(command), clock, ids_);
    Result<Reply> reply = engine_.apply(command, clock);
    engine_.take_changes();
    if (!reply) return tl::unexpected(reply.error());
    return std::get<typename Op::Reply>(std::move(*reply));
  }

  template <class Op>
  typename Op::Reply must(Op op) {
    auto reply = ask(std::move(op));
    if (!reply) throw std::runtime_error(reply.error().message);
    return std::move(*reply);
  }

  // Long work goes on until there is none left.
  void settle_down() {
    do {
      engine_.advance(clock);
      engine_.take_changes();
    } while (engine_.next_event() <= clock);
  }

  [[nodiscard]] TimePoint next_event() const { return engine_.next_event(); }

  ClaimReply claim(std::int64_t max, std::string queue = "default") {
    Claim command;
    command.queues = {std::move(queue)};
    command.max = max;
    return must(std::move(command));
  }

  void finish(const ClaimReply& claimed) {
    if (!claimed.tasks.empty()) must(Settle{claimed.claim_id, {}, Outcome::kFinish});
  }

  TimePoint clock = kStart;

 private:
  Limits limits_;
  UuidSource ids_{1};
  Engine engine_;
};

}  // namespace retsu::simulation
