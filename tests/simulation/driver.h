// A queue and a clock that tests turn: no waiting, years in seconds.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/uuid.h"
#include "deep.h"
#include "engine/engine.h"
#include "ingest/prepare.h"
#include "ingest/validate.h"

namespace retsu::simulation {

inline constexpr TimePoint kStart{Millis{1'893'456'000'000}};  // 2030

class Driver {
 public:
  explicit Driver(Limits limits = {}) : limits_(limits) {}
  virtual ~Driver() = default;

  template <class Op>
  Result<typename Op::Reply> ask(Op op) {
    Command command(std::move(op));
    if (auto valid = validate(command, limits_); !valid) return tl::unexpected(valid.error());
    command = prepare(std::move(command), clock, ids_);
    Result<Reply> reply = apply(command);
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
  virtual void settle_down() = 0;
  // Until something is due. False: nothing will ever be.
  virtual bool wait() = 0;

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

 protected:
  virtual Result<Reply> apply(const Command& command) = 0;

 private:
  const Limits limits_;
  UuidSource ids_{1};
};

// The engine itself, without a thread.
class EngineDriver final : public Driver {
 public:
  void settle_down() override {
    do {
      engine_.advance(clock);
      engine_.take_changes();
    } while (engine_.next_event() <= clock);
  }
  bool wait() override {
    if (engine_.next_event() == kNever) return false;
    clock = std::max(clock, engine_.next_event());
    settle_down();
    return true;
  }

 private:
  Result<Reply> apply(const Command& command) override {
    Result<Reply> reply = engine_.apply(command, clock);
    engine_.take_changes();
    return reply;
  }

  Engine engine_;
};

// A store on a disk that loses its power now and then, in the middle of anything. What is in doubt
// afterwards is asked for again, as a careful client would.
class StoreDriver final : public Driver {
 public:
  explicit StoreDriver(int calls_between_losses);
  ~StoreDriver() override;

  void settle_down() override;
  bool wait() override;

  [[nodiscard]] int losses() const;

 private:
  Result<Reply> apply(const Command& command) override;

  class Store;
  std::unique_ptr<Store> store_;
};

}  // namespace retsu::simulation
