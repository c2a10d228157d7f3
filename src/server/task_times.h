// How long tasks wait and run, by queue.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/histogram.h"
#include "broker/broker.h"

namespace retsu::server {

// Listens to a broker from its beginning on. Readable from any thread.
class TaskTimes {
 public:
  explicit TaskTimes(Broker& broker);  // which outlives it

  struct OfQueue {
    Histogram waited;                               // from QUEUED to STARTED
    Histogram ran;                                  // from STARTED to whatever came then
    std::atomic<std::uint64_t> retry_failures = 0;  // dead letters after more than one attempt
  };
  // With the name of each queue of which something was heard.
  void for_each(const std::function<void(const std::string&, const OfQueue&)>& call) const;

 private:
  void take(const TaskEvent& event);

  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<OfQueue>> queues_;
  const Subscription subscription_;
};

}  // namespace retsu::server
