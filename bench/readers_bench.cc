#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "base/check.h"
#include "base/temporary_directory.h"
#include "bench.h"
#include "broker/embedded/embedded_broker.h"
#include "cli/lifecycles.h"

// What those who read cost those who write.
namespace retsu::bench {
namespace {

struct Latency {
  double p50 = 0;
  double p95 = 0;
};

// Of pushes of 10 tasks, one after the other.
Latency push_latency(Broker& broker, int pushes) {
  std::vector<double> spent;
  for (int i = 0; i < pushes; ++i) {
    spent.push_back(seconds([&] { RETSU_CHECK(push_backlog(broker, 10, 10)); }) * 1e3);
  }
  std::ranges::sort(spent);
  return {spent[spent.size() / 2], spent[spent.size() * 95 / 100]};
}

// Runs `read` again and again beside the pushes. The log's file never shrinks: its size is the
// most that it ever had.
template <class Read>
void measure(Broker& broker, const std::string& log, const char* what, const Latency& alone,
             Read read) {
  std::atomic<bool> stop = false;
  std::atomic<int> reads = 0;
  std::thread reader([&] {
    for (; !stop; ++reads) read();
  });
  const Latency beside = push_latency(broker, 10'000);
  stop = true;
  reader.join();
  fmt::print("{:<34} {:>8.2f} {:>8.2f} {:>7.1f} × {:>8.1f} × {:>7} {:>9.1f}\n", what, beside.p50,
             beside.p95, beside.p50 / alone.p50, beside.p95 / alone.p95, reads.load(),
             static_cast<double>(std::filesystem::file_size(log)) / (1 << 20));
}

void run(const Options& options) {
  const TemporaryDirectory folder(".");  // on the disk that is being measured
  auto broker = EmbeddedBroker::open(folder.path());
  RETSU_CHECK(broker.has_value());
  const std::int64_t tasks = std::min<std::int64_t>(options.most_tasks, 1'000'000);
  RETSU_CHECK(push_backlog(**broker, tasks, 100));
  const std::string log = folder.path() + "/retsu.db-wal";
  push_latency(**broker, 200);  // warms up
  const Latency alone = push_latency(**broker, 10'000);
  fmt::print("{} tasks; pushes of 10, one after the other, goal: within 2 ×\n\n", count(tasks));
  fmt::print("{:<34} {:>8} {:>8} {:>9} {:>10} {:>7} {:>9}\n", "beside", "p50 ms", "p95 ms", "p50",
             "p95", "reads", "log MiB");
  fmt::print("{:<34} {:>8.2f} {:>8.2f}\n", "nothing", alone.p50, alone.p95);

  measure(**broker, log, "lists of the first 100", alone, [&] {
    RETSU_CHECK(call(**broker, ListTasks{}));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  });
  measure(**broker, log, "a search through all tasks", alone, [&] {
    ListTasks search;
    search.filter.q = "nowhere to be found";
    RETSU_CHECK(call(**broker, search));
  });
  ListTasks list;
  list.limit = 1'000;
  measure(**broker, log, "all tasks, page by page", alone, [&] {
    const auto page = call(**broker, list);
    RETSU_CHECK(page.has_value());
    list.cursor = page->next_cursor.value_or("");
  });
}

}  // namespace

const Suite kReadersSuite = {"readers",
                             "latency of synced pushes beside readers of the embedded broker", run};

}  // namespace retsu::bench
