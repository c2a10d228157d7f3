// A dependency that fails, is canceled, or is gone: what the policies say.

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(DependencyEnds);

using Inputs = std::map<std::string, Input>;
constexpr auto kCancelOnFailure = OnDependencyFailure::kCancel;
constexpr auto kRunOnFailure = OnDependencyFailure::kRun;
constexpr auto kCancelOnCancel = OnDependencyCancel::kCancel;

TEST_P(DependencyEnds, AFailureLeavesWhoWaitsDeferred) {
  push({.id = "a"});
  push({.id = "b", .depends_on = {{"a"}}});
  run_and_reject("a");
  EXPECT_EQ(state_of("b"), kDeferred);
  EXPECT_EQ(blocked_by("b"), Ids{"a"});
}

TEST_P(DependencyEnds, ADeadLetterRedrivenAndFinishedFreesWhoWaits) {
  push({.id = "a"});
  push({.id = "b", .depends_on = {{"a"}}});
  run_and_reject("a");
  redrive("a");
  EXPECT_EQ(state_of("b"), kDeferred);
  run("a", "5");
  EXPECT_EQ(state_of("b"), kQueued);
  EXPECT_EQ(start("b").tasks.at(0).inputs, (Inputs{{"a", {kFinished, "5"}}}));
}

TEST_P(DependencyEnds, AFailureThatWillBeRetriedIsNotAnEnd) {
  push({.id = "a"});
  push({.id = "b", .depends_on = {{"a", When::kSettled}}});
  push({.id = "c", .depends_on = {{"a"}}, .on_dependency_failure = kCancelOnFailure});
  fail(start("a"), "a");
  EXPECT_EQ(state_of("b"), kDeferred);
  EXPECT_EQ(state_of("c"), kDeferred);
}

TEST_P(DependencyEnds, AFailureMayCancelWhoWaits) {
  push({.id = "a"});
  push({.id = "deferred", .depends_on = {{"a"}}, .on_dependency_failure = kCancelOnFailure});
  push({.id = "scheduled",
        .run_at = kStart + 1h,
        .depends_on = {{"a"}},
        .on_dependency_failure = kCancelOnFailure});
  run_and_reject("a");
  for (const char* id : {"deferred", "scheduled"}) {
    EXPECT_EQ(state_of(id), kCanceled) << id;
    EXPECT_EQ(task(id).reason, Reason::kDependency) << id;
  }
}

TEST_P(DependencyEnds, AFailureMayCountAsMet) {
  push({.id = "a"});
  push({.id = "b", .depends_on = {{"a"}}, .on_dependency_failure = kRunOnFailure});
  run_and_reject("a");
  EXPECT_EQ(state_of("b"), kQueued);
  EXPECT_EQ(start("b").tasks.at(0).inputs, (Inputs{{"a", {kFailed, {}}}}));
}

TEST_P(DependencyEnds, AnExpiredDependencyIsAFailure) {
  push({.id = "a", .expires_at = kStart + 1s});
  push({.id = "b", .depends_on = {{"a"}}, .on_dependency_failure = kCancelOnFailure});
  push({.id = "c", .depends_on = {{"a"}}});
  advance(1s);
  EXPECT_EQ(state_of("b"), kCanceled);
  EXPECT_EQ(state_of("c"), kDeferred);
}

// What has failed is waited for only by those who wait for its redrive.
TEST_P(DependencyEnds, ATaskThatFailsAsItComesClosesNoCycle) {
  push_each({"gone", "other"});
  run_and_reject("gone");
  remove("gone");
  const PushReply pushed = must(Push{
      .tasks = {
          {.id = "a", .depends_on = {{"gone"}, {"b"}}},
          {.id = "b", .depends_on = {{"a"}, {"other"}}, .on_dependency_failure = kRunOnFailure}}});
  EXPECT_EQ(pushed.tasks.at(0).state, kFailed);
  EXPECT_EQ(pushed.tasks.at(1).state, kDeferred);
  EXPECT_EQ(blocked_by("b"), Ids{"other"});
}

TEST_P(DependencyEnds, ATaskThatFailsAsItComesClosesACycleWithThoseWhoWaitedBefore) {
  push_each({"gone"});
  run_and_reject("gone");
  remove("gone");
  EXPECT_REFUSED(
      ask(Push{.tasks = {{.id = "b", .depends_on = {{"a"}}, .on_dependency_failure = kRunOnFailure},
                         {.id = "a", .depends_on = {{"gone"}, {"b"}}}}}),
      kDependencyCycle);
}

