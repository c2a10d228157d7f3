#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/uuid.h"
#include "broker/broker.h"
#include "engine/engine.h"

namespace retsu {

// A queue that lives and dies with its process: the engine behind the one seam, with nothing
// stored. It serves tests of everything above, and programs that want fairness and pace without
// durability. One thread owns the engine; it takes all commands that have arrived, then answers
// them.
class MemoryBroker final : public Broker {
 public:
  // The clock is read by the owner thread only. Without one it stands still until set_clock.
  using Clock = std::function<TimePoint()>;
  static Clock system_clock();

  explicit MemoryBroker(Limits limits = {}, Clock clock = nullptr);
  ~MemoryBroker() override;

  void submit(Command command, Context context, Done done) noexcept override;
  Subscription watch(EventFilter filter, EventSink sink) override;
  [[nodiscard]] Capabilities capabilities() const override;

  // For tests: sets the clock that stands still, backwards too, and returns when everything due by
  // then has happened and has been answered.
  void set_clock(TimePoint time);

 private:
  struct Request {
    Command command;
    Context context;
    Done done;
  };
  // A claim that waits for work, or a look at a task that waits for its end.
  struct Waiter {
    Request request;
    TimePoint until;
    TimePoint retry_at = kNever;
    std::unique_ptr<std::stop_callback<std::function<void()>>> on_stop;
  };
  struct Watcher {
    EventFilter filter;
    EventSink sink;
  };

  void run();
  void work(std::vector<Request> requests);
  void serve(Request request);
  void wait(Request request, const Result<Reply>& reply, TimePoint until);
  void serve_waiters();
  bool serve_waiter(Waiter& waiter, std::set<std::string>& open);
  void answer(Request& request, Result<Reply> reply);
  void take_changes();
  void deliver();
  [[nodiscard]] TimePoint now() const;
  [[nodiscard]] std::chrono::steady_clock::time_point wake_time() const;

  const Limits limits_;
  const Clock clock_;
  UuidSource ids_;

  // Shared.
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::vector<Request> inbox_;
  TimePoint manual_time_{};
  std::uint64_t asked_ = 0;  // set_clock calls
  std::uint64_t done_ = 0;
  bool poked_ = false;  // a waiting caller gave up
  bool stopping_ = false;
  std::mutex watchers_mutex_;
  std::map<std::uint64_t, Watcher> watchers_;
  std::uint64_t last_watcher_ = 0;

  // The owner thread's.
  Engine engine_;
  std::list<Waiter> waiters_;      // first come, first served
  std::set<std::string> touched_;  // queues that may have got something to give
  bool all_touched_ = false;
  std::vector<TaskEvent> events_;
  std::uint64_t last_event_ = 0;
  std::vector<std::pair<Done, Result<Reply>>> answers_;

  std::thread owner_;
};

}  // namespace retsu
