// Collects what a broker tells its watchers.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "broker/broker.h"
#include "conformance/answers.h"

namespace retsu::conformance {

// Must not outlive the broker.
class EventLog {
 public:
  explicit EventLog(Broker& broker, EventFilter filter = {}) {
    subscription_ = broker.watch(std::move(filter), [this](EventBatch batch) {
      const std::lock_guard lock(mutex_);
      missed_ += batch.missed;
      std::move(batch.events.begin(), batch.events.end(), std::back_inserter(events_));
      arrived_.notify_all();
    });
  }
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // All events so far, up to the one in which task `id` entered `state`, which must come soon.
  std::vector<TaskEvent> up_to(const std::string& id, std::optional<State> state) {
    std::unique_lock lock(mutex_);
    const auto is_last = [&](const TaskEvent& event) {
      return event.id == id && event.to == state;
    };
    auto last = events_.end();
    const bool came = arrived_.wait_for(lock, std::chrono::seconds(10), [&] {
      last = std::find_if(events_.begin(), events_.end(), is_last);
      return last != events_.end();
    });
    if (!came) throw Unexpected("the event of " + id + " does not come");
    return {events_.begin(), last + 1};
  }

  std::uint64_t missed() {
    const std::lock_guard lock(mutex_);
    return missed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<TaskEvent> events_;
  std::uint64_t missed_ = 0;
  Subscription subscription_;  // the last: ends before what its sink uses
};

}  // namespace retsu::conformance
