#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "model/operations.h"

namespace retsu {

// Who asks, and for how long the answer is worth waiting for.
struct Context {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop;
  std::string caller;  // whose key it is
  // The same key again, with the same command, within 72 hours, is answered as the first time and
  // does nothing; with another command it is refused. What was refused may be tried again.
  std::optional<std::string> idempotency_key;
  std::string key_covers = {};  // what the key stands for besides the command
  Millis key_age{72 * kHour};   // for how long it is remembered, if not for all of 72 hours
  bool once = false;            // a broker that would try again by itself does not: the caller does
};

struct Answer : Result<Reply> {
  Answer() = default;
  Answer(Result<Reply> result, bool was_replayed = false)
      : Result<Reply>(std::move(result)), replayed(was_replayed) {}

  bool replayed = false;  // the answer that the same key was given before
};

// A task went from one state to another. Numbers rise by one; a push has no `from`.
struct TaskEvent {
  std::uint64_t number = 0;
  std::string id;
  std::string queue;
  std::string user;
  std::optional<State> from;
  std::optional<State> to;  // absent: removed
  TimePoint at;
  std::int64_t attempt = 0;
  Reason reason = Reason::kNone;
  std::optional<std::int64_t> took_ms;  // for how long it was QUEUED or STARTED

  bool operator==(const TaskEvent&) const = default;
};

struct EventFilter {
  std::string queue;
  std::string user;
  std::optional<State> state;  // the state entered
};

bool passes(const EventFilter& filter, const TaskEvent& event);

struct EventBatch {
  std::vector<TaskEvent> events;
  std::uint64_t missed = 0;  // events lost before the first of these: a gap is told, never hidden
};
// Called on one thread of the broker's at a time, after the commit. It must not block, nor destroy
// its own subscription.
using EventSink = std::function<void(EventBatch)>;

// Ends the events when dropped; after that the sink is not called again. May not outlive the
// broker.
class Subscription {
 public:
  Subscription() = default;
  explicit Subscription(std::function<void()> end) : end_(std::move(end)) {}
  Subscription(Subscription&& other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
  Subscription& operator=(Subscription&& other) noexcept {
    std::swap(end_, other.end_);
    return *this;
  }
  ~Subscription() {
    if (end_) end_();
  }

 private:
  std::function<void()> end_;
};

struct Capabilities {
  bool durable = false;      // an answer survives the process
  bool distributed = false;  // several processes may share the queue
  Limits limits;
};

// The one door to a queue. Everything above it (server, command line, worker, applications) knows
// nothing else; embedded, Redis, remote and in-memory queues implement it. Thread-safe.
class Broker {
 public:
  using Done = std::function<void(Answer)>;

  Broker() = default;
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  virtual ~Broker() = default;  // calls under way end with kShutdown

  // Runs `done` exactly once, never inside submit, on any thread of the broker's, in any order: it
  // must not block. What it reports is decided: a success is as durable as capabilities() says.
  virtual void submit(Command command, Context context, Done done) noexcept = 0;

  virtual Subscription watch(EventFilter filter, EventSink sink) = 0;

  [[nodiscard]] virtual Capabilities capabilities() const = 0;
};

// Asks and waits for the answer. Not from inside a Done or an EventSink.
Answer call_any(Broker& broker, Command command, Context context = {});

template <class Op>
Result<typename Op::Reply> call(Broker& broker, Op operation, Context context = {}) {
  Answer reply =
      call_any(broker, Command(std::in_place_type<Op>, std::move(operation)), std::move(context));
  if (!reply) return tl::unexpected(std::move(reply.error()));
  return std::get<typename Op::Reply>(*std::move(reply));
}

}  // namespace retsu
