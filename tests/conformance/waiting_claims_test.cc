// A claim that waits for work is woken by it at once.

#include <algorithm>
#include <thread>

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

class WaitingClaims : public Conformance {
 protected:
  using Answer = std::future<Result<ClaimReply>>;

  // The answer to a call on the same broker comes after that broker has taken the claim in.
  Answer wait_for_work(Claim request = {}) {
    request.wait_ms = 20'000;
    Answer answer = ask_later(std::move(request));
    must(Stats{});
    return answer;
  }
  Ids ids_in(Answer& answer) {
    const Result<ClaimReply> reply = soon(answer);
    if (!reply) throw Unexpected(reply.error().message);
    return ids_of(*reply);
  }
};
INSTANTIATE_TEST_SUITE_P(Conformance, WaitingClaims, testing::ValuesIn(subject_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(WaitingClaims, AreWokenByAPushOfAnotherThread) {
  Answer answer = wait_for_work();
  std::jthread pusher([&broker = broker()] { (void)call(broker, Push{.tasks = {{.id = "a"}}}); });
  EXPECT_EQ(ids_in(answer), Ids{"a"});
}

TEST_P(WaitingClaims, GetWhatIsThereWithoutWaiting) {
  push({.id = "a"});
  Answer answer = wait_for_work();
  EXPECT_EQ(ids_in(answer), Ids{"a"});
}

TEST_P(WaitingClaims, AreWokenByATimer) {
  push({.id = "a", .run_at = kStart + 5s});
  Answer answer = wait_for_work();
  EXPECT_EQ(answer.wait_for(0s), std::future_status::timeout);
  advance(5s);
  EXPECT_EQ(ids_in(answer), Ids{"a"});
}

TEST_P(WaitingClaims, AreWokenWhenPaceAllowsWhatWasPushedMeanwhile) {
  put_queue("default", {.interval_ms = 1'000});
  push({.id = "a"});
  run("a");
  Answer answer = wait_for_work();
  push({.id = "b"});
  advance(999ms);
  EXPECT_EQ(answer.wait_for(0s), std::future_status::timeout);
  advance(1ms);
  EXPECT_EQ(ids_in(answer), Ids{"b"});
}

TEST_P(WaitingClaims, ShareARateInTheOrderOfTheirComing) {
  put_queue("default", {.rate = Rate{.limit = 1, .per_ms = 1'000, .burst = 1}});
  Answer first = wait_for_work({.users = {"nobody", "anonymous"}});
  Answer second = wait_for_work();
  push({.id = "a"});
  push({.id = "b"});
  EXPECT_EQ(ids_in(first), Ids{"a"});
  EXPECT_EQ(second.wait_for(0s), std::future_status::timeout);
  advance(1s);
  EXPECT_EQ(ids_in(second), Ids{"b"});
}

TEST_P(WaitingClaims, AreWokenByAFinishedDependency) {
  push({.id = "a", .queue = "first"});
  push({.id = "b", .depends_on = {{"a"}}});
  Answer answer = wait_for_work();
  run("a");
  EXPECT_EQ(ids_in(answer), Ids{"b"});
}

TEST_P(WaitingClaims, AreWokenByARelease) {
  push({.id = "a"});
  const ClaimReply held = start("a");
  Answer answer = wait_for_work();
  release_claim(held);
  EXPECT_EQ(ids_in(answer), Ids{"a"});
}

TEST_P(WaitingClaims, AreWokenByAnExpiredLease) {
  push({.id = "a"});
  start("a", {.lease_ms = 1'000});
  Answer answer = wait_for_work();
  advance(1s);
  EXPECT_EQ(ids_in(answer), Ids{"a"});
}

TEST_P(WaitingClaims, AreWokenByAPermitThatComesBack) {
  put_queue("default", {.concurrency = 1});
  push_each({"a", "b"});
  const ClaimReply held = start("a");
  Answer answer = wait_for_work();
  finish(held, "a");
  EXPECT_EQ(ids_in(answer), Ids{"b"});
}

TEST_P(WaitingClaims, AreWokenByPaceThatAllowsAStart) {
  put_queue("default", {.rate = Rate{.limit = 1, .per_ms = 10'000}});
  push_each({"a", "b"});
  start("a");
  Answer answer = wait_for_work();
  advance(10s);
  EXPECT_EQ(ids_in(answer), Ids{"b"});
}

TEST_P(WaitingClaims, AreWokenByAResume) {
  put_queue("default", {.paused = true});
  push({.id = "a"});
  Answer answer = wait_for_work();
  must(ResumeQueue{.queue = "default"});
  EXPECT_EQ(ids_in(answer), Ids{"a"});
}

TEST_P(WaitingClaims, AreNotWokenByWorkForOthers) {
  Answer answer = wait_for_work({.queues = {"mine"}, .users = {"ann"}});
  push("other", {.id = "x", .user = "ann"});
  push("mine", {.id = "y", .user = "bob"});
  EXPECT_EQ(answer.wait_for(0s), std::future_status::timeout);
  push("mine", {.id = "a", .user = "ann"});
  EXPECT_EQ(ids_in(answer), Ids{"a"});
}

TEST_P(WaitingClaims, ShareOneTaskBetweenThemselvesOnce) {
  Answer first = wait_for_work();
  Answer second = wait_for_work();
  push({.id = "a"});
  push({.id = "b"});
  Ids got = ids_in(first);
  for (const std::string& id : ids_in(second)) got.push_back(id);
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, (Ids{"a", "b"}));
}

TEST_P(WaitingClaims, EndEmptyWhenTheirTimeIsOver) {
  Answer answer = ask_later(Claim{.wait_ms = 2'000});
  for (int i = 0; i < 1'000 && answer.wait_for(10ms) != std::future_status::ready; ++i) advance(1s);
  EXPECT_EQ(ids_in(answer), Ids{});
}

TEST_P(WaitingClaims, AreToldWhenTheBrokerEnds) {
  Answer answer = wait_for_work();
  end();
  const Result<ClaimReply> reply = soon(answer);
  EXPECT_REFUSED(reply, kShutdown);
}

}  // namespace
}  // namespace retsu::conformance
