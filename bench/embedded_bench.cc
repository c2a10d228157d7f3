#include <fmt/format.h>

#include "base/check.h"
#include "base/sqlite.h"
#include "base/temporary_directory.h"
#include "bench.h"
#include "broker/embedded/embedded_broker.h"
#include "cli/lifecycles.h"

// The embedded broker, every answer synced, beside the bare loop that only writes the same groups.
namespace retsu::bench {
namespace {

// Seconds for so many groups of so many bytes: a blob row each, synced, the oldest deleted.
double bare_loop(std::uint64_t groups, std::uint64_t bytes) {
  constexpr std::int64_t kKept = 100;
  const TemporaryDirectory folder(".");  // on the disk that is being measured
  auto database = sqlite::Database::open(folder.path() + "/bare.db",
                                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  RETSU_CHECK(database.has_value());
  RETSU_CHECK(
      database->execute("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = "
                        "FULL; PRAGMA secure_delete = OFF;"
                        "CREATE TABLE journal (number INTEGER PRIMARY KEY, changes BLOB)"));
  auto begin = database->prepare("BEGIN IMMEDIATE");
  auto add = database->prepare("INSERT INTO journal VALUES (?, ?)");
  auto drop = database->prepare("DELETE FROM journal WHERE number = ?");
  auto commit = database->prepare("COMMIT");
  const std::string blob(bytes, 'x');
  return seconds([&] {
    for (std::int64_t number = 1; number <= static_cast<std::int64_t>(groups); ++number) {
      RETSU_CHECK(begin->run());
      add->bind(1, number);
      add->bind_blob(2, blob);
      RETSU_CHECK(add->run());
      drop->bind(1, number - kKept);
      RETSU_CHECK(drop->run());
      RETSU_CHECK(commit->run());
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

void run(const Options& options) {
  fmt::print("{:>6} {:>14} {:>12} {:>10} {:>14} {:>8}\n", "batch", "lifecycles/s", "bytes each",
             "groups", "bare loop/s", "share");
  for (const std::int64_t batch : {1, 10, 100, 1'000}) {
    if (options.only_batch != 0 && batch != options.only_batch) continue;
    const Load load{.batch = batch, .tasks = batch == 1 ? 4'000 : 400'000};
    const Figure figure = measure(load);
    const double bare =
        static_cast<double>(load.tasks) / bare_loop(figure.groups, figure.bytes / figure.groups);
    fmt::print("{:>6} {:>14.0f} {:>12} {:>10} {:>14.0f} {:>7.0f}%  {}\n", batch, figure.rate,
               figure.bytes / static_cast<std::uint64_t>(load.tasks), figure.groups, bare,
               100 * figure.rate / bare, bar(figure.rate / bare));
  }
  if (options.only_batch != 0) return;

  const std::int64_t most = std::min<std::int64_t>(options.most_tasks, 1'000'000);
  const Figure small = measure({}, most / 100, 10);
  const Figure large = measure({}, most, 100'000);
  fmt::print("\nbacklog of {} over 100,000 users: {:.0f}/s, {:.0f} % of {} over 10 users\n",
             count(most), large.rate, 100 * large.rate / small.rate, count(most / 100));
}

}  // namespace

const Suite kEmbeddedSuite = {
    "embedded",
    "whole lifecycles through the embedded broker, every answer synced, 4 client threads", run};

}  // namespace retsu::bench
