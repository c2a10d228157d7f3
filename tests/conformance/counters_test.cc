// What has happened, in numbers that add up.

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(Counters);

TEST_P(Counters, AFreshQueueIsEmpty) {
  const StatsReply stats = must(Stats{});
  EXPECT_EQ(since_start(stats.now), 0);
  EXPECT_FALSE(stats.draining);
  for (const auto& [name, count] : stats.tasks) EXPECT_EQ(count, 0) << name;
  for (const auto& [name, count] : stats.counters) EXPECT_EQ(count, 0) << name;
  EXPECT_EQ(stats.queues, 0);
  EXPECT_EQ(stats.users, 0);
  EXPECT_EQ(stats.claims, 0);
  EXPECT_EQ(stats.edges, 0);
}

TEST_P(Counters, EveryEventOfALifeIsCountedOnce) {
  put_queue("q", {.throttle_ms = 0,
                  .retry = {.kind = RetryKind::kFixed, .base_ms = 0, .max_attempts = 5}});
  push("q", {.id = "a"});
  fail(start("a"), "a");
  advance(1ms);
  throttle(start("a"), "a");
  release(start("a"), "a");
  start("a", {.lease_ms = 1'000});
  advance(1s);
  await(start("a"), "a", {{.id = "c", .queue = "q"}});
  run("c");
  finish(start("a"), "a");
  push("q", {.id = "a"});
  push("q", {.id = "b", .expires_at = clock() + 1s});
  advance(1s);
  redrive("b");
  cancel("b");
  remove("b");
  const std::map<std::string, std::int64_t> expected = {
      {"pushed", 3},   {"absorbed", 1}, {"started", 7},  {"finished", 2},        {"failed", 1},
      {"canceled", 1}, {"retried", 1},  {"awaited", 1},  {"retry_succeeded", 1}, {"throttled", 1},
      {"released", 1}, {"expired", 1},  {"redriven", 1}, {"lease_expired", 1},   {"removed", 1}};
  for (const auto& [name, count] : expected) EXPECT_EQ(counter(name), count) << name;
}

TEST_P(Counters, StatesAddUpToTheTasks) {
  for (const State state :
       {kScheduled, kDeferred, kQueued, kStarted, kFinished, kFailed, kCanceled}) {
    make(state, std::string(name_of(state)));
  }
  for (const State state :
       {kScheduled, kDeferred, kQueued, kStarted, kFinished, kFailed, kCanceled}) {
    EXPECT_EQ(tasks_in(state), 1) << name_of(state);
  }
  EXPECT_EQ(must(Stats{}).queues, 7);
  EXPECT_EQ(must(Stats{}).claims, 1);
  EXPECT_EQ(must(Stats{}).edges, 1);
}

TEST_P(Counters, TheTimeFromADependencysEndToTheQueueIsSummed) {
  push({.id = "a"});
  push({.id = "b", .depends_on = {{"a"}}});
  run("a");
  EXPECT_EQ(counter("freed"), 1);
  EXPECT_EQ(counter("freed_after_ms"), 0);
}

TEST_P(Counters, ReferencesWhoseTaskIsGoneAreSweptWithinAnHourAndCounted) {
  push({.id = "a"});
  push({.id = "b", .depends_on = {{"a"}}, .expires_at = kStart + 1s});
  run_and_reject("a");
  advance(1s);
  EXPECT_EQ(state_of("b"), kFailed);
  remove("a");
  advance(1h);
  EXPECT_EQ(counter("swept"), 1);
  EXPECT_EQ(must(Stats{}).edges, 0);
  EXPECT_EQ(redrive("b").state, kQueued);
}

}  // namespace
}  // namespace retsu::conformance
