// Queues: their policy, what they hold, and how they are emptied.

#include <set>

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

class Queues : public Conformance {
 protected:
  std::set<std::string> names() {
    std::set<std::string> all;
    for (const QueueInfo& each : all_pages(broker(), ListQueues{.limit = 2}, &QueueList::queues)) {
      all.insert(each.queue);
    }
    return all;
  }
  QueueInfo patch(const std::string& queue, const std::string& fields) {
    return must(PatchQueue{.queue = queue, .patch = Json(fields)});
  }
};
INSTANTIATE_TEST_SUITE_P(Conformance, Queues, testing::ValuesIn(subject_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(Queues, AreMadeByTheFirstPushOrBySettingThem) {
  push("pushed", {});
  put_queue("put", {});
  patch("patched", R"({"concurrency":1})");
  must(PauseQueue{.queue = "paused"});
  must(ResumeQueue{.queue = "resumed"});
  claim_from("claimed");
  EXPECT_EQ(names(), (std::set<std::string>{"pushed", "put", "patched", "paused", "resumed"}));
  EXPECT_REFUSED(ask(GetQueue{.queue = "claimed"}), kNotFound);
  EXPECT_EQ(must(Stats{}).queues, 5);
}

TEST_P(Queues, HaveTheDefaultPolicyUntilTheyAreTold) {
  push("q", {});
  EXPECT_EQ(queue_info("q").policy, QueuePolicy{});
}

TEST_P(Queues, KeepTheWholePolicyThatWasPut) {
  const QueuePolicy policy{
      .concurrency = 7,
      .interval_ms = 8,
      .rate = Rate{.limit = 9, .per_ms = 10, .burst = 11},
      .throttle_ms = 12,
      .max_hold_ms = 13'000,
      .retry = {.kind = RetryKind::kFixed, .base_ms = 14, .factor = 1.5, .jitter = 0.5},
      .breaker = Breaker{.after = 15},
      .lease_ms = 16'000,
      .timeout_ms = 17'000,
      .aging_ms = kStrictAging,
      .paused = true,
      .await_keeps_permit = true,
      .retention = {.finished_ms = 18, .max_tasks = 19}};
  EXPECT_EQ(put_queue("q", policy).policy, policy);
  EXPECT_EQ(queue_info("q").policy, policy);
  EXPECT_EQ(put_queue("q", {}).policy, QueuePolicy{});
}

TEST_P(Queues, APatchChangesOnlyWhatItNames) {
  put_queue("q", {.concurrency = 7, .lease_ms = 9'000});
  const QueueInfo got =
      patch("q", R"({"interval_ms":5,"retry":{"base_ms":250},"aging_ms":"strict"})");
  EXPECT_EQ(got.policy.concurrency, 7);
  EXPECT_EQ(got.policy.lease_ms, 9'000);
  EXPECT_EQ(got.policy.interval_ms, 5);
  EXPECT_EQ(got.policy.retry.base_ms, 250);
  EXPECT_EQ(got.policy.aging_ms, kStrictAging);
  EXPECT_EQ(queue_info("q").policy, got.policy);
}

TEST_P(Queues, APatchWithNullResets) {
  put_queue("q", {.concurrency = 7, .lease_ms = 9'000});
  const QueueInfo got = patch("q", R"({"concurrency":null,"lease_ms":null})");
  EXPECT_FALSE(got.policy.concurrency);
  EXPECT_EQ(got.policy.lease_ms, 60'000);
}

TEST_P(Queues, ABadPatchChangesNothing) {
  put_queue("q", {.concurrency = 7});
  const Snapshot before = everything();
  EXPECT_REFUSED(ask(PatchQueue{.queue = "q", .patch = R"({"interval_ms":5,"concurrency":0})"}),
                 kInvalid);
  EXPECT_REFUSED(ask(PatchQueue{.queue = "q", .patch = R"({"concurency":5})"}), kUnknownField);
  EXPECT_REFUSED(ask(PatchQueue{.queue = "q", .patch = R"([1])"}), kInvalid);
  EXPECT_TRUE(is_same(before, everything()));
}

TEST_P(Queues, PauseAndResumeAreToldInThePolicy) {
  EXPECT_TRUE(must(PauseQueue{.queue = "q"}).policy.paused);
  EXPECT_TRUE(must(PauseQueue{.queue = "q"}).policy.paused);
  EXPECT_FALSE(must(ResumeQueue{.queue = "q"}).policy.paused);
}

TEST_P(Queues, CountTheirTasksByState) {
  for (const State state :
       {kScheduled, kDeferred, kQueued, kStarted, kFinished, kFailed, kCanceled}) {
    const std::string id(name_of(state));
    make(state, id, {.queue = "q", .user = id});
  }
  push("q", {.user = "another"});
  push("other", {});
  const QueueInfo got = queue_info("q");
  EXPECT_EQ(got.queue, "q");
  EXPECT_EQ(count_of(got.tasks, "SCHEDULED"), 1);
  EXPECT_EQ(count_of(got.tasks, "DEFERRED"), 1);
  EXPECT_EQ(count_of(got.tasks, "QUEUED"), 2);
  EXPECT_EQ(count_of(got.tasks, "STARTED"), 1);
  EXPECT_EQ(count_of(got.tasks, "FINISHED"), 1);
  EXPECT_EQ(count_of(got.tasks, "FAILED"), 1);
  EXPECT_EQ(count_of(got.tasks, "CANCELED"), 1);
  EXPECT_EQ(got.running, 1);
  EXPECT_EQ(got.users, 2);
}

TEST_P(Queues, CountTheBytesThatWait) {
  push("q", {.id = "a", .payload = json_of_size(100)});
  push("q", {.id = "b", .payload = json_of_size(50), .run_at = kStart + 1h});
  EXPECT_EQ(queue_info("q").waiting_bytes, 150);
  const ClaimReply held = start("a");
  EXPECT_EQ(queue_info("q").waiting_bytes, 50);
  release_claim(held);
  EXPECT_EQ(queue_info("q").waiting_bytes, 150);
  cancel("b");
  EXPECT_EQ(queue_info("q").waiting_bytes, 100);
}

TEST_P(Queues, TellTheAgeOfTheOldestQueuedTaskToTheSecond) {
  push("q", {.id = "later", .run_at = kStart + 1h});
  EXPECT_FALSE(queue_info("q").oldest_age_ms);
  push("q", {.id = "a"});
  advance(90s);
  push("q", {.id = "b"});
  EXPECT_NEAR(static_cast<double>(queue_info("q").oldest_age_ms.value()), 90'000, 1'000);
  run("a");
  EXPECT_NEAR(static_cast<double>(queue_info("q").oldest_age_ms.value()), 0, 1'000);
}

TEST_P(Queues, CountByThemselves) {
  push("x", {.id = "a"});
  push("y", {.id = "b"});
  run("a");
  EXPECT_EQ(count_of(queue_info("x").counters, "finished"), 1);
  EXPECT_EQ(count_of(queue_info("y").counters, "finished"), 0);
  EXPECT_EQ(count_of(queue_info("y").counters, "pushed"), 1);
}

TEST_P(Queues, APurgeCancelsWhatWaitsAndNothingElse) {
  for (const State state : {kScheduled, kDeferred, kQueued, kStarted, kFinished}) {
    const std::string id(name_of(state));
    make(state, id, {.queue = "q", .user = id});
  }
  push("other", {.id = "x"});
  const BulkReply reply = must(PurgeQueue{.queue = "q"});
  EXPECT_EQ(reply.changed, 3);
  for (const char* id : {"SCHEDULED", "DEFERRED", "QUEUED"}) EXPECT_EQ(state_of(id), kCanceled);
  EXPECT_EQ(state_of("STARTED"), kStarted);
  EXPECT_EQ(state_of("FINISHED"), kFinished);
  EXPECT_EQ(state_of("x"), kQueued);
}

TEST_P(Queues, ADeleteIsRefusedWhileTasksLive) {
  for (const State state : {kScheduled, kDeferred, kQueued, kStarted}) {
    const std::string id(name_of(state));
    make(state, id);
    EXPECT_REFUSED(ask(DeleteQueue{.queue = "of-" + id}), kConflict);
    EXPECT_EQ(state_of(id), state);
  }
}

TEST_P(Queues, ADeletedQueueTakesItsEndedTasksAlong) {
  put_queue("q", {.concurrency = 1});
  push_each({"a", "b"}, {.queue = "q"});
  run("a");
  cancel("b");
  EXPECT_TRUE(ask(DeleteQueue{.queue = "q"}));
  EXPECT_REFUSED(ask(GetQueue{.queue = "q"}), kNotFound);
  EXPECT_FALSE(exists("a"));
  EXPECT_FALSE(exists("b"));
  push("q", {});
  EXPECT_FALSE(queue_info("q").policy.concurrency);
}

TEST_P(Queues, ThereIsALimitToHowMany) {
  begin({.queues = 2});
  push("a", {});
  put_queue("b", {});
  EXPECT_REFUSED(try_push({.queue = "c"}), kOverloaded);
  EXPECT_REFUSED(ask(PutQueue{.queue = "c"}), kOverloaded);
  EXPECT_TRUE(push("b", {}).created);
}

}  // namespace
}  // namespace retsu::conformance
