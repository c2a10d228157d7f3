// A queue in memory and a worker on it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "broker/memory/memory_broker.h"
#include "worker/outcomes.h"
#include "worker/worker.h"

namespace retsu {

// Something that happens once, waited for by others.
class Moment {
 public:
  void come() {
    const std::lock_guard lock(mutex_);
    has_come_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] bool wait(std::chrono::milliseconds patience = std::chrono::seconds(30)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [this] { return has_come_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_come_ = false;
};

// Waits until a run is told to stop. False: it was not.
inline bool is_told_to_stop(const worker::Run& run) {
  Moment told;
  const std::stop_callback on_stop(run.stop(), [&] { told.come(); });
  return told.wait();
}

class WorkerTest : public testing::Test {
 protected:
  ~WorkerTest() override { stop(); }

  template <class Op>
  typename Op::Reply must(Op op) {
    auto reply = call(queue_, std::move(op));
    EXPECT_TRUE(reply) << reply.error().message;
    return reply ? *std::move(reply) : typename Op::Reply();
  }

  void push(NewTask task) { must(Push{.tasks = {std::move(task)}}); }
  // When it has ended.
  Task ended(const std::string& id) {
    constexpr Millis kPatience{30'000};
    Task task = must(GetTask{.id = id, .wait_ms = kPatience.count()});
    EXPECT_TRUE(is_ended(task.state)) << id << " has not ended";
    return task;
  }

  // On a thread of its own, until stop(), with `settings_`.
  void start(worker::Handler handler) { start(queue_, std::move(handler)); }
  void start(Broker& broker, worker::Handler handler) {
    worker_ = std::make_unique<worker::Worker>(broker, settings_);
    if (handler) worker_->handle("", std::move(handler));
    thread_ = std::jthread([this] { ran_ = worker_->run(finish_.get_token(), now_.get_token()); });
  }
  void wait_for_the_end() {
    if (thread_.joinable()) thread_.join();
  }
  void stop() {
    now_.request_stop();
    wait_for_the_end();
  }

  MemoryBroker queue_{Limits(), MemoryBroker::system_clock()};
  worker::Settings settings_;
  std::unique_ptr<worker::Worker> worker_;
  std::stop_source finish_;
  std::stop_source now_;
  Status ran_;
  std::jthread thread_;
};

}  // namespace retsu