TEST_P(DependencyEnds, ACancelDropsTheReferenceAndFreesWhoHasNothingLeft) {
  push_each({"a", "other"});
  push({.id = "b", .depends_on = {{"a"}}});
  push({.id = "c", .depends_on = {{"a"}, {"other"}}});
  cancel("a");
  EXPECT_EQ(state_of("b"), kQueued);
  EXPECT_TRUE(task("b").depends_on.empty());
  EXPECT_EQ(state_of("c"), kDeferred);
  EXPECT_EQ(task("c").depends_on, (std::vector<Dependency>{{"other"}}));
  EXPECT_EQ(blocked_by("c"), Ids{"other"});
  EXPECT_TRUE(start("other").tasks.at(0).inputs.empty());
}

TEST_P(DependencyEnds, ADroppedReferenceIsNotAnInput) {
  push_each({"a", "other"});
  push({.id = "c", .depends_on = {{"a"}, {"other"}}});
  cancel("a");
  run("other", "1");
  EXPECT_EQ(start("c").tasks.at(0).inputs, (Inputs{{"other", {kFinished, "1"}}}));
}

TEST_P(DependencyEnds, ACancelMayCancelWhoWaitsAndThatGoesOn) {
  push({.id = "a"});
  push({.id = "b", .depends_on = {{"a"}}, .on_dependency_cancel = kCancelOnCancel});
  push({.id = "c", .depends_on = {{"b"}}, .on_dependency_cancel = kCancelOnCancel});
  push({.id = "d", .depends_on = {{"c"}}});
  push({.id = "e",
        .run_at = kStart + 1h,
        .depends_on = {{"a"}},
        .on_dependency_cancel = kCancelOnCancel});
  cancel("a");
  for (const char* id : {"b", "c", "e"}) {
    EXPECT_EQ(state_of(id), kCanceled) << id;
    EXPECT_EQ(task(id).reason, Reason::kDependency) << id;
  }
  EXPECT_EQ(state_of("d"), kQueued);
}

TEST_P(DependencyEnds, SettledIsMetByAnyEndWhateverThePolicies) {
  for (const State ended : {kFinished, kFailed, kCanceled}) {
    const std::string id(name_of(ended));
    push({.id = id, .queue = id});
    push({.id = "after-" + id,
          .queue = "after-" + id,
          .depends_on = {{id, When::kSettled}},
          .on_dependency_failure = kCancelOnFailure,
          .on_dependency_cancel = kCancelOnCancel});
    if (ended == kFinished) run(id, "1");
    if (ended == kFailed) run_and_reject(id);
    if (ended == kCanceled) cancel(id);
    EXPECT_EQ(state_of("after-" + id), kQueued) << id;
    EXPECT_EQ(start("after-" + id).tasks.at(0).inputs.at(id).state, ended);
  }
}

TEST_P(DependencyEnds, ADependencyThatHasEndedCountsAsIfItEndedNow) {
  make(kFailed, "failed");
  make(kCanceled, "canceled");
  EXPECT_EQ(push({.id = "b1", .depends_on = {{"failed"}}}).state, kDeferred);
  push({.id = "b2", .depends_on = {{"failed"}}, .on_dependency_failure = kCancelOnFailure});
  EXPECT_EQ(state_of("b2"), kCanceled);
  push({.id = "b3", .depends_on = {{"failed"}}, .on_dependency_failure = kRunOnFailure});
  EXPECT_EQ(state_of("b3"), kQueued);
  push({.id = "b4", .depends_on = {{"failed", When::kSettled}}});
  EXPECT_EQ(state_of("b4"), kQueued);
  push({.id = "b5", .depends_on = {{"canceled"}}});
  EXPECT_EQ(state_of("b5"), kQueued);
  push({.id = "b6", .depends_on = {{"canceled"}}, .on_dependency_cancel = kCancelOnCancel});
  EXPECT_EQ(state_of("b6"), kCanceled);
  EXPECT_EQ(task("b6").reason, Reason::kDependency);
  redrive("failed");
  run("failed");
  EXPECT_EQ(state_of("b1"), kQueued);
}

TEST_P(DependencyEnds, ATombstoneOfAFinishedTaskIsMetWithoutAResult) {
  push({.id = "a"});
  run("a", "1");
  remove("a");
  EXPECT_EQ(push({.id = "b", .depends_on = {{"a"}}}).state, kQueued);
  EXPECT_EQ(start("b").tasks.at(0).inputs, (Inputs{{"a", {kFinished, {}}}}));
}

