#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "base/check.h"
#include "base/sqlite.h"
#include "base/temporary_directory.h"
#include "bench.h"
#include "broker/embedded/embedded_broker.h"
#include "cli/lifecycles.h"

// How long a start takes, and what a store weighs after many tasks have come and gone.
namespace retsu::bench {
namespace {

namespace fs = std::filesystem;

double mebibytes(const fs::path& file) {
  return fs::exists(file) ? static_cast<double>(fs::file_size(file)) / (1 << 20) : 0;
}

double seconds_to_open(const std::string& folder) {
  std::unique_ptr<EmbeddedBroker> broker;  // closing it is none of what is measured
  return seconds([&] {
    auto opened = EmbeddedBroker::open(folder);
    RETSU_CHECK(opened.has_value());
    broker = std::move(*opened);
  });
}

// The tasks come from a process that is killed at the last answer: the journal is as long as can
// be.
void measure_restart_after_kill(std::int64_t tasks) {
  const TemporaryDirectory folder(".");
  const pid_t child = ::fork();
  if (child == 0) {
    auto broker = EmbeddedBroker::open(folder.path());
    RETSU_CHECK(broker.has_value());
    RETSU_CHECK(push_backlog(**broker, tasks, 100'000));
    ::raise(SIGKILL);
  }
  int status = 0;
  RETSU_CHECK(::waitpid(child, &status, 0) == child && WIFSIGNALED(status));
  RETSU_CHECK(WTERMSIG(status) == SIGKILL);
  fmt::print("the same after kill -9: {:.2f} s\n", seconds_to_open(folder.path()));
}

void measure_restart(std::int64_t tasks) {
  const TemporaryDirectory folder(".");  // on the disk that is being measured
  {
    auto broker = EmbeddedBroker::open(folder.path());
    RETSU_CHECK(broker.has_value());
    RETSU_CHECK(push_backlog(**broker, tasks, 100'000));
  }
  fmt::print("restart with {} waiting tasks of 100,000 users, {:.0f} MiB on disk:", count(tasks),
             mebibytes(folder.path() + "/retsu.db"));
  for (int i = 0; i < 3; ++i) {
    fmt::print(" {:.2f} s", seconds_to_open(folder.path()));
    std::fflush(stdout);
  }
  fmt::print(" (goal: at most 3)\n");
}

// Bytes of what is in the store, packed as tightly as SQLite can.
double packed(const std::string& folder) {
  auto database = sqlite::Database::open(folder + "/retsu.db", SQLITE_OPEN_READWRITE);
  RETSU_CHECK(database.has_value());
  RETSU_CHECK(database->execute("VACUUM INTO '" + folder + "/packed.db'"));
  return mebibytes(folder + "/packed.db");
}

void measure_size(std::int64_t live, std::int64_t lifecycles) {
  const TemporaryDirectory folder(".");
  const auto size = [&] {
    double all = 0;
    for (const char* file : {"/retsu.db", "/retsu.db-wal", "/journal.1", "/journal.2"}) {
      all += mebibytes(folder.path() + file);
    }
    return all;
  };
  fmt::print("\n{:>12} {:>12} {:>10} {:>12}\n", "lifecycles", "MiB", "packed", "times that");
  double most = 0;
  for (std::int64_t done = 0; done <= lifecycles;
       done += std::max<std::int64_t>(lifecycles / 5, 1)) {
    {
      auto broker = EmbeddedBroker::open(folder.path());
      RETSU_CHECK(broker.has_value());
      if (done == 0) RETSU_CHECK(push_backlog(**broker, live, 1'000));
      if (done > 0) RETSU_CHECK(lifecycles_per_second(**broker, {.tasks = lifecycles / 5}));
      most = std::max(most, size());
    }
    most = std::max(most, size());
    const double bytes = packed(folder.path());
    fs::remove(folder.path() + "/packed.db");
    fmt::print("{:>12} {:>12.1f} {:>10.1f} {:>10.2f} ×\n", done, most, bytes, most / bytes);
    std::fflush(stdout);
  }
}

void run(const Options& options) {
  measure_restart(std::min<std::int64_t>(options.most_tasks, 1'000'000));
  measure_restart_after_kill(std::min<std::int64_t>(options.most_tasks, 1'000'000));
  measure_size(std::min<std::int64_t>(options.most_tasks, 100'000), options.most_tasks);
}

}  // namespace

const Suite kStoreSuite = {
    "store", "a start with many tasks, and the bytes on disk after many lifecycles", run};

}  // namespace retsu::bench
