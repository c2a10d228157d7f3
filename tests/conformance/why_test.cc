// Nothing waits without a reason that `why` can name.

#include <algorithm>

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

class WhyNot : public Conformance {
 protected:
  std::vector<Cause> causes_of(const std::string& id) {
    std::vector<Cause> causes;
    for (const WhyCause& each : must(Why{.id = id}).causes) causes.push_back(each.cause);
    return causes;
  }
  // The cause as told, which must be among them.
  WhyCause told(const std::string& id, Cause cause) {
    for (const WhyCause& each : must(Why{.id = id}).causes) {
      if (each.cause == cause) return each;
    }
    throw Unexpected(std::string(name_of(cause)) + " is not told of " + id);
  }
  // Somebody asks the queue for work, and gets none of the tasks that matter.
  void somebody_asks(const std::string& queue) { claim({.queues = {queue}, .users = {"nobody"}}); }
};
INSTANTIATE_TEST_SUITE_P(Conformance, WhyNot, testing::ValuesIn(subject_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(WhyNot, EveryWaitingStateHasACauseAndTheOthersNone) {
  for (int i = 0; i < kStates; ++i) {
    const auto state = static_cast<State>(i);
    const std::string id(name_of(state));
    make(state, id);
    const WhyReply reply = must(Why{.id = id});
    EXPECT_EQ(reply.state, state);
    EXPECT_EQ(reply.causes.empty(), !is_waiting(state)) << id;
  }
}

TEST_P(WhyNot, ADependencyIsNamedAlsoOneThatIsMissing) {
  push({.id = "first"});
  push({.id = "b", .depends_on = {{"first"}}});
  push({.id = "c", .depends_on = {{"absent"}}, .allow_missing = true});
  EXPECT_NE(told("b", Cause::kDependency).detail.find("first"), std::string::npos);
  EXPECT_NE(told("c", Cause::kDependency).detail.find("absent"), std::string::npos);
}

TEST_P(WhyNot, ATimeToComeIsTold) {
  push({.id = "a", .run_at = kStart + 1h});
  EXPECT_EQ(since_start(told("a", Cause::kSchedule).until), ms(1h));
  push({.id = "b", .queue = "q"});
  fail(start("b"), "b");
  EXPECT_EQ(told("b", Cause::kSchedule).until, task("b").run_at);
}

TEST_P(WhyNot, APauseIsTold) {
  push("q", {.id = "a"});
  must(PauseQueue{.queue = "q"});
  told("a", Cause::kPaused);
}

TEST_P(WhyNot, ADrainIsTold) {
  push({.id = "a"});
  must(StartDrain{});
  told("a", Cause::kDrain);
}

TEST_P(WhyNot, TheLimitOfConcurrencyIsTold) {
  put_queue("q", {.concurrency = 1});
  push_each({"a", "b"}, {.queue = "q"});
  start("a");
  told("b", Cause::kConcurrency);
}

TEST_P(WhyNot, AnIntervalIsToldWithItsEnd) {
  put_queue("q", {.interval_ms = 5'000});
  push_each({"a", "b"}, {.queue = "q"});
  const ClaimReply held = start("a");
  told("b", Cause::kInterval);
  finish(held, "a");
  EXPECT_EQ(since_start(told("b", Cause::kInterval).until), 5'000);
  advance(5s);
  const std::vector<Cause> causes = causes_of("b");
  EXPECT_EQ(std::count(causes.begin(), causes.end(), Cause::kInterval), 0);
}

TEST_P(WhyNot, ARateIsToldWithTheTimeOfTheNextToken) {
  put_queue("q", {.rate = Rate{.limit = 1, .per_ms = 8'000}});
  push_each({"a", "b"}, {.queue = "q"});
  start("a");
  EXPECT_EQ(since_start(told("b", Cause::kRate).until), 8'000);
}

TEST_P(WhyNot, AThrottleIsToldWithItsEnd) {
  push_each({"a", "b"}, {.queue = "q"});
  throttle(start("a"), "a", 9s);
  EXPECT_EQ(since_start(told("a", Cause::kThrottled).until), 9'000);
  EXPECT_EQ(since_start(told("b", Cause::kThrottled).until), 9'000);
}

TEST_P(WhyNot, ACapOfTheUserIsTold) {
  put_user("ann", {.max_running = 1});
  push_each({"a", "b"}, {.user = "ann"});
  start("a");
  told("b", Cause::kUserCap);
}

TEST_P(WhyNot, WhatIsAheadIsTold) {
  push_each({"a", "b"});
  told("b", Cause::kBehind);
}

TEST_P(WhyNot, ThatNobodyAsksIsToldAfterAMinute) {
  push_each({"a", "b"});
  told("b", Cause::kNoWorker);
  if (forgets_workers()) return;
  somebody_asks("default");
  EXPECT_EQ(causes_of("b"), std::vector<Cause>{Cause::kBehind});
  advance(61s);
  EXPECT_EQ(causes_of("b"), (std::vector<Cause>{Cause::kBehind, Cause::kNoWorker}));
}

TEST_P(WhyNot, ATaskThatIsNextWaitsForTheNextClaim) {
  push({.id = "a"});
  somebody_asks("default");
  EXPECT_EQ(causes_of("a"), std::vector<Cause>{Cause::kNoWorker});
}

TEST_P(WhyNot, SeveralCausesAreToldAtOnceInTheOrderOfTheList) {
  put_queue("q", {.concurrency = 1, .rate = Rate{.limit = 2, .per_ms = 60'000}});
  put_user("ann", {.max_running = 1});
  push_each({"a", "b", "c"}, {.queue = "q", .user = "ann"});
  throttle(start("a"), "a", 9s);
  advance(9s);
  start("a");
  must(PauseQueue{.queue = "q"});
  must(StartDrain{});
  const std::vector<Cause> causes = causes_of("c");
  EXPECT_TRUE(std::is_sorted(causes.begin(), causes.end()));
  for (const Cause cause : {Cause::kPaused, Cause::kDrain, Cause::kConcurrency, Cause::kRate,
                            Cause::kUserCap, Cause::kBehind}) {
    EXPECT_EQ(std::count(causes.begin(), causes.end(), cause), 1) << name_of(cause);
  }
}

TEST_P(WhyNot, AnAbsentTaskIsNotFound) { EXPECT_REFUSED(ask(Why{.id = "nobody"}), kNotFound); }

TEST_P(WhyNot, AMissingDependencyAndATimeToComeAreBothTold) {
  push({.id = "a", .run_at = kStart + 1h, .depends_on = {{"absent"}}, .allow_missing = true});
  EXPECT_EQ(causes_of("a"), (std::vector<Cause>{Cause::kDependency, Cause::kSchedule}));
}

}  // namespace
}  // namespace retsu::conformance
