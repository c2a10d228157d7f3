#include "lifecycles.h"

#include <algorithm>
#include <thread>

#include "base/check.h"
#include "bench.h"

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

}  // namespace

double lifecycles_per_second(Broker& broker, const Load& load) {
  const double spent = seconds([&] {
    std::vector<std::thread> clients;
    for (int client = 0; client < load.clients; ++client) {
      clients.emplace_back([&, client] {
        for (std::int64_t done = 0; done < load.tasks / load.clients; done += load.batch) {
          RETSU_CHECK(call(broker, push_of(load.batch, done + client, load.users)));
          Claim claim;
          claim.max = load.batch;
          const auto claimed = call(broker, std::move(claim));
          RETSU_CHECK(claimed.has_value());
          Settle settle;
          settle.claim_id = claimed->claim_id;
          settle.all = Outcome::kFinish;
          if (!claimed->tasks.empty()) RETSU_CHECK(call(broker, std::move(settle)));
        }
      });
    }
    for (std::thread& client : clients) client.join();
  });
  return static_cast<double>(load.tasks) / spent;
}

void push_backlog(Broker& broker, std::int64_t tasks, std::int64_t users) {
  constexpr std::int64_t kBatch = 1'000;
  for (std::int64_t done = 0; done < tasks; done += kBatch) {
    RETSU_CHECK(call(broker, push_of(std::min(kBatch, tasks - done), done, users)));
  }
}

}  // namespace retsu::bench
