#include "server/task_times.h"

namespace retsu::server {

TaskTimes::TaskTimes(Broker& broker)
    : subscription_(broker.watch({}, [this](const EventBatch& batch) {
        for (const TaskEvent& event : batch.events) take(event);
      })) {}

void TaskTimes::for_each(
    const std::function<void(const std::string&, const OfQueue&)>& call) const {
  std::vector<std::pair<std::string, const OfQueue*>> all;  // none ever goes
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, queue] : queues_) all.emplace_back(name, queue.get());
  }
  for (const auto& [name, queue] : all) call(name, *queue);
}

void TaskTimes::take(const TaskEvent& event) {
  if (!event.took_ms || !event.to) return;
  const bool has_waited = event.from == State::kQueued && event.to == State::kStarted;
  const bool has_run = event.from == State::kStarted;
  if (!has_waited && !has_run) return;
  const std::lock_guard lock(mutex_);
  auto& queue = queues_[event.queue];
  if (!queue) queue = std::make_unique<OfQueue>();
  (has_run ? queue->ran : queue->waited).add(Millis(*event.took_ms));
  if (event.to == State::kFailed && event.attempt > 1) ++queue->retry_failures;
}

}  // namespace retsu::server
