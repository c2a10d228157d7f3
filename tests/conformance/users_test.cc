// What is known of users, and what they may have.

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

class Users : public Conformance {
 protected:
  UserInfo info(const std::string& user, const std::string& queue = "default") {
    for (const UserInfo& each : all_pages(broker(), ListUsers{.queue = queue}, &UserList::users)) {
      if (each.user == user && each.queue == queue) return each;
    }
    throw Unexpected("no user " + user + " in " + queue);
  }
};
INSTANTIATE_TEST_SUITE_P(Conformance, Users, testing::ValuesIn(subject_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(Users, AreListedWithWhatWaitsAndRuns) {
  push({.id = "a", .user = "ann", .payload = json_of_size(10)});
  push({.id = "b", .user = "ann", .payload = json_of_size(10)});
  push({.id = "c", .user = "ann", .payload = json_of_size(10), .run_at = kStart + 1h});
  start("a");
  const UserInfo got = info("ann");
  EXPECT_EQ(got.weight, 1);
  EXPECT_EQ(got.waiting, 2);
  EXPECT_EQ(got.queued, 1);
  EXPECT_EQ(got.waiting_bytes, 20);
  EXPECT_EQ(got.running, 1);
  EXPECT_EQ(got.started, 1);
}

TEST_P(Users, AreListedForEachQueue) {
  push("x", {.user = "ann"});
  push("y", {.user = "ann"});
  push("y", {.user = "bob"});
  EXPECT_EQ(all_pages(broker(), ListUsers{.limit = 1}, &UserList::users).size(), 3U);
  EXPECT_EQ(all_pages(broker(), ListUsers{.queue = "x"}, &UserList::users).size(), 1U);
}

TEST_P(Users, HaveTheSettingsOfTheirQueueOrElseTheGeneralOnes) {
  put_user("ann", {.weight = 3, .max_running = 5});
  put_user("ann", {.weight = 2, .max_waiting = 7}, "x");
  push("x", {.user = "ann"});
  push("y", {.user = "ann"});
  EXPECT_EQ(info("ann", "x").weight, 2);
  EXPECT_EQ(info("ann", "x").max_running, 5);
  EXPECT_EQ(info("ann", "x").max_waiting, 7);
  EXPECT_EQ(info("ann", "y").weight, 3);
  EXPECT_EQ(info("ann", "y").max_running, 5);
  EXPECT_FALSE(info("ann", "y").max_waiting);
}

TEST_P(Users, APutAnswersWithWhatWasPut) {
  const PutUserReply reply = must(PutUser{.user = "ann", .queue = "x", .settings = {.weight = 2}});
  EXPECT_EQ(reply.user, "ann");
  EXPECT_EQ(reply.queue, "x");
  EXPECT_EQ(reply.settings, (UserSettings{.weight = 2}));
}

TEST_P(Users, ARaisedCapLetsTasksStart) {
  put_user("ann", {.max_running = 1});
  push_each(numbered("a", 3), {.user = "ann"});
  EXPECT_EQ(claim_ids(10), Ids{"a1"});
  put_user("ann", {.max_running = 2});
  EXPECT_EQ(claim_ids(10), Ids{"a2"});
  put_user("ann", {});
  EXPECT_EQ(claim_ids(10), Ids{"a3"});
}

TEST_P(Users, SharesAreToldAsGotAndAsDue) {
  put_user("ann", {.weight = 3});
  push_each(numbered("a", 20), {.user = "ann"});
  push_each(numbered("b", 20), {.user = "bob"});
  claim({.max = 8});
  EXPECT_NEAR(info("ann").share_got, 0.75, 1e-9);
  EXPECT_NEAR(info("bob").share_got, 0.25, 1e-9);
  EXPECT_NEAR(info("ann").share_due, 0.75, 1e-9);
  EXPECT_NEAR(info("bob").share_due, 0.25, 1e-9);
}

TEST_P(Users, TheirWaitsAreToldAsUpperBoundsWithin42Percent) {
  push_each(numbered("a", 20), {.user = "ann"});
  EXPECT_FALSE(info("ann").wait_p50_ms);
  advance(10s);
  claim({.max = 20});
  const UserInfo got = info("ann");
  EXPECT_GE(got.wait_p50_ms.value(), 10'000);
  EXPECT_LE(got.wait_p50_ms.value(), 14'200);
  EXPECT_GE(got.wait_p95_ms.value(), 10'000);
  EXPECT_LE(got.wait_p95_ms.value(), 14'200);
}

TEST_P(Users, AnyLegalIdWorks) {
  const Ids users = {"a:b", "a.b-c_d", ":", "-", std::string(128, 'u')};
  for (const std::string& user : users) push({.user = user});
  for (const std::string& user : users) {
    EXPECT_EQ(info(user).queued, 1);
    EXPECT_EQ(claim({.users = {user}}).tasks.size(), 1U) << user;
  }
}

}  // namespace
}  // namespace retsu::conformance
