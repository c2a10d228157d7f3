#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "bench.h"
#include "broker/memory/memory_broker.h"
#include "cli/lifecycles.h"

// Through the one seam, with validation, threads and answers, but no disk.
namespace retsu::bench {
namespace {

void run(const Options& options) {
  std::vector<std::pair<std::int64_t, double>> figures;
  for (const std::int64_t batch : {1, 10, 100, 1'000}) {
    if (options.only_batch != 0 && batch != options.only_batch) continue;
    MemoryBroker broker({}, MemoryBroker::system_clock());
    const auto rate =
        lifecycles_per_second(broker, {.batch = batch, .tasks = batch == 1 ? 40'000 : 400'000});
    RETSU_CHECK(rate.has_value());
    figures.emplace_back(batch, *rate);
  }
  if (figures.empty()) return;
  const double best =
      std::ranges::max(figures, {}, &std::pair<std::int64_t, double>::second).second;
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
