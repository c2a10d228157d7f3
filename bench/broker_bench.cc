#include <fmt/format.h>

#include <thread>

#include "base/check.h"
#include "bench.h"
#include "broker/memory/memory_broker.h"

// Whole lifecycles through the one seam, with validation, threads and answers, but no disk.
namespace retsu::bench {
namespace {

constexpr int kClients = 4;
constexpr int kUsers = 10;

double lifecycles_per_second(std::int64_t batch, std::int64_t tasks) {
  MemoryBroker broker({}, MemoryBroker::system_clock());
  const std::string payload = "\"" + std::string(126, 'x') + "\"";
  const double spent = seconds([&] {
    std::vector<std::thread> clients;
    for (int client = 0; client < kClients; ++client) {
      clients.emplace_back([&, client] {
        for (std::int64_t done = 0; done < tasks / kClients; done += batch) {
          Push push;
          for (std::int64_t i = 0; i < batch; ++i) {
            NewTask& task = push.tasks.emplace_back();
            task.user = "user-" + std::to_string((done + i + client) % kUsers);
            task.payload = payload;
          }
          RETSU_CHECK(call(broker, std::move(push)));
          Claim claim;
          claim.max = batch;
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
  return static_cast<double>(tasks) / spent;
}

void run(const Options&) {
  std::vector<std::pair<std::int64_t, double>> figures;
  for (const std::int64_t batch : {1, 10, 100, 1'000}) {
    figures.emplace_back(batch, lifecycles_per_second(batch, batch == 1 ? 40'000 : 400'000));
  }
  const double best = std::max_element(figures.begin(), figures.end(), [](auto& a, auto& b) {
                        return a.second < b.second;
                      })->second;
  fmt::print("{:>6} {:>14}\n", "batch", "lifecycles/s");
  for (const auto& [batch, rate] : figures) {
    fmt::print("{:>6} {:>14.0f}  {}\n", batch, rate, bar(rate / best));
  }
}

}  // namespace

const Suite kBrokerSuite = {
    "memory",
    "whole lifecycles (push, claim, finish) through the in-memory broker, 4 client threads", run};

}  // namespace retsu::bench
