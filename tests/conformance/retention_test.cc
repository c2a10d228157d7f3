// How long ended tasks are kept, and what is left of them after that.

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

class Kept : public Conformance {
 protected:
  void finish_each(const Ids& ids, NewTask like = {}) {
    for (const std::string& id : ids) {
      like.id = id;
      push(like);
      run(id);
      advance(1s);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Conformance, Kept, testing::ValuesIn(subject_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(Kept, EachEndStateHasItsOwnTime) {
  const std::pair<State, Millis> kTimes[] = {{kFinished, 24h}, {kCanceled, 1h}, {kFailed, 7 * 24h}};
  for (const auto& [state, time] : kTimes) {
    const std::string id(name_of(state));
    make(state, id);
    advance(time - 1ms);
    EXPECT_TRUE(exists(id)) << id;
    advance(1ms);
    EXPECT_REFUSED(ask(GetTask{.id = id}), kNotFound);
  }
  EXPECT_EQ(counter("removed"), 3);
}

TEST_P(Kept, AQueueMayHaveOtherTimes) {
  put_queue("q", {.retention = {.finished_ms = 1'000, .canceled_ms = 2'000, .failed_ms = 3'000}});
  push_each({"a", "b", "c"}, {.queue = "q"});
  run("a");
  run_and_reject("b");
  cancel("c");
  advance(1s);
  EXPECT_FALSE(exists("a"));
  EXPECT_TRUE(exists("c"));
  advance(1s);
  EXPECT_FALSE(exists("c"));
  EXPECT_TRUE(exists("b"));
  advance(1s);
  EXPECT_FALSE(exists("b"));
}

TEST_P(Kept, AtMostSoManyTasksOfEachEndState) {
  put_queue("q", {.retention = {.max_tasks = 2}});
  finish_each({"a", "b"}, {.queue = "q"});
  push("q", {.id = "failed"});
  run_and_reject("failed");
  EXPECT_TRUE(exists("a"));
  finish_each({"c"}, {.queue = "q"});
  EXPECT_FALSE(exists("a"));
  EXPECT_TRUE(exists("b"));
  EXPECT_TRUE(exists("c"));
  EXPECT_TRUE(exists("failed"));
}

TEST_P(Kept, AtMostSoManyBytesOfEachEndState) {
  put_queue("q", {.retention = {.max_bytes = 1'000}});
  finish_each({"a", "b"}, {.queue = "q", .payload = json_of_size(450)});
  EXPECT_TRUE(exists("a"));
  finish_each({"c"}, {.queue = "q", .payload = json_of_size(450)});
  EXPECT_FALSE(exists("a"));
  EXPECT_TRUE(exists("b"));
  EXPECT_TRUE(exists("c"));
}

TEST_P(Kept, ResultsCountAmongTheBytes) {
  put_queue("q", {.retention = {.max_bytes = 1'000}});
  push_each({"a", "b"}, {.queue = "q"});
  run("a", Json(json_of_size(600)));
  run("b", Json(json_of_size(600)));
  EXPECT_FALSE(exists("a"));
  EXPECT_TRUE(exists("b"));
}

TEST_P(Kept, AResultThatALiveTaskNeedsStaysUntilThatHasEnded) {
  push_each({"a", "other"});
  push({.id = "b", .depends_on = {{"a"}, {"other"}}});
  run("a", "1");
  advance(10 * 24h);
  EXPECT_TRUE(exists("a"));
  run("other");
  const ClaimReply held = start("b");
  EXPECT_EQ(held.tasks.at(0).inputs.at("a").result, Json("1"));
  finish(held, "b");
  keep_calling_until([&] { return !exists("a"); });
}

TEST_P(Kept, ManyTasksAreRemovedInSteps) {
  begin({.steps = 10});
  push_batch(std::vector<NewTask>(95));
  settle_all(claim({.max = 95}), kFinish);
  advance(24h);
  keep_calling_until([&] { return tasks_in(kFinished) == 0; });
  EXPECT_EQ(counter("removed"), 95);
}

TEST_P(Kept, ATombstoneAnswersPushesUntil72HoursAfterTheEnd) {
  push({.id = "a"});
  advance(1h);
  run("a");
  advance(72h - 1ms);
  EXPECT_FALSE(exists("a"));
  EXPECT_EQ(must(Stats{}).remembered_ids, 1);
  const Pushed again = push({.id = "a", .payload = "2"});
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.id, "a");
  EXPECT_EQ(again.state, kFinished);
  advance(1ms);
  EXPECT_EQ(must(Stats{}).remembered_ids, 0);
  EXPECT_TRUE(push({.id = "a"}).created);
}

TEST_P(Kept, ATaskRemovedByHandLeavesATombstoneToo) {
  make(kCanceled, "a");
  remove("a");
  const Pushed again = push({.id = "a"});
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.state, kCanceled);
}

TEST_P(Kept, ATaskKeptLongerThanThatLeavesNoTombstone) {
  make(kFailed, "a");
  advance(7 * 24h);
  EXPECT_FALSE(exists("a"));
  EXPECT_TRUE(push({.id = "a"}).created);
}

TEST_P(Kept, AnIdThatTheBrokerChoseLeavesNoTombstone) {
  const std::string id = push({}).id;
  run(id);
  remove(id);
  EXPECT_EQ(must(Stats{}).remembered_ids, 0);
}

TEST_P(Kept, WhenTooManyIdsAreRememberedChosenOnesAreRefused) {
  begin({.remembered_ids = 2});
  push_each(numbered("a", 3));
  settle_all(claim({.max = 3}), kFinish);
  for (const std::string& id : numbered("a", 3)) remove(id);
  EXPECT_EQ(must(Stats{}).remembered_ids, 3);
  EXPECT_REFUSED(try_push({.id = "chosen"}), kOverloaded);
  EXPECT_FALSE(push({.id = "a1"}).created);
  EXPECT_TRUE(push({}).created);
}

}  // namespace
}  // namespace retsu::conformance
