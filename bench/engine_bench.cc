#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/check.h"
#include "base/uuid.h"
#include "bench.h"
#include "engine/engine.h"

// The engine alone: what a push, a claim and a finish cost as users and backlog grow, and what a
// waiting task costs in memory.
namespace retsu::bench {
namespace {

constexpr std::int64_t kBatch = 100;
constexpr std::int64_t kMeasured = 200'000;
constexpr TimePoint kStart{Millis{1'800'000'000'000}};

const std::string kPayload = "\"" + std::string(126, 'x') + "\"";  // 128 bytes

struct Cost {
  std::int64_t users = 0;
  std::int64_t tasks = 0;
  std::int64_t named = 0;  // users that a claim names; 0: it serves all
  double push_ns = 0;
  double claim_ns = 0;
  double finish_ns = 0;
  double bytes = 0;
};

class Load {
 public:
  explicit Load(std::int64_t users) : users_(users) {}

  Push push(std::int64_t tasks) {
    Push command;
    for (std::int64_t i = 0; i < tasks; ++i) {
      NewTask& task = command.tasks.emplace_back();
      task.id = ids_.next(clock);
      task.id_generated = true;
      task.user = "user-" + std::to_string(next_user_++ % users_);
      task.payload = payload;
    }
    return command;
  }

  Claim claim(std::int64_t named) {
    Claim command;
    command.claim_id = "claim-" + std::to_string(++claims_);
    command.max = kBatch;
    for (std::int64_t i = 0; i < named; ++i)
      command.users.push_back("user-" + std::to_string((claims_ * named + i) % users_));
    return command;
  }

  TimePoint clock = kStart;
  Json payload = kPayload;

 private:
  std::int64_t users_;
  std::int64_t next_user_ = 0;
  std::int64_t claims_ = 0;
  UuidSource ids_{1};
};

template <class Op>
typename Op::Reply must(Engine& engine, const Op& op, TimePoint clock) {
  auto reply = engine.apply(op, clock);
  RETSU_CHECK(reply.has_value());
  return std::get<typename Op::Reply>(std::move(*reply));
}

Cost measure(std::int64_t users, std::int64_t tasks, std::int64_t named = 0) {
  Engine engine;
  Load load(users);
  Cost cost{users, tasks, named};
  const std::int64_t before = heap_bytes();
  const std::int64_t measured = std::min(tasks, kMeasured);
  const auto push_some = [&](std::int64_t how_many, double& spent) {
    for (std::int64_t i = 0; i < how_many; i += kBatch) {
      const Push command = load.push(std::min(kBatch, how_many - i));
      load.clock += Millis(1);
      spent += seconds([&] {
        must(engine, command, load.clock);
        engine.take_changes();
      });
    }
  };
  double filling = 0;
  push_some(tasks - measured, filling);
  double pushing = 0;
  push_some(measured, pushing);
  cost.push_ns = pushing * 1e9 / static_cast<double>(measured);
  // The payload is one text shared by all here, as it is on disk beyond the memory budget.
  cost.bytes = static_cast<double>(heap_bytes() - before) / static_cast<double>(tasks);

  double claiming = 0;
  double finishing = 0;
  std::int64_t done = 0;
  while (done < measured) {
    load.clock += Millis(1);
    const Claim claim = load.claim(named);
    ClaimReply claimed;
    claiming += seconds([&] {
      claimed = must(engine, claim, load.clock);
      engine.take_changes();
    });
    Settle settle;
    settle.claim_id = claim.claim_id;
    for (const ClaimedTask& task : claimed.tasks) {
      settle.results.emplace_back();
      settle.results.back().id = task.id;
      settle.results.back().fence = task.fence;
    }
    finishing += seconds([&] {
      must(engine, settle, load.clock);
      engine.take_changes();
    });
    done += std::ssize(claimed.tasks);
    if (claimed.tasks.empty()) break;
  }
  cost.claim_ns = claiming * 1e9 / static_cast<double>(done);
  cost.finish_ns = finishing * 1e9 / static_cast<double>(done);
  return cost;
}

void print(const std::vector<Cost>& costs) {
  double slowest = 0;
  for (const Cost& cost : costs)
    slowest = std::max(slowest, cost.push_ns + cost.claim_ns + cost.finish_ns);
  fmt::print("{:>9} {:>9} {:>9} {:>9} {:>9} {:>10} {:>12}  whole lifecycle\n", "users", "waiting",
             "named", "push ns", "claim ns", "finish ns", "bytes/task");
  for (const Cost& cost : costs) {
    const double whole = cost.push_ns + cost.claim_ns + cost.finish_ns;
    fmt::print("{:>9} {:>9} {:>9} {:>9.0f} {:>9.0f} {:>10.0f} {:>12.0f}  {} {:.0f} ns\n",
               count(cost.users), count(cost.tasks), cost.named == 0 ? "all" : count(cost.named),
               cost.push_ns, cost.claim_ns, cost.finish_ns, cost.bytes, bar(whole / slowest),
               whole);
  }
}

double claim_spread(const std::vector<Cost>& costs) {
  const auto [least, most] = std::ranges::minmax(costs, {}, &Cost::claim_ns);
  return most.claim_ns / least.claim_ns;
}

void run(const Options& options) {
  std::vector<Cost> costs;
  measure(10, 100'000);  // warms up
  for (const std::int64_t tasks : {1'000, 10'000, 100'000, 1'000'000, 10'000'000}) {
    if (tasks > options.most_tasks) continue;
    costs.push_back(measure(10, tasks));
  }
  for (const std::int64_t users : {100, 1'000, 10'000, 100'000}) {
    costs.push_back(measure(users, std::min<std::int64_t>(1'000'000, options.most_tasks)));
  }
  print(costs);
  fmt::print("\nclaim: dearest against cheapest {:.1f} × (goal: within 4 ×)\n",
             claim_spread(costs));
  const auto largest = std::ranges::max_element(costs, {}, &Cost::tasks);
  fmt::print("memory per waiting task at {}: {:.0f} bytes (goal: at most 200, payloads apart)\n",
             count(largest->tasks), largest->bytes);

  // A claim reads the names that it is given, so naming more costs more; what it costs to choose
  // among them must not.
  fmt::print("\nclaims that name users:\n");
  std::vector<Cost> naming;
  for (const std::int64_t named : {1, 10, 100, 1'000}) {
    const std::int64_t tasks = std::min<std::int64_t>(1'000'000, options.most_tasks);
    naming.push_back(measure(1'000, tasks, named));
  }
  print(naming);
}

}  // namespace

const Suite kEngineSuite = {
    "engine", "cost of push, claim and finish in the engine alone, batches of 100", run};

}  // namespace retsu::bench
