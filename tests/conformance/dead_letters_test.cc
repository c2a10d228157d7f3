// FAILED tasks, looked at in groups and redriven or purged in bulk.

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

class DeadLetters : public Conformance {
 protected:
  void die(const std::string& id, const std::string& error, NewTask like = {}) {
    like.id = id;
    push(like);
    run_and_reject(id, error);
  }
};
INSTANTIATE_TEST_SUITE_P(Conformance, DeadLetters, testing::ValuesIn(subject_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(DeadLetters, AreTheFailedTasks) {
  die("a", "boom");
  push({.id = "b"});
  EXPECT_EQ(listed({.state = kFailed}), Ids{"a"});
  EXPECT_EQ(listed({.state = kFailed, .q = "boom"}), Ids{"a"});
}

TEST_P(DeadLetters, AreGroupedByErrorAndReasonTheLargestFirst) {
  die("a", "timeout");
  advance(1s);
  die("b", "refused");
  advance(1s);
  die("c", "refused");
  push({.id = "d", .max_attempts = 1});
  fail(start("d"), "d", "timeout");
  const DeadPage page = must(ListDead{.group = DeadGroupBy::kError});
  EXPECT_TRUE(page.tasks.empty());
  ASSERT_TRUE(page.groups);
  ASSERT_EQ(page.groups->size(), 3U);
  EXPECT_EQ(page.groups->at(0), (DeadGroup{"refused", Reason::kRejected, 2, kStart + 2s, "c"}));
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(page.groups->at(i).error, "timeout");
    EXPECT_EQ(page.groups->at(i).count, 1);
  }
  EXPECT_EQ(must(ListDead{.group = DeadGroupBy::kError, .limit = 1}).groups->size(), 1U);
}

TEST_P(DeadLetters, GroupsObeyTheFilter) {
  die("a", "x", {.queue = "q"});
  die("b", "y");
  const DeadPage page = must(ListDead{.filter = {.queue = "q"}, .group = DeadGroupBy::kError});
  ASSERT_TRUE(page.groups);
  ASSERT_EQ(page.groups->size(), 1U);
  EXPECT_EQ(page.groups->at(0).example, "a");
}

TEST_P(DeadLetters, AreListedPageByPageTheNewestFirst) {
  die("a", "x");
  die("b", "y", {.queue = "q"});
  die("c", "x");
  make(kCanceled, "canceled");
  const DeadPage first = must(ListDead{.limit = 2});
  ASSERT_EQ(first.tasks.size(), 2U);
  EXPECT_EQ(first.tasks.at(0).id, "c");
  EXPECT_EQ(first.tasks.at(1).id, "b");
  EXPECT_FALSE(first.groups);
  ASSERT_TRUE(first.next_cursor);
  const DeadPage rest = must(ListDead{.limit = 2, .cursor = *first.next_cursor});
  ASSERT_EQ(rest.tasks.size(), 1U);
  EXPECT_EQ(rest.tasks.at(0).id, "a");
  EXPECT_FALSE(rest.next_cursor);
  EXPECT_EQ(must(ListDead{.filter = {.queue = "q"}}).tasks.size(), 1U);
  EXPECT_TRUE(must(ListDead{.filter = {.state = kCanceled}}).tasks.empty());
}

TEST_P(DeadLetters, ARedriveOfThemLeavesCanceledTasksAlone) {
  die("a", "x");
  make(kCanceled, "canceled");
  EXPECT_EQ(must(RedriveDead{.dry_run = true}), (BulkReply{1, 0}));
  EXPECT_EQ(must(RedriveDead{.expect = 1}), (BulkReply{1, 1}));
  EXPECT_EQ(state_of("a"), kQueued);
  EXPECT_EQ(state_of("canceled"), kCanceled);
}

TEST_P(DeadLetters, AreRedrivenInBulkByFilter) {
  die("a", "x", {.user = "ann"});
  die("b", "x", {.user = "bob"});
  die("c", "x", {.user = "ann"});
  const BulkReply reply =
      must(RetryTasks{.filter = {.state = kFailed, .user = "ann"}, .expect = 2});
  EXPECT_EQ(reply, (BulkReply{2, 2}));
  EXPECT_EQ(state_of("a"), kQueued);
  EXPECT_EQ(state_of("b"), kFailed);
  EXPECT_EQ(state_of("c"), kQueued);
  EXPECT_EQ(counter("redriven"), 2);
}

TEST_P(DeadLetters, AnotherNumberThanExpectedIsRefused) {
  die("a", "x");
  die("b", "x");
  const Snapshot before = everything();
  EXPECT_REFUSED(ask(RetryTasks{.filter = {.state = kFailed}, .expect = 1}), kConflict);
  EXPECT_REFUSED(ask(PurgeDead{.filter = {}, .expect = 3}), kConflict);
  EXPECT_TRUE(is_same(before, everything()));
}

TEST_P(DeadLetters, ADryRunCountsAndChangesNothing) {
  die("a", "x");
  die("b", "x");
  const Snapshot before = everything();
  EXPECT_EQ(must(RetryTasks{.filter = {.state = kFailed}, .dry_run = true}).matched, 2);
  EXPECT_EQ(must(RetryTasks{.filter = {.state = kFailed}, .dry_run = true}).changed, 0);
  EXPECT_EQ(must(PurgeDead{.filter = {}, .dry_run = true}), (BulkReply{2, 0}));
  EXPECT_TRUE(is_same(before, everything()));
}

TEST_P(DeadLetters, CanBePurgedByFilter) {
  die("a", "x", {.queue = "q"});
  die("b", "y", {.queue = "q"});
  make(kFinished, "finished", {.queue = "q"});
  EXPECT_EQ(must(PurgeDead{.filter = {.queue = "q", .q = "x"}, .expect = 1}), (BulkReply{1, 1}));
  EXPECT_FALSE(exists("a"));
  EXPECT_TRUE(exists("b"));
  EXPECT_EQ(must(PurgeDead{.filter = {.queue = "q"}, .expect = 1}), (BulkReply{1, 1}));
  EXPECT_TRUE(exists("finished"));
}

TEST_P(DeadLetters, WaitingTasksAreCanceledInBulkByFilter) {
  push_each(numbered("a", 3), {.tags = {"old"}});
  push_each({"b"});
  EXPECT_EQ(must(CancelTasks{.filter = {.tag = "old"}, .dry_run = true}).matched, 3);
  EXPECT_EQ(tasks_in(kCanceled), 0);
  EXPECT_REFUSED(ask(CancelTasks{.filter = {.tag = "old"}, .expect = 4}), kConflict);
  EXPECT_EQ(must(CancelTasks{.filter = {.tag = "old"}, .expect = 3}), (BulkReply{3, 3}));
  EXPECT_EQ(tasks_in(kCanceled), 3);
  EXPECT_EQ(state_of("b"), kQueued);
}

TEST_P(DeadLetters, ABulkRedriveLeavesOutWhatMayNotBe) {
  push({.id = "a", .unique_key = "k"});
  run_and_reject("a");
  die("b", "x");
  push({.id = "holder", .unique_key = "k"});
  const BulkReply reply = must(RetryTasks{.filter = {.state = kFailed}, .expect = 2});
  EXPECT_EQ(reply.matched, 2);
  EXPECT_EQ(reply.changed, 1);
  EXPECT_EQ(state_of("a"), kFailed);
  EXPECT_EQ(state_of("b"), kQueued);
}

}  // namespace
}  // namespace retsu::conformance
