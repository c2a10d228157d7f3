// The reference model behind the seam of all brokers, so that the same suites judge it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/uuid.h"
#include "broker/broker.h"
#include "reference/reference.h"

namespace retsu {

// Nothing is durable. Time stands still but for set_clock(); `wait_ms` is counted by that clock
// too, and deadlines of the context are ignored. Thread-safe. All answers and events come from one
// thread.
class ReferenceBroker : public Broker {
 public:
  explicit ReferenceBroker(Limits limits = {});
  ~ReferenceBroker() override;

  void submit(Command command, Context context, Done done) noexcept override;
  Subscription watch(EventFilter filter, EventSink sink) override;
  [[nodiscard]] Capabilities capabilities() const override;

  // May go backwards. Returns when everything due by then has happened. Not from inside a Done.
  void set_clock(TimePoint clock);

  // Looks at the model between two commands.
  void inspect(const std::function<void(const ReferenceQueue&)>& look);

 private:
  struct Call {
    Command command;
    Context context;
    Done done;
    std::string said;
    TimePoint until{};  // how long it waits
  };
  struct Watcher {
    EventFilter filter;
    EventSink sink;
  };

  void serve();
  void answer(Call call);
  void try_waiting();
  Answer ask(const Call& call);
  bool try_answer(Call& call, bool last);
  void tell_watchers();
  void run_on_thread(std::function<void()> work);

  const Limits limits_;
  UuidSource ids_;

  // Only on the thread.
  ReferenceQueue queue_;
  TimePoint clock_{};
  std::vector<Call> waiting_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;  // guarded by mutex_
  std::deque<Call> unanswered_;             // guarded by mutex_
  bool stopping_ = false;                   // guarded by mutex_

  std::mutex watchers_mutex_;
  std::map<std::uint64_t, Watcher> watchers_;  // guarded by watchers_mutex_
  std::uint64_t watcher_numbers_ = 0;          // guarded by watchers_mutex_

  std::thread thread_;  // the last: it uses all the others
};

}  // namespace retsu
