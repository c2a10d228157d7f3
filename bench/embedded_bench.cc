#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/sqlite.h"
#include "base/temporary_directory.h"
#include "bench.h"
#include "broker/embedded/embedded_broker.h"
#include "cli/lifecycles.h"

// The embedded broker, every answer synced, beside the bare loop that only writes the same groups.
namespace retsu::bench {
namespace {

// A journal and nothing else: a blob row for each group, synced, the oldest deleted.
class BareJournal {
 public:
  BareJournal()
      : folder_(".")  // on the disk that is being measured
  {
    auto opened = sqlite::Database::open(folder_.path() + "/bare.db",
                                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    RETSU_CHECK(opened.has_value());
    database_.emplace(std::move(*opened));
    RETSU_CHECK(database_->execute(
        "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "PRAGMA secure_delete = OFF;"
        "CREATE TABLE journal (number INTEGER PRIMARY KEY, changes BLOB)"));
    begin_ = *database_->prepare("BEGIN IMMEDIATE");
    add_ = *database_->prepare("INSERT INTO journal VALUES (?, ?)");
    drop_ = *database_->prepare("DELETE FROM journal WHERE number = ?");
    commit_ = *database_->prepare("COMMIT");
  }

  void commit(std::string_view group) {
    constexpr std::int64_t kKept = 100;
    ++number_;
    RETSU_CHECK(begin_.run());
    add_.bind(1, number_);
    add_.bind_blob(2, group);
    RETSU_CHECK(add_.run());
    drop_.bind(1, number_ - kKept);
    RETSU_CHECK(drop_.run());
    RETSU_CHECK(commit_.run());
  }

 private:
  const TemporaryDirectory folder_;
  std::optional<sqlite::Database> database_;
  sqlite::Statement begin_;
  sqlite::Statement add_;
  sqlite::Statement drop_;
  sqlite::Statement commit_;
  std::int64_t number_ = 0;
};

// Seconds for so many groups of so many bytes, one after the other.
double bare_loop(std::uint64_t groups, std::uint64_t bytes) {
  BareJournal journal;
  const std::string blob(bytes, 'x');
  return seconds([&] {
    for (std::uint64_t i = 0; i < groups; ++i) journal.commit(blob);
  });
}

// Seconds for as many calls as the load has, of so many bytes each, by as many client threads that
// wait for each: what has come goes as one group. The least that a journal costs its callers.
double bare_loop_with_clients(const Load& load, std::uint64_t bytes) {
  BareJournal journal;
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t come = 0;     // calls
  std::uint64_t written = 0;  // of them
  int running = load.clients;
  const std::int64_t calls = 3 * load.tasks / load.batch / load.clients;
  return seconds([&] {
    std::vector<std::jthread> clients;
    for (int client = 0; client < load.clients; ++client) {
      clients.emplace_back([&] {
        std::unique_lock lock(mutex);
        for (std::int64_t i = 0; i < calls; ++i) {
          const std::uint64_t mine = ++come;
          changed.notify_all();
          changed.wait(lock, [&] { return written >= mine; });
        }
        --running;
        changed.notify_all();
      });
    }
    std::string group;
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return come > written || running == 0; });
      if (come == written) return;
      const std::uint64_t until = come;
      group.resize((until - written) * bytes, 'x');
      lock.unlock();
      journal.commit(group);
      lock.lock();
      written = until;
      changed.notify_all();
    }
  });
}

struct Figure {
  double rate = 0;
  std::uint64_t groups = 0;
  std::uint64_t bytes = 0;
};

Figure measure(const Load& load, std::int64_t backlog = 0, std::int64_t backlog_users = 10) {
  const TemporaryDirectory folder(".");  // on the disk that is being measured
  auto broker = EmbeddedBroker::open(folder.path());
  RETSU_CHECK(broker.has_value());
  RETSU_CHECK(push_backlog(**broker, backlog, backlog_users));
  const std::uint64_t groups = (*broker)->figures().groups;
  const std::uint64_t bytes = (*broker)->figures().journal_bytes;
  const auto rate = lifecycles_per_second(**broker, load);
  RETSU_CHECK(rate.has_value());
  return {*rate, (*broker)->figures().groups - groups, (*broker)->figures().journal_bytes - bytes};
}

