// Many clients send each of their keys three times at once, to a server that is killed again and
// again meanwhile, and go on until all is answered.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "base/temporary_directory.h"
#include "broker/remote/remote_broker.h"
#include "crash/server_process.h"
#include "deep.h"
#include "seed.h"

namespace retsu {
namespace {

using namespace std::chrono_literals;

constexpr int kThreads = 8;
constexpr int kClientsPerThread = 8;
constexpr int kKeys = scaled(1'000, 20);  // of each client
constexpr int kAtOnce = std::min(kKeys, 10);
constexpr int kCopies = 3;
constexpr int kAll = kThreads * kClientsPerThread * kKeys;
constexpr int kKills = 6;

// After which the same key is sent again.
constexpr ErrorCode kPassing[] = {ErrorCode::kUnavailable, ErrorCode::kOutcomeUnknown,
                                  ErrorCode::kShutdown, ErrorCode::kOverloaded,
                                  ErrorCode::kIdempotencyInProgress};

// A push of one task, and what became of it.
struct Copy {
  RemoteBroker* broker;
  std::string key;
  std::string id;  // of the task; empty: not known yet
};

class ManyClients : public testing::Test {
 protected:
  // All of them at once, and those again that were not answered, until all are.
  void send_all(std::vector<Copy>& copies) {
    for (;;) {
      std::vector<Copy*> open;
      for (Copy& copy : copies) {
        if (copy.id.empty()) open.push_back(&copy);
      }
      if (open.empty() || gave_up_) return;
      const auto left = std::make_shared<std::latch>(std::ssize(open));
      for (Copy* const copy : open) send(*copy, left);
      left->wait();
      const bool all =
          std::ranges::none_of(open, [](const Copy* each) { return each->id.empty(); });
      if (!all) std::this_thread::sleep_for(10ms);  // the server is away, for about so long
    }
  }

  void send(Copy& copy, const std::shared_ptr<std::latch>& left) {
    Push push;
    push.tasks.push_back({.payload = Json('"' + copy.key + '"')});
    copy.broker->submit(push, {.idempotency_key = copy.key}, [this, &copy, left](Answer answer) {
      if (answer) {
        copy.id = std::get<PushReply>(*answer).tasks.at(0).id;
        ++answers_;
      } else if (std::ranges::find(kPassing, answer.error().code) != std::end(kPassing)) {
        ++repeats_;
      } else {
        ADD_FAILURE() << copy.key << ": " << answer.error().message;
        gave_up_ = true;
      }
      left->count_down();
    });
  }

  // Clients of one thread: some keys of each at a time.
  void work(int thread, const std::string& url) {
    std::vector<std::unique_ptr<RemoteBroker>> clients;
    for (int i = 0; i < kClientsPerThread; ++i) {
      // Half of them repeat by themselves what fails, and half leave it to us.
      const Retry retry{.base_ms = 20, .max_attempts = i % 2 == 0 ? 5 : 1};
      clients.push_back(std::make_unique<RemoteBroker>(RemoteSettings{.url = url, .retry = retry}));
    }
    for (int first = 0; first < kKeys && !gave_up_; first += kAtOnce) {
      std::vector<Copy> copies;
      for (int client = 0; client < kClientsPerThread; ++client) {
        for (int key = first; key < std::min(first + kAtOnce, kKeys); ++key) {
          for (int i = 0; i < kCopies; ++i) {
            copies.push_back({clients[static_cast<std::size_t>(client)].get(),
                              fmt::format("{}.{}.{}", thread, client, key)});
          }
        }
      }
      send_all(copies);
      const std::lock_guard lock(mutex_);
      for (const Copy& copy : copies) {
        const auto known = ids_.emplace(copy.key, copy.id).first;
        EXPECT_EQ(known->second, copy.id) << copy.key << " stands for two tasks";
      }
    }
  }

  // Kills and restarts it, each time after so many answers.
  void disturb(std::optional<ServerProcess>& server, const std::string& store) {
    std::mt19937_64 dice(seed_of_this_run());
    std::array<int, kKills> moments;
    for (int& moment : moments) moment = static_cast<int>(dice() % (kAll * kCopies * 9 / 10));
    std::ranges::sort(moments);
    const std::string listen = server->url().substr(std::string("http://").size());
    for (const int moment : moments) {
      while (answers_ < moment && !gave_up_) std::this_thread::sleep_for(1ms);
      server.reset();
      std::this_thread::sleep_for(std::chrono::milliseconds(dice() % 50));
      server.emplace(store, listen);
    }
  }

  static std::map<std::string, std::string> stored(Broker& broker) {
    std::map<std::string, std::string> payloads;  // by id
    ListTasks list{.limit = 1'000};
    for (;;) {
      const auto page = call(broker, list);
      if (!page) {
        ADD_FAILURE() << page.error().message;
        return payloads;
      }
      for (const Task& task : page->tasks) payloads.emplace(task.id, task.payload.view());
      if (!page->next_cursor) return payloads;
      list.cursor = *page->next_cursor;
    }
  }

  std::atomic<int> answers_ = 0;
  std::atomic<int> repeats_ = 0;
  std::atomic<bool> gave_up_ = false;
  std::mutex mutex_;
  std::map<std::string, std::string> ids_;  // by key
};

TEST_F(ManyClients, GetOneEffectPerKeyThoughTheServerIsKilledInBetween) {
  const TemporaryDirectory store;
  // An address of its own: a client that asks for a port where nobody listens can be given that
  // very port on 127.0.0.1, and keep the server from coming back.
  std::optional<ServerProcess> server(std::in_place, store.path(), "127.0.0.2:0");
  const std::string url = server->url();
  std::array<std::thread, kThreads> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads[static_cast<std::size_t>(i)] = std::thread([&, i] { work(i, url); });
  }
  disturb(server, store.path());
  for (std::thread& each : threads) each.join();
  EXPECT_GT(repeats_, 0) << "no kill met a request";
  EXPECT_EQ(answers_, kAll * kCopies);
  EXPECT_EQ(ids_.size(), static_cast<std::size_t>(kAll));

  RemoteBroker broker({.url = url});
  const auto stats = call(broker, Stats{});
  ASSERT_TRUE(stats) << stats.error().message;
  EXPECT_EQ(stats->counters.at("pushed"), kAll);
  const auto payloads = stored(broker);
  EXPECT_EQ(payloads.size(), static_cast<std::size_t>(kAll));
  for (const auto& [key, id] : ids_) {
    const auto found = payloads.find(id);
    ASSERT_NE(found, payloads.end()) << key << " stands for a task that is not there";
    ASSERT_EQ(found->second, '"' + key + '"');
  }
}

}  // namespace
}  // namespace retsu
