// Waiting for other tasks: when a dependency is met, missing, or part of a cycle.

#include <algorithm>

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(Dependencies);

using Inputs = std::map<std::string, Input>;

// Every id of a cycle is named where a person reads it.
testing::AssertionResult spells_out(const Error& error, const Ids& cycle) {
  const std::string text = error.message + error.details;
  for (const std::string& id : cycle) {
    if (text.find(id) == std::string::npos) {
      return testing::AssertionFailure() << id << " is not named in " << text;
    }
  }
  return testing::AssertionSuccess();
}

TEST_P(Dependencies, ATaskWaitsUntilItsDependencyHasFinished) {
  push({.id = "a"});
  EXPECT_EQ(push({.id = "b", .depends_on = {{"a"}}}).state, kDeferred);
  EXPECT_EQ(blocked_by("b"), Ids{"a"});
  const ClaimReply held = start("a");
  EXPECT_TRUE(claim().tasks.empty());
  advance(3s);
  finish(held, "a");
  EXPECT_EQ(state_of("b"), kQueued);
  EXPECT_EQ(blocked_by("b"), Ids{});
  EXPECT_EQ(since_start(task("b").queued_at), 3'000);
}

TEST_P(Dependencies, ADependencyAlreadyFinishedIsMet) {
  make(kFinished, "a");
  EXPECT_EQ(push({.id = "b", .depends_on = {{"a"}}}).state, kQueued);
}

TEST_P(Dependencies, WhatDependenciesEndedWithReachesTheWorker) {
  push_each({"a", "b"});
  push({.id = "c", .depends_on = {{"a"}, {"b", When::kSettled}}});
  run("a", R"({"n":1})");
  run_and_reject("b");
  const ClaimReply held = start("c");
  EXPECT_EQ(held.tasks.at(0).inputs,
            (Inputs{{"a", {kFinished, R"({"n":1})"}}, {"b", {kFailed, {}}}}));
}

TEST_P(Dependencies, FanInWaitsForTheLastOne) {
  push_each({"a", "b", "c"});
  push({.id = "d", .depends_on = {{"a"}, {"b"}, {"c"}}});
  push({.id = "e", .depends_on = {{"a"}, {"b"}}});
  push({.id = "f", .depends_on = {{"c"}}});
  run("a");
  EXPECT_EQ(blocked_by("d"), (Ids{"b", "c"}));
  run("b");
  EXPECT_EQ(state_of("e"), kQueued);
  EXPECT_EQ(state_of("d"), kDeferred);
  finish(start("c"), "c");
  EXPECT_EQ(state_of("d"), kQueued);
  EXPECT_EQ(state_of("f"), kQueued);
}

TEST_P(Dependencies, FanOutFreesEveryOne) {
  push({.id = "a"});
  push_each(numbered("d", 30), {.depends_on = {{"a"}}});
  EXPECT_EQ(must(Stats{}).edges, 30);
  run("a");
  EXPECT_EQ(tasks_in(kQueued), 30);
  EXPECT_EQ(must(Stats{}).edges, 0);
  EXPECT_EQ(counter("freed"), 30);
}

TEST_P(Dependencies, APipelineRunsInItsOrder) {
  push_batch({{.id = "load", .depends_on = {{"transform"}}},
              {.id = "transform", .depends_on = {{"extract"}}},
              {.id = "extract"}});
  EXPECT_EQ(state_of("load"), kDeferred);
  run("extract");
  EXPECT_EQ(state_of("transform"), kQueued);
  EXPECT_EQ(state_of("load"), kDeferred);
  run("transform");
  run("load");
  EXPECT_EQ(tasks_in(kFinished), 3);
}

TEST_P(Dependencies, ADuplicateCountsOnceAndFinishedWins) {
  push_each({"a"});
  push({.id = "b", .depends_on = {{"a", When::kSettled}, {"a"}, {"a", When::kSettled}}});
  EXPECT_EQ(task("b").depends_on, (std::vector<Dependency>{{"a", When::kFinished}}));
  run_and_reject("a");
  EXPECT_EQ(state_of("b"), kDeferred);
}

TEST_P(Dependencies, BothRunAtAndDependenciesHoldWhenTheTimeComesFirst) {
  push({.id = "a"});
  push({.id = "b", .run_at = kStart + 1min, .depends_on = {{"a"}}});
  EXPECT_EQ(state_of("b"), kScheduled);
  advance(1min);
  EXPECT_EQ(state_of("b"), kDeferred);
  run("a");
  EXPECT_EQ(state_of("b"), kQueued);
}

TEST_P(Dependencies, BothRunAtAndDependenciesHoldWhenTheDependencyComesFirst) {
  push({.id = "a"});
  push({.id = "b", .run_at = kStart + 1min, .depends_on = {{"a"}}});
  run("a");
  EXPECT_EQ(state_of("b"), kScheduled);
  advance(1min);
  EXPECT_EQ(state_of("b"), kQueued);
}

TEST_P(Dependencies, AnUnknownIdIsRefused) {
  const Snapshot before = everything();
  EXPECT_REFUSED(try_push({.id = "b", .depends_on = {{"nowhere"}}}), kUnknownDependency);
  EXPECT_TRUE(is_same(before, everything()));
}

TEST_P(Dependencies, AMissingIdThatIsAllowedIsWaitedFor) {
  push({.id = "b", .depends_on = {{"a"}}, .allow_missing = true});
  EXPECT_EQ(state_of("b"), kDeferred);
  EXPECT_EQ(blocked_by("b"), Ids{"a"});
  push({.id = "a"});
  EXPECT_EQ(state_of("b"), kDeferred);
  run("a", "1");
  EXPECT_EQ(state_of("b"), kQueued);
  EXPECT_EQ(start("b").tasks.at(0).inputs, (Inputs{{"a", {kFinished, "1"}}}));
}

TEST_P(Dependencies, ATaskThatDependsOnItselfIsACycle) {
  const Result<Pushed> refused = try_push({.id = "a", .depends_on = {{"a"}}});
  EXPECT_REFUSED(refused, kDependencyCycle);
  EXPECT_TRUE(spells_out(refused.error(), {"a"}));
  EXPECT_REFUSED(try_push({.id = "a", .depends_on = {{"a"}}, .allow_missing = true}),
                 kDependencyCycle);
}

TEST_P(Dependencies, ACycleInsideABatchIsRefusedWholeAndSpelledOut) {
  const Snapshot before = everything();
  const auto refused = ask(Push{.tasks = {{.id = "innocent"},
                                          {.id = "xena", .depends_on = {{"yuri"}}},
                                          {.id = "yuri", .depends_on = {{"zoe"}}},
                                          {.id = "zoe", .depends_on = {{"xena"}}}}});
  EXPECT_REFUSED(refused, kDependencyCycle);
  EXPECT_TRUE(spells_out(refused.error(), {"xena", "yuri", "zoe"}));
  EXPECT_TRUE(is_same(before, everything()));
}

TEST_P(Dependencies, ACycleClosedWithWhatIsStoredIsRefused) {
  push({.id = "xena", .depends_on = {{"zoe"}}, .allow_missing = true});
  push({.id = "yuri", .depends_on = {{"xena"}}});
  const Snapshot before = everything();
  const Result<Pushed> refused = try_push({.id = "zoe", .depends_on = {{"yuri"}}});
  EXPECT_REFUSED(refused, kDependencyCycle);
  EXPECT_TRUE(spells_out(refused.error(), {"xena", "yuri", "zoe"}));
  EXPECT_TRUE(is_same(before, everything()));
}

TEST_P(Dependencies, AnAliasStandsForItsHolder) {
  push({.id = "holder", .unique_key = "k"});
  push({.id = "alias", .unique_key = "k"});
  push({.id = "b", .depends_on = {{"alias"}}});
  EXPECT_EQ(blocked_by("b"), Ids{"holder"});
  run("holder");
  EXPECT_EQ(state_of("b"), kQueued);
}

TEST_P(Dependencies, WhoWaitedForAnAbsorbedIdWaitsForTheHolder) {
  push({.id = "b", .depends_on = {{"wanted"}}, .allow_missing = true});
  push({.id = "holder", .unique_key = "k"});
  EXPECT_EQ(push({.id = "wanted", .unique_key = "k"}).id, "holder");
  EXPECT_EQ(blocked_by("b"), Ids{"holder"});
  run("holder");
  EXPECT_EQ(state_of("b"), kQueued);
}

TEST_P(Dependencies, AnAbsorbedIdThatWouldCloseACycleIsRefused) {
  push({.id = "holder", .depends_on = {{"wanted"}}, .allow_missing = true, .unique_key = "k"});
  const Snapshot before = everything();
  EXPECT_REFUSED(try_push({.id = "wanted", .unique_key = "k"}), kDependencyCycle);
  EXPECT_TRUE(is_same(before, everything()));
}

TEST_P(Dependencies, WhoWaitsForATaskCanBeListed) {
  push_each({"a", "z"});
  push_each({"b", "c"}, {.depends_on = {{"a"}}});
  EXPECT_EQ(listed({.waits_for = "a"}), (Ids{"c", "b"}));
  EXPECT_EQ(listed({.waits_for = "z"}), Ids{});
}

TEST_P(Dependencies, TheGraphShowsTheNeighboursAndWhatIsMissing) {
  push({.id = "a", .user = "ann", .type = "t"});
  push({.id = "b", .depends_on = {{"a"}, {"gone", When::kSettled}}, .allow_missing = true});
  push({.id = "c", .depends_on = {{"b"}}});
  push({.id = "stranger"});
  run("a");
  GraphReply graph = must(Graph{.id = "b"});
  EXPECT_FALSE(graph.truncated);
  std::sort(graph.nodes.begin(), graph.nodes.end(),
            [](const GraphNode& x, const GraphNode& y) { return x.id < y.id; });
  ASSERT_EQ(graph.nodes.size(), 4U);
  EXPECT_EQ(graph.nodes.at(0), (GraphNode{"a", kFinished, "default", "ann", "t", false}));
  EXPECT_EQ(graph.nodes.at(1).state, kDeferred);
  EXPECT_EQ(graph.nodes.at(2).id, "c");
  EXPECT_EQ(graph.nodes.at(3).id, "gone");
  EXPECT_TRUE(graph.nodes.at(3).missing);
  std::sort(graph.edges.begin(), graph.edges.end(),
            [](const GraphEdge& x, const GraphEdge& y) { return x.from < y.from; });
  EXPECT_EQ(graph.edges, (std::vector<GraphEdge>{{"a", "b", When::kFinished, true},
                                                 {"b", "c", When::kFinished, false},
                                                 {"gone", "b", When::kSettled, false}}));
}

TEST_P(Dependencies, ALargeGraphIsCutAndSaysSo) {
  begin({.graph_nodes = 10});
  push({.id = "a"});
  push_each(numbered("d", 30), {.depends_on = {{"a"}}});
  const GraphReply graph = must(Graph{.id = "a"});
  EXPECT_TRUE(graph.truncated);
  EXPECT_LE(graph.nodes.size(), 10U);
  EXPECT_FALSE(must(Graph{.id = push({}).id}).truncated);
}

TEST_P(Dependencies, ALongChainIsNoTroubleAndItsEndCanBeReached) {
  const int length = GetParam().is_slow ? 1'000 : 10'000;
  const Ids ids = numbered("t", length);
  for (int begin_at = 0; begin_at < length; begin_at += 1'000) {
    std::vector<NewTask> batch;
    for (int i = begin_at; i < begin_at + 1'000; ++i) {
      const auto at = static_cast<std::size_t>(i);
      batch.push_back({.id = ids[at], .queue = "q"});
      if (i > 0) batch.back().depends_on = {{ids[at - 1]}};
    }
    push_batch(std::move(batch));
  }
  EXPECT_REFUSED(ask(Push{.tasks = {{.id = "x", .depends_on = {{"y"}, {ids.back()}}},
                                    {.id = "y", .depends_on = {{"x"}}}}}),
                 kDependencyCycle);
  for (int i = 0; i < 50; ++i) run(ids[static_cast<std::size_t>(i)]);
  EXPECT_EQ(state_of(ids[50]), kQueued);
  EXPECT_EQ(state_of(ids[51]), kDeferred);
}

TEST_P(Dependencies, AFanOutLargerThanAStepIsFreedInSteps) {
  begin({.steps = 10});
  push({.id = "a"});
  push_each(numbered("d", 95), {.depends_on = {{"a"}}});
  run("a");
  keep_calling_until([&] { return tasks_in(kDeferred) == 0; });
  EXPECT_EQ(tasks_in(kQueued), 95);
  EXPECT_EQ(must(Stats{}).edges, 0);
}

TEST_P(Dependencies, ACascadeLongerThanAStepIsDoneInSteps) {
  begin({.steps = 10});
  push({.id = "t0"});
  for (int i = 1; i < 95; ++i) {
    push({.id = "t" + std::to_string(i),
          .depends_on = {{"t" + std::to_string(i - 1)}},
          .on_dependency_cancel = OnDependencyCancel::kCancel});
  }
  cancel("t0");
  keep_calling_until([&] { return tasks_in(kDeferred) == 0; });
  EXPECT_EQ(tasks_in(kCanceled), 95);
  EXPECT_EQ(task("t94").reason, Reason::kDependency);
}

}  // namespace
}  // namespace retsu::conformance