struct Goal {
  std::int64_t batch;
  double rate;
};
constexpr Goal kGoals[] = {{100, 60'000}, {1'000, 100'000}};
constexpr double kShare = 0.5;         // of the bare loop
constexpr double kBacklogShare = 0.7;  // of the speed without one

const char* verdict(bool met) { return met ? "met" : "missed"; }

void print_goals(std::int64_t batch, double rate, double share) {
  const auto* const goal = std::ranges::find(kGoals, batch, &Goal::batch);
  if (goal == std::end(kGoals)) return;
  fmt::print("goals at {}: {:.0f}/s {}; {:.0f} % of the bare loop {}\n", batch, goal->rate,
             verdict(rate >= goal->rate), 100 * kShare, verdict(share >= kShare));
}

constexpr int kRounds = 3;  // in turns, as the machine may be faster now than in a minute

void run(const Options& options) {
  fmt::print("{:>6} {:>6} {:>14} {:>12} {:>10} {:>14} {:>8} {:>16} {:>8}\n", "batch", "round",
             "lifecycles/s", "bytes each", "groups", "bare loop/s", "share", "with clients/s",
             "share");
  const auto print = [](std::int64_t batch, const std::string& round, const Figure& figure,
                        std::uint64_t bytes_each, double bare, double shared) {
    fmt::print("{:>6} {:>6} {:>14.0f} {:>12} {:>10} {:>14.0f} {:>7.0f}% {:>16.0f} {:>7.0f}%  {}\n",
               batch, round, figure.rate, bytes_each, figure.groups, bare, 100 * figure.rate / bare,
               shared, 100 * figure.rate / shared, bar(figure.rate / bare));
    std::fflush(stdout);
  };
  for (const std::int64_t batch : {1, 10, 100, 1'000}) {
    if (options.only_batch != 0 && batch != options.only_batch) continue;
    // Where that does not take minutes, so many that rows reach the tables and leave them again.
    const Load load{.batch = batch, .tasks = std::min<std::int64_t>(20'000 * batch, 2'000'000)};
    const auto tasks = static_cast<std::uint64_t>(load.tasks);
    Figure mean;
    double mean_bare = 0;
    double mean_shared = 0;
    for (int round = 1; round <= kRounds; ++round) {
      const Figure figure = measure(load);
      const double bare =
          static_cast<double>(tasks) / bare_loop(figure.groups, figure.bytes / figure.groups);
      const std::uint64_t call_bytes = figure.bytes * static_cast<std::uint64_t>(batch) / tasks / 3;
      const double shared = static_cast<double>(tasks) / bare_loop_with_clients(load, call_bytes);
      print(batch, std::to_string(round), figure, figure.bytes / tasks, bare, shared);
      mean.rate += figure.rate / kRounds;
      mean.groups += figure.groups / kRounds;
      mean.bytes += figure.bytes / kRounds;
      mean_bare += bare / kRounds;
      mean_shared += shared / kRounds;
    }
    print(batch, "mean", mean, mean.bytes / tasks, mean_bare, mean_shared);
    print_goals(batch, mean.rate, mean.rate / mean_bare);
  }
}

void run_backlog(const Options& options) {
  const std::int64_t most = std::min<std::int64_t>(options.most_tasks, 1'000'000);
  const Load through{.tasks = most};
  double few = 0;
  double many = 0;
  fmt::print("{:>6} {:>24} {:>26} {:>8}\n", "round", count(most / 100) + " of 10 users/s",
             count(most) + " of 100,000 users/s", "share");
  for (int round = 1; round <= kRounds; ++round) {
    const double of_few = measure(through, most / 100, 10).rate;
    const double of_many = measure(through, most, 100'000).rate;
    few += of_few / kRounds;
    many += of_many / kRounds;
    fmt::print("{:>6} {:>24.0f} {:>26.0f} {:>7.0f}%\n", round, of_few, of_many,
               100 * of_many / of_few);
    std::fflush(stdout);
  }
  fmt::print("{:>6} {:>24.0f} {:>26.0f} {:>7.0f}%  {}\n", "mean", few, many, 100 * many / few,
             bar(many / few));
  fmt::print("goal: {:.0f} % {}\n", 100 * kBacklogShare, verdict(many / few >= kBacklogShare));
}

}  // namespace

const Suite kEmbeddedSuite = {
    "embedded",
    "whole lifecycles through the embedded broker, every answer synced, 4 client threads", run};

const Suite kBacklogSuite = {
    "backlog", "the same while many tasks of many users wait, against few of few", run_backlog};

}  // namespace retsu::bench
