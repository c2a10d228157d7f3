#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "retsu/retsu.h"

namespace retsu_api {
namespace {

using namespace std::chrono_literals;

TEST(PublicWorker, RunsTasksByTheirType) {
  Queue queue = open("memory:");
  queue.push({.id = "a", .queue = "mail", .type = "send", .payload = {{"to", "bob"}}});
  queue.push({.id = "b", .queue = "mail", .type = "other", .max_attempts = 1});
  Worker worker{queue, {.queues = {"mail"}, .concurrency = 8, .until_empty = true}};
  worker.handle("send", [](retsu_api::Run& run) -> Outcome {
    run.progress({{"done", 1}});
    return finish({{"sent to", run.task().payload.at("to")}});
  });
  worker.handle("", [](retsu_api::Run& run) { return fail("not " + run.task().type); });
  worker.run();
  EXPECT_EQ(queue.get_task("a").result.at("sent to"), "bob");
  EXPECT_EQ(queue.get_task("b").error, "not other");
}

TEST(PublicWorker, EveryOutcome) {
  Queue queue = open("memory:");
  queue.put_queue("default", {.retry = {.base = 1ms, .jitter = 0}});
  queue.push({.id = "a"});
  Worker worker{queue};
  int runs = 0;
  std::stop_source stop;
  worker.handle("", [&](retsu_api::Run& run) -> Outcome {
    EXPECT_FALSE(run.task().claim_id.empty());
    EXPECT_FALSE(run.stop().stop_requested());
    if (run.task().id == "child") return finish(5);
    switch (++runs) {
      case 1:
        return fail("once", {.retry_after = 1ms});
      case 2:
        return release();
      case 3:
        return throttle(1ms);
      case 4:
        return await({{.id = "child"}});
      default:
        return finish(run.task().inputs.at("child").result);
    }
  });
  std::jthread thread([&] { worker.run(stop.get_token()); });
  EXPECT_EQ(queue.get_task("a", 30s).result, 5);
  stop.request_stop();
}

TEST(PublicWorker, AnExceptionIsAFailure) {
  Queue queue = open("memory:");
  queue.push({.id = "a", .max_attempts = 1});
  queue.push({.id = "b", .max_attempts = 1});
  Worker worker{queue, {.until_empty = true}};
  worker.handle("", [](retsu_api::Run& run) -> Outcome {
    if (run.task().id == "a") throw std::runtime_error("no answer");
    throw 7;  // NOLINT
  });
  worker.run();
  EXPECT_EQ(queue.get_task("a").error, "no answer");
  EXPECT_EQ(queue.get_task("b").error, "the handler threw something that is no exception");
}

TEST(PublicWorker, RefusesWhatNoWorkerCanBe) {
  Queue queue = open("memory:");
  EXPECT_THROW((Worker{queue, {.concurrency = 0}}), Error);
  EXPECT_THROW((Worker{queue, {.concurrency = 1'001}}), Error);
  EXPECT_THROW((Worker{queue, {.lease = 0ms}}), Error);
  Worker worker{queue, {.queues = {"not a name"}}};
  EXPECT_THROW(worker.run(), Error);
}

}  // namespace
}  // namespace retsu_api
