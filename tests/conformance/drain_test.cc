// Draining: nothing new is taken or given out, and what runs may end.

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(Drain);

TEST_P(Drain, RefusesEveryPushAlsoOfIdsThatExist) {
  push({.id = "a"});
  EXPECT_TRUE(must(StartDrain{}).draining);
  EXPECT_TRUE(must(Stats{}).draining);
  EXPECT_REFUSED(try_push({.id = "b"}), kDraining);
  EXPECT_REFUSED(try_push({.id = "a"}), kDraining);
  EXPECT_FALSE(exists("b"));
  EXPECT_FALSE(must(EndDrain{}).draining);
  EXPECT_FALSE(must(Stats{}).draining);
  EXPECT_TRUE(push({.id = "b"}).created);
}

TEST_P(Drain, AnswersClaimsEmptyAndSaysWhatRemains) {
  push_each({"a", "b"});
  must(StartDrain{});
  const ClaimReply held = claim({.max = 5});
  EXPECT_TRUE(held.tasks.empty());
  EXPECT_EQ(held.remaining, 2);
  must(EndDrain{});
  EXPECT_EQ(claim_ids(5), (Ids{"a", "b"}));
}

TEST_P(Drain, LetsWhatRunsEnd) {
  push_each({"a", "b"});
  const ClaimReply held = claim({.max = 2});
  EXPECT_EQ(must(StartDrain{}).running, 2);
  EXPECT_EQ(since_start(extend(held).lease_until), 60'000);
  EXPECT_TRUE(finish(held, "a").ok);
  EXPECT_TRUE(release(held, "b").ok);
  EXPECT_EQ(must(StartDrain{}).running, 0);
  EXPECT_EQ(state_of("b"), kQueued);
}

TEST_P(Drain, StopsSchedulesWhichAreCaughtUpAfterwards) {
  must(PutSchedule{.name = "s", .schedule = {.cron = "0 * * * *", .catch_up = CatchUp::kAll}});
  must(StartDrain{});
  advance(2h);
  EXPECT_EQ(tasks_in(kQueued), 0);
  must(EndDrain{});
  advance(0ms);
  EXPECT_EQ(tasks_in(kQueued), 2);
}

}  // namespace
}  // namespace retsu::conformance
