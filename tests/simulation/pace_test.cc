// A million runs by workers that die, sleep past their lease, and answer late and twice, watched
// from outside: no limit is overshot, none leaks, nothing finished comes back, no two hold one
// task.

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "deep.h"
#include "simulation/driver.h"

namespace retsu::simulation {
namespace {

constexpr std::int64_t kRuns = kSanitized ? 50'000 : 1'000'000;
constexpr int kUsers = 3'000;

std::map<std::string, QueuePolicy> policies() {
  std::map<std::string, QueuePolicy> made;
  made["free"];
  made["narrow"].concurrency = 7;
  made["spaced"].interval_ms = 40;
  made["rated"].rate = Rate{50, 1'000, 9};
  made["held"].concurrency = 40;
  made["held"].breaker = Breaker{4};
  made["mixed"].concurrency = 25;
  made["mixed"].rate = Rate{400, 1'000, 40};
  for (auto& [name, policy] : made) {
    policy.lease_ms = 2'000;
    policy.timeout_ms = 3'000;
    policy.retry.max_attempts = 4;
    policy.throttle_ms = 100;
  }
  return made;
}

// What somebody outside can know of a queue's runs.
struct Watched {
  QueuePolicy policy;
  std::int64_t pushed = 0;
  std::int64_t started = 0;
  std::int64_t open = 0;
  std::map<std::string, std::int64_t> open_of_user;
  TimePoint last_end = TimePoint::min();
  double tokens = 0;
  TimePoint tokens_at = kStart;
  TimePoint hold_until = TimePoint::min();
};

struct SimulatedRun {
  std::string queue;
  std::string user;
  std::string task;
  std::int64_t fence = 0;
  TimePoint lease_until;
  bool open = true;
};

constexpr std::int64_t kUserCap = 3;

class World {
 public:
  World(Driver& driver, int workers) : driver_(driver) {
    for (const auto& [name, policy] : policies()) {
      driver_.must(PutQueue{name, policy});
      names_.push_back(name);
      watched_[name].policy = policy;
      if (policy.rate) watched_[name].tokens = static_cast<double>(policy.rate->capacity());
    }
    for (int i = 0; i < kUsers; i += 10) {
      driver_.must(PutUser{user(i), "mixed", {.weight = 2, .max_running = kUserCap}});
    }
    for (int i = 0; i < workers; ++i) later(Millis(random_() % 1'000), [this] { look_for_work(); });
  }

  void run(std::int64_t runs) {
    while (started_ < runs && !testing::Test::HasFatalFailure()) step();
    ending_ = true;
    while (!testing::Test::HasFatalFailure()) {
      const StatsReply stats = driver_.must(Stats{});
      if (stats.tasks.at("SCHEDULED") + stats.tasks.at("QUEUED") + stats.tasks.at("STARTED") == 0)
        break;
      for (int i = 0; i < 10'000; ++i) step();
    }
  }

  // When all is over: every permit is back, every task has ended once.
  void expect_no_leak() {
    driver_.clock += Millis(10'000);
    driver_.settle_down();
    for (const QueueInfo& queue : driver_.must(ListQueues{}).queues) {
      EXPECT_EQ(queue.running, 0) << queue.queue;
    }
    const auto counters = driver_.must(Stats{}).counters;
    EXPECT_EQ(counters.at("pushed"),
              counters.at("finished") + counters.at("failed") + counters.at("canceled"));
  }

  // Else nothing was proved.
  void expect_all_fates() {
    const auto counters = driver_.must(Stats{}).counters;
    EXPECT_GT(counters.at("lease_expired"), 0);
    EXPECT_GT(counters.at("timed_out"), 0);
    EXPECT_GT(counters.at("throttled"), 0);
    EXPECT_GT(counters.at("poisoned"), 0);
    EXPECT_GT(late_, 0);
    EXPECT_GT(twice_, 0);
  }

 private:
  using Happening = std::function<void()>;
  using Held = std::shared_ptr<const ClaimReply>;
  struct Later {
    TimePoint at;
    std::uint64_t number;
    Happening happen;
    bool operator<(const Later& other) const {
      return std::tie(at, number) > std::tie(other.at, other.number);
    }
  };

  static std::string user(std::uint64_t i) { return "user-" + std::to_string(i); }

  void later(Millis delay, Happening happen) {
    agenda_.push({driver_.clock + delay, ++scheduled_, std::move(happen)});
  }

  void step() {
    const Later next = std::move(const_cast<Later&>(agenda_.top()));
    agenda_.pop();
    driver_.clock = std::max(driver_.clock, next.at);
    next.happen();
  }

  // Noisy users push much, most push little; no queue gets far behind.
  void push_some() {
    Push push;
    const std::string& queue = names_[random_() % names_.size()];
    const std::uint64_t tasks = watched_[queue].pushed - watched_[queue].started < 400 ? 30 : 0;
    if (tasks == 0) return;
    watched_[queue].pushed += static_cast<std::int64_t>(tasks);
    for (std::uint64_t i = 0; i < tasks; ++i) {
      NewTask& task = push.tasks.emplace_back();
      task.queue = queue;
      task.user = user(random_() % (random_() % 2 == 0 ? 5 : kUsers));
      task.priority.value = 1 + static_cast<int>(random_() % 6);
      if (random_() % 20 == 0) task.run_at = driver_.clock + Millis(random_() % 3'000);
    }
    driver_.must(std::move(push));
  }

  void look_for_work() {
    if (!ending_) push_some();
    Claim claim;
    claim.queues = {names_[random_() % names_.size()]};
    if (random_() % 3 == 0) claim.queues.push_back(names_[random_() % names_.size()]);
    if (claim.queues.size() == 2 && claim.queues[0] == claim.queues[1]) claim.queues.pop_back();
    claim.max = 1 + static_cast<std::int64_t>(random_() % 8);
    const auto claimed = std::make_shared<const ClaimReply>(driver_.must(std::move(claim)));
    end_leases();
    for (const ClaimedTask& task : claimed->tasks) watch_start(task, *claimed->lease_until);
    if (claimed->tasks.empty()) {
      later(Millis(random_() % 200), [this] { look_for_work(); });
    } else {
      live(claimed);
    }
  }

  // What becomes of a worker with its claim.
  void live(const Held& claimed) {
    const std::uint64_t fate = ending_ ? 0 : random_() % 100;
    const Millis soon(random_() % 60);
    const Millis too_late(2'000 + random_() % 3'000);
    const auto again = [this] { later(Millis(1'000), [this] { look_for_work(); }); };
    if (fate < 70) {
      later(soon, [this, claimed] {
        answer(claimed);
        look_for_work();
      });
    } else if (fate < 76) {
      again();  // dies, and is started anew
    } else if (fate < 82) {
      later(too_late, [this, claimed] {
        ++late_;
        answer(claimed);
        look_for_work();
      });
    } else if (fate < 88) {
      later(soon, [this, claimed] {
        answer(claimed);
        later(Millis(random_() % 4'000), [this, claimed] {
          ++twice_;
          answer(claimed);
        });
        look_for_work();
      });
    } else if (fate < 92) {
      later(soon, [this, claimed] {
        driver_.must(ReleaseClaim{claimed->claim_id});
        for (const ClaimedTask& task : claimed->tasks) watch_end(task.fence);
        look_for_work();
      });
    } else if (fate < 96) {
      later(Millis(1'500), [this, claimed] { beat(claimed); });
      later(too_late, [this, claimed] {
        answer(claimed);
        look_for_work();
      });
    } else {
      later(soon, [this, claimed] {
        for (const ClaimedTask& task : claimed->tasks) {
          if (driver_.ask(CancelTask{task.id})) canceled_.insert(task.id);
        }
      });
      later(soon + Millis(random_() % 3'000), [this, claimed] {
        answer(claimed);
        look_for_work();
      });
    }
  }

  void beat(const Held& claimed) {
    const auto extended = driver_.ask(Extend{claimed->claim_id, {}, {}});
    end_leases();
    if (!extended) return;
    for (const ClaimedTask& task : claimed->tasks) {
      SimulatedRun& run = runs_.at(task.fence);
      if (!run.open) continue;
      leases_.erase({run.lease_until, task.fence});
      run.lease_until = *extended->lease_until;
      leases_.emplace(run.lease_until, task.fence);
    }
  }

  void answer(const Held& claimed) {
    for (const ClaimedTask& task : claimed->tasks) {
      Settle settle{claimed->claim_id, {}, {}};
      SettleOne& how = settle.results.emplace_back();
      how.id = task.id;
      how.fence = task.fence;
      const std::uint64_t luck = ending_ ? 99 : static_cast<std::uint64_t>(task.fence) * 7919 % 100;
      how.outcome = luck < 10 ? Outcome::kFail : luck < 13 ? Outcome::kThrottle : Outcome::kFinish;
      if (luck == 11) how.retry_after_ms = 250;
      const Outcome outcome = how.outcome;
      const auto named = how.retry_after_ms;
      const auto reply = driver_.ask(std::move(settle));
      end_leases();
      SimulatedRun& run = runs_.at(task.fence);
      const bool ok = reply && reply->results.at(0).ok;
      if (ok && run.open) {
        ASSERT_EQ(fences_[task.id], task.fence) << "an old fence was accepted for " << task.id;
        ASSERT_FALSE(canceled_.contains(task.id)) << task.id << " was canceled";
        if (outcome == Outcome::kFinish) finished_.insert(task.id);
        if (outcome == Outcome::kThrottle) {
          Watched& queue = watched_[run.queue];
          queue.hold_until =
              std::max(queue.hold_until, driver_.clock + Millis(named.value_or(100)));
        }
      }
      watch_end(task.fence);
    }
  }

  void watch_start(const ClaimedTask& task, TimePoint lease_until) {
    ++started_;
    Watched& queue = watched_.at(task.queue);
    const TimePoint now = driver_.clock;
    const QueuePolicy& policy = queue.policy;
    ASSERT_FALSE(finished_.contains(task.id)) << task.id << " runs after it finished";
    ASSERT_GT(task.fence, fences_[task.id]);
    ASSERT_GE(now, queue.hold_until) << task.queue << " starts while it is held";
    if (policy.concurrency) {
      ASSERT_LT(queue.open, *policy.concurrency) << task.queue;
    }
    if (policy.interval_ms > 0) {
      ASSERT_EQ(queue.open, 0);
      if (queue.last_end != TimePoint::min()) {
        ASSERT_GE(now - queue.last_end, Millis(policy.interval_ms));
      }
    }
    if (policy.rate) {
      const double gained = static_cast<double>((now - queue.tokens_at).count()) *
                            static_cast<double>(policy.rate->limit) /
                            static_cast<double>(policy.rate->per_ms);
      queue.tokens =
          std::min(static_cast<double>(policy.rate->capacity()), queue.tokens + gained) - 1;
      queue.tokens_at = now;
      ASSERT_GE(queue.tokens, -1e-6) << task.queue << " starts faster than its rate";
    }
    if (task.queue == "mixed" && std::stoul(task.user.substr(5)) % 10 == 0) {
      ASSERT_LT(queue.open_of_user[task.user], kUserCap);
    }
    ++queue.started;
    ++queue.open;
    ++queue.open_of_user[task.user];
    fences_[task.id] = task.fence;
    runs_[task.fence] = {task.queue, task.user, task.id, task.fence, lease_until, true};
    leases_.emplace(lease_until, task.fence);
  }

  void watch_end(std::int64_t fence) { end(fence, driver_.clock); }

  void end(std::int64_t fence, TimePoint at) {
    SimulatedRun& run = runs_.at(fence);
    if (!run.open) return;
    run.open = false;
    leases_.erase({run.lease_until, fence});
    Watched& queue = watched_.at(run.queue);
    --queue.open;
    --queue.open_of_user[run.user];
    queue.last_end = std::max(queue.last_end, at);
  }

  void end_leases() {
    while (!leases_.empty() && leases_.begin()->first <= driver_.clock) {
      end(leases_.begin()->second, leases_.begin()->first);
    }
  }

  Driver& driver_;
  std::mt19937_64 random_{2030};
  std::vector<std::string> names_;
  std::priority_queue<Later> agenda_;
  std::uint64_t scheduled_ = 0;
  std::int64_t started_ = 0;
  std::int64_t late_ = 0;
  std::int64_t twice_ = 0;
  bool ending_ = false;

  std::map<std::string, Watched> watched_;
  std::unordered_map<std::int64_t, SimulatedRun> runs_;  // by fence
  std::set<std::pair<TimePoint, std::int64_t>> leases_;
  std::unordered_map<std::string, std::int64_t> fences_;
  std::unordered_set<std::string> finished_;
  std::unordered_set<std::string> canceled_;
};

TEST(Pace, UnderDyingLateAndDoubleAnsweringWorkersNothingIsOvershotOrLeaks) {
  EngineDriver driver;
  World world(driver, 1'000);
  world.run(kRuns);
  world.expect_no_leak();
  world.expect_all_fates();
}

TEST(Pace, IsKeptThoughThePowerFails) {
  StoreDriver driver(500);
  World world(driver, 100);
  world.run(kSanitized ? 2'000 : deep() ? 25'000 : 5'000);
  world.expect_no_leak();
  EXPECT_GT(driver.losses(), 5);
}

}  // namespace
}  // namespace retsu::simulation
