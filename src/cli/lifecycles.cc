#include "cli/lifecycles.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace retsu::bench {
namespace {

Push push_of(std::int64_t tasks, std::int64_t first_user, std::int64_t users) {
  static const std::string kPayload = "\"" + std::string(126, 'x') + "\"";
  Push push;
  for (std::int64_t i = 0; i < tasks; ++i) {
    NewTask& task = push.tasks.emplace_back();
    task.user = "user-" + std::to_string((first_user + i) % users);
    task.payload = kPayload;
  }
  return push;
}

// One batch through its life.
Status live(Broker& broker, std::int64_t batch, std::int64_t first_user, std::int64_t users) {
  if (auto pushed = call(broker, push_of(batch, first_user, users)); !pushed) {
    return tl::unexpected(std::move(pushed.error()));
  }
  Claim claim;
  claim.max = batch;
  auto claimed = call(broker, std::move(claim));
  if (!claimed) return tl::unexpected(std::move(claimed.error()));
  if (claimed->tasks.empty()) return {};
  Settle settle;
  settle.claim_id = claimed->claim_id;
  settle.all = Outcome::kFinish;
  if (auto settled = call(broker, std::move(settle)); !settled) {
    return tl::unexpected(std::move(settled.error()));
  }
  return {};
}

}  // namespace

Result<double> lifecycles_per_second(Broker& broker, const Load& load,
                                     const std::function<void(std::int64_t)>& on_progress) {
  std::mutex mutex;
  std::condition_variable changed;
  int running = load.clients;
  Status outcome;
  std::atomic<std::int64_t> done = 0;
  std::atomic<bool> failed = false;

  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> clients;
  for (int client = 0; client < load.clients; ++client) {
    clients.emplace_back([&, client] {
      Status status;
      const std::int64_t first = load.tasks * client / load.clients;
      const std::int64_t last = load.tasks * (client + 1) / load.clients;
      for (std::int64_t at = first; at < last && status && !failed; at += load.batch) {
        const std::int64_t batch = std::min(load.batch, last - at);
        status = live(broker, batch, at, load.users);
        done += batch;
      }
      const std::lock_guard lock(mutex);
      if (!status) {
        outcome = std::move(status);
        failed = true;
      }
      --running;
      changed.notify_one();
    });
  }
  {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return running == 0; })) {
      if (on_progress) on_progress(done);
    }
  }
  for (std::thread& client : clients) client.join();
  if (!outcome) return tl::unexpected(std::move(outcome.error()));
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  return static_cast<double>(load.tasks) / spent.count();
}

Status push_backlog(Broker& broker, std::int64_t tasks, std::int64_t users) {
  constexpr std::int64_t kBatch = 1'000;
  for (std::int64_t done = 0; done < tasks; done += kBatch) {
    auto pushed = call(broker, push_of(std::min(kBatch, tasks - done), done, users));
    if (!pushed) return tl::unexpected(std::move(pushed.error()));
  }
  return {};
}

}  // namespace retsu::bench