TEST_P(DependencyEnds, ATombstoneOfACanceledTaskCountsByPolicy) {
  make(kCanceled, "a");
  remove("a");
  push({.id = "b", .depends_on = {{"a"}}});
  EXPECT_EQ(state_of("b"), kQueued);
  push({.id = "c", .depends_on = {{"a"}}, .on_dependency_cancel = kCancelOnCancel});
  EXPECT_EQ(state_of("c"), kCanceled);
}

TEST_P(DependencyEnds, ATombstoneOfAFailedTaskCountsByPolicyAndIsNotWaitedFor) {
  make(kFailed, "a");
  remove("a");
  push({.id = "wait", .depends_on = {{"a"}}});
  EXPECT_EQ(state_of("wait"), kFailed);
  EXPECT_EQ(task("wait").reason, Reason::kDependencyFailed);
  push({.id = "cancel", .depends_on = {{"a"}}, .on_dependency_failure = kCancelOnFailure});
  EXPECT_EQ(state_of("cancel"), kCanceled);
  push({.id = "run", .depends_on = {{"a"}}, .on_dependency_failure = kRunOnFailure});
  EXPECT_EQ(state_of("run"), kQueued);
  push({.id = "settled", .depends_on = {{"a", When::kSettled}}});
  EXPECT_EQ(state_of("settled"), kQueued);
}

TEST_P(DependencyEnds, RemovingAFailedTaskFailsWhoWaitsForIt) {
  push({.id = "a"});
  push({.id = "deferred", .depends_on = {{"a"}}});
  push({.id = "scheduled", .run_at = kStart + 1h, .depends_on = {{"a"}}});
  run_and_reject("a");
  remove("a");
  for (const char* id : {"deferred", "scheduled"}) {
    EXPECT_EQ(state_of(id), kFailed) << id;
    EXPECT_EQ(task(id).reason, Reason::kDependencyFailed) << id;
  }
}

TEST_P(DependencyEnds, RetentionOfAFailedTaskEndsTheWaitForIt) {
  push({.id = "a"});
  push({.id = "b", .depends_on = {{"a"}}});
  run_and_reject("a");
  advance(7 * 24h - 1ms);
  EXPECT_EQ(state_of("b"), kDeferred);
  advance(1ms);
  EXPECT_EQ(state_of("b"), kFailed);
  EXPECT_EQ(task("b").reason, Reason::kDependencyFailed);
}

TEST_P(DependencyEnds, AnExpiredTaskRedrivenStillWaitsForWhatItWaitedFor) {
  push({.id = "a"});
  push({.id = "b", .depends_on = {{"a"}}, .expires_at = kStart + 1s});
  advance(1s);
  EXPECT_EQ(state_of("b"), kFailed);
  EXPECT_EQ(redrive("b").state, kDeferred);
  run("a");
  EXPECT_EQ(state_of("b"), kQueued);
}

TEST_P(DependencyEnds, ACanceledTaskRedrivenHasLostItsReferences) {
  push({.id = "a"});
  push({.id = "b", .depends_on = {{"a"}}});
  cancel("b");
  EXPECT_EQ(must(Stats{}).edges, 0);
  EXPECT_EQ(redrive("b").state, kQueued);
}

TEST_P(DependencyEnds, AFailedDependentRedrivenAfterItsDependencyIsGoneIsQueued) {
  push({.id = "a"});
  push({.id = "b", .depends_on = {{"a"}}});
  run_and_reject("a");
  remove("a");
  EXPECT_EQ(state_of("b"), kFailed);
  EXPECT_EQ(redrive("b").state, kQueued);
}

TEST_P(DependencyEnds, AMetDependencyWhoseResultIsStillNeededCannotBeRemoved) {
  push_each({"a", "other"});
  push({.id = "b", .depends_on = {{"a"}, {"other"}}});
  run("a", "1");
  EXPECT_REFUSED(ask(RemoveTask{.id = "a"}), kConflict);
  run("other");
  run("b");
  remove("a");
}

TEST_P(DependencyEnds, ADependentThatEndsLeavesItsDependenciesAlone) {
  push({.id = "a"});
  push({.id = "b", .depends_on = {{"a"}}});
  cancel("b");
  EXPECT_EQ(state_of("a"), kQueued);
}

}  // namespace
}  // namespace retsu::conformance
