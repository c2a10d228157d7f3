// A walk through a queue in memory: fairness, why, retries, dependencies.
#include <fmt/format.h>

#include "broker/memory/memory_broker.h"

using namespace retsu;

namespace {

template <class Op>
typename Op::Reply ask(Broker& broker, Op operation) {
  auto reply = call(broker, std::move(operation));
  if (!reply) {
    fmt::print("refused: {}: {}\n", row_of(reply.error().code).name, reply.error().message);
    std::exit(row_of(reply.error().code).exit_code);
  }
  return std::move(*reply);
}

Push one(NewTask task) { return {{std::move(task)}, false}; }

}  // namespace

int main() {
  MemoryBroker broker({}, MemoryBroker::system_clock());

  fmt::print("1. ann pushes 1,000 tasks, then ben pushes one.\n");
  Push many;
  for (int i = 0; i < 1'000; ++i) {
    many.tasks.emplace_back();
    many.tasks.back().user = "ann";
  }
  ask(broker, many);
  ask(broker, one({.id = "ben-1", .user = "ben", .payload = R"({"book":"9784873113944"})"}));
  Claim claim;
  claim.max = 3;
  claim.worker = "tour";
  const ClaimReply claimed = ask(broker, claim);
  for (const ClaimedTask& task : claimed.tasks) {
    fmt::print("   claimed {} for {} (fence {})\n", task.id, task.user, task.fence);
  }
  fmt::print("   {} more wait\n\n", claimed.remaining);

  fmt::print("2. The service says 429 to ben's task: the queue holds still, no attempt is lost.\n");
  Settle throttled{claimed.claim_id, {}, {}};
  throttled.results.push_back(
      {.id = "ben-1", .outcome = Outcome::kThrottle, .retry_after_ms = 30'000});
  ask(broker, throttled);
  for (const WhyCause& cause : ask(broker, Why{"ben-1"}).causes) {
    fmt::print("   why not running: {} – {}{}\n", name_of(cause.cause), cause.detail,
               cause.until ? ", until " + format_time(*cause.until) : "");
  }

  fmt::print("\n3. A task that depends on another waits for it, and gets its result.\n");
  ask(broker, one({.id = "extract", .queue = "etl"}));
  ask(broker, one({.id = "load", .queue = "etl", .depends_on = {{"extract"}}}));
  fmt::print("   load is {}\n", name_of(ask(broker, GetTask{"load"}).state));
  claim.queues = {"etl"};
  const ClaimReply extract = ask(broker, claim);
  Settle finished{extract.claim_id, {}, {}};
  finished.results.push_back(
      {.id = "extract", .outcome = Outcome::kFinish, .result = R"({"records":1000})"});
  ask(broker, finished);
  const ClaimReply load = ask(broker, claim);
  fmt::print("   load is {}; extract gave it {}\n", name_of(ask(broker, GetTask{"load"}).state),
             load.tasks.at(0).inputs.at("extract").result.view());
}
