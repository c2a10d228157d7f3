// What watchers are told: each transition once, in order.

#include <atomic>

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

class Events : public Conformance {
 protected:
  using Step = std::pair<std::optional<State>, std::optional<State>>;

  // What happened to one task, in order.
  static std::vector<Step> steps_of(const std::vector<TaskEvent>& events, const std::string& id) {
    std::vector<Step> steps;
    for (const TaskEvent& event : events) {
      if (event.id == id) steps.emplace_back(event.from, event.to);
    }
    return steps;
  }
};
INSTANTIATE_TEST_SUITE_P(Conformance, Events, testing::ValuesIn(subject_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(Events, EachTransitionIsToldOnceInOrder) {
  EventLog log(broker());
  push({.id = "a", .run_at = kStart + 1s, .max_attempts = 2});
  advance(1s);
  fail(start("a"), "a");
  advance(2s);
  finish(start("a"), "a");
  remove("a");
  const std::vector<TaskEvent> events = log.up_to("a", std::nullopt);
  EXPECT_EQ(steps_of(events, "a"), (std::vector<Step>{{{}, kScheduled},
                                                      {kScheduled, kQueued},
                                                      {kQueued, kStarted},
                                                      {kStarted, kScheduled},
                                                      {kScheduled, kQueued},
                                                      {kQueued, kStarted},
                                                      {kStarted, kFinished},
                                                      {kFinished, {}}}));
}

TEST_P(Events, TheirNumbersRiseByOne) {
  EventLog log(broker());
  push_each(numbered("a", 5));
  settle_all(claim({.max = 5}), kFinish);
  push({.id = "last"});
  const std::vector<TaskEvent> events = log.up_to("last", kQueued);
  ASSERT_EQ(events.size(), 16U);
  for (std::size_t i = 1; i < events.size(); ++i) {
    EXPECT_EQ(events[i].number, events[i - 1].number + 1);
  }
  EXPECT_EQ(log.missed(), 0U);
}

TEST_P(Events, TellWhoWhenAndWhy) {
  EventLog log(broker());
  push({.id = "a", .queue = "q", .user = "ann"});
  advance(3s);
  reject(start("a"), "a");
  const TaskEvent last = log.up_to("a", kFailed).back();
  EXPECT_EQ(last.queue, "q");
  EXPECT_EQ(last.user, "ann");
  EXPECT_EQ(since_start(last.at), 3'000);
  EXPECT_EQ(last.attempt, 1);
  EXPECT_EQ(last.reason, Reason::kRejected);
}

TEST_P(Events, OfTimersTellTheirOwnTime) {
  EventLog log(broker());
  push({.id = "a", .run_at = kStart + 5s, .expires_at = kStart + 9s});
  advance(1h);
  const std::vector<TaskEvent> events = log.up_to("a", kFailed);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(since_start(events[1].at), 5'000);
  EXPECT_EQ(since_start(events[2].at), 9'000);
}

TEST_P(Events, ATaskDueAndExpiredAtTheSameMomentIsFirstQueued) {
  EventLog log(broker());
  push({.id = "a", .run_at = kStart + 5s, .expires_at = kStart + 5s});
  advance(5s);
  EXPECT_EQ(steps_of(log.up_to("a", kFailed), "a"),
            (std::vector<Step>{{{}, kScheduled}, {kScheduled, kQueued}, {kQueued, kFailed}}));
}

TEST_P(Events, CanBeFilteredByQueueUserAndState) {
  EventLog of_queue(broker(), {.queue = "q"});
  EventLog of_user(broker(), {.user = "ann"});
  EventLog of_state(broker(), {.state = kFinished});
  push("q", {.id = "a", .user = "ann"});
  push("other", {.id = "b", .user = "ann"});
  push("q", {.id = "c", .user = "bob"});
  run("a");
  run("b");
  run("c");
  EXPECT_EQ(steps_of(of_queue.up_to("c", kFinished), "b").size(), 0U);
  EXPECT_EQ(of_queue.up_to("c", kFinished).size(), 6U);
  EXPECT_EQ(of_user.up_to("b", kFinished).size(), 6U);
  EXPECT_EQ(of_state.up_to("c", kFinished).size(), 3U);
}

TEST_P(Events, TellHowLongATaskWaitedAndRan) {
  EventLog log(broker());
  push({.id = "a"});
  advance(5s);
  const ClaimReply held = claim();
  advance(700ms);
  finish(held, "a");
  const std::vector<TaskEvent> events = log.up_to("a", kFinished);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].took_ms, std::nullopt);
  EXPECT_EQ(events[1].took_ms, 5'000);
  EXPECT_EQ(events[2].took_ms, 700);
}

TEST_P(Events, OfARefusalAreNone) {
  EventLog log(broker());
  push({.id = "a"});
  EXPECT_FALSE(ask(Push{.tasks = {{.id = "b"}, {.depends_on = {{"nowhere"}}}}}));
  EXPECT_FALSE(ask(RetryTask{.id = "a"}));
  push({.id = "a"});
  front("a");
  push({.id = "last"});
  EXPECT_EQ(log.up_to("last", kQueued).size(), 2U);
}

TEST_P(Events, EndWhenTheSubscriptionIsDropped) {
  std::atomic<int> heard = 0;
  {
    const Subscription subscription = broker().watch(
        {}, [&heard](EventBatch batch) { heard += static_cast<int>(batch.events.size()); });
  }
  const int before = heard;
  EventLog log(broker());
  push({.id = "a"});
  log.up_to("a", kQueued);
  EXPECT_EQ(heard, before);
}

TEST_P(Events, OfACascadeAreAllTold) {
  EventLog log(broker());
  push({.id = "a"});
  push_each(numbered("d", 20), {.depends_on = {{"a"}}});
  run("a");
  push({.id = "last"});
  int freed = 0;
  for (const TaskEvent& event : log.up_to("last", kQueued)) {
    freed += event.from == kDeferred && event.to == kQueued ? 1 : 0;
  }
  EXPECT_EQ(freed, 20);
}

}  // namespace
}  // namespace retsu::conformance
