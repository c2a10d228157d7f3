#include "ingest/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace retsu {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kYear = 365 * kDay;
constexpr TimePoint kNow = std::chrono::sys_days{std::chrono::year{2026} / 11 / 15};

// "" if the command is valid, else `code message`.
std::string problem(const Command& command, const Limits& limits = {}) {
  const auto status = validate(command, limits);
  if (status) return "";
  return std::string(row_of(status.error().code).name) + " " + status.error().message;
}

// A valid operation, and ways to spoil it.
template <class Op>
struct Spoiled {
  std::string_view expected;  // the beginning of the problem; "" if it stays valid
  std::function<void(Op&)> spoil;
};
template <class Op>
void expect_problems(const Op& valid, const std::vector<Spoiled<Op>>& table) {
  EXPECT_EQ(problem(valid), "");
  for (const auto& row : table) {
    Op op = valid;
    row.spoil(op);
    if (row.expected.empty()) {
      EXPECT_EQ(problem(op), "");
    } else {
      EXPECT_THAT(problem(op), StartsWith(std::string(row.expected)));
    }
  }
}

std::string repeat(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST(Validation, OfATask) {
  const auto task = [](std::string_view expected, const std::function<void(NewTask&)>& spoil) {
    return Spoiled<Push>{expected, [spoil](Push& push) { spoil(push.tasks[1]); }};
  };
  expect_problems<Push>(
      {.tasks = std::vector<NewTask>(2), .partial = false},
      {
          task("", [](auto& t) { t.id = "aZ09._:-"; }),
          task("", [](auto& t) { t.id = std::string(128, 'x'); }),
          task("invalid tasks[1].id: must be 1 to 128 of A-Z a-z 0-9 . _ : -",
               [](auto& t) { t.id = std::string(129, 'x'); }),
          task("invalid tasks[1].id: ", [](auto& t) { t.id = "a b"; }),
          task("invalid tasks[1].id: ", [](auto& t) { t.id = std::string("a\0", 2); }),
          task("invalid tasks[1].queue: must be 1 to 64 of A-Z a-z 0-9 . _ -",
               [](auto& t) { t.queue = ""; }),
          task("invalid tasks[1].queue: ", [](auto& t) { t.queue = "a:b"; }),
          task("invalid tasks[1].queue: ", [](auto& t) { t.queue = std::string(65, 'q'); }),
          task("invalid tasks[1].user: ", [](auto& t) { t.user = ""; }),
          task("", [](auto& t) { t.user = "a:b"; }),
          task("", [](auto& t) { t.type = "send a mail 列"; }),
          task("invalid tasks[1].type: 129 bytes, but at most 128 are allowed",
               [](auto& t) { t.type = std::string(129, 't'); }),
          task("invalid tasks[1].type: must be valid UTF-8 without control characters",
               [](auto& t) { t.type = "a\nb"; }),
          task("invalid tasks[1].type: ", [](auto& t) { t.type = "\xff"; }),
          task("invalid tasks[1].priority: must be 1 to 6, but is 0",
               [](auto& t) { t.priority.value = 0; }),
          task("invalid tasks[1].priority: ", [](auto& t) { t.priority.value = 7; }),
          task("invalid tasks[1].payload: must be a JSON value", [](auto& t) { t.payload = ""; }),
          task("invalid tasks[1].payload: not valid JSON", [](auto& t) { t.payload = "{"; }),
          task("invalid tasks[1].payload: nested too deeply",
               [](auto& t) { t.payload = repeat("[", 65) + repeat("]", 65); }),
          task("", [](auto& t) { t.payload = "\"" + std::string((1 << 20) - 2, 'x') + "\""; }),
          task("too_large tasks[1].payload: 1048577 bytes, but at most 1048576 are allowed",
               [](auto& t) { t.payload = "\"" + std::string((1 << 20) - 1, 'x') + "\""; }),
          task("", [](auto& t) { t.run_at = kNow; }),
          task("invalid tasks[1].run_at: must lie in the years 2000 to 9999",
               [](auto& t) { t.run_at = TimePoint{}; }),
          task("invalid tasks[1].expires_at: ", [](auto& t) { t.expires_at = kNever; }),
          task("invalid tasks[1].depends_on[1]: must be 1 to 128",
               [](auto& t) {
                 t.depends_on = {{"a"}, {""}};
               }),
          task("", [](auto& t) { t.depends_on.assign(1'000, {"a"}); }),
          task("too_large tasks[1].depends_on: 1001 of them",
               [](auto& t) { t.depends_on.assign(1'001, {"a"}); }),
          task("invalid tasks[1].unique_key: ",
               [](auto& t) { t.unique_key = std::string(513, 'k'); }),
          task("invalid tasks[1].unique_key: ", [](auto& t) { t.unique_key = "a\tb"; }),
          task("invalid tasks[1].trace: ", [](auto& t) { t.trace = std::string(129, 't'); }),
          task("", [](auto& t) { t.timeout_ms = 0; }),
          task("invalid tasks[1].timeout_ms: must be 0 to 315360000000 ms (3650d), but is -1",
               [](auto& t) { t.timeout_ms = -1; }),
          task("invalid tasks[1].timeout_ms: ", [](auto& t) { t.timeout_ms = 10 * kYear + 1; }),
          task("invalid tasks[1].max_attempts: ", [](auto& t) { t.max_attempts = 0; }),
          task("invalid tasks[1].max_attempts: ", [](auto& t) { t.max_attempts = 1'001; }),
          task("invalid tasks[1].retry.factor: must be a number from 1 to 100",
               [](auto& t) { t.retry = Retry{.factor = 0.5}; }),
          task("invalid tasks[1].tags[0]: must not be empty", [](auto& t) { t.tags = {""}; }),
          task("invalid tasks[1].tags: a is given twice",
               [](auto& t) {
                 t.tags = {"a", "b", "a"};
               }),
          task("too_large tasks[1].tags[0]: ", [](auto& t) { t.tags = {std::string(65, 't')}; }),
          task("too_large tasks[1].tags: 17 of them", [](auto& t) { t.tags.assign(17, "t"); }),
      });
}

TEST(Validation, OfAPush) {
  EXPECT_THAT(problem(Push{}), HasSubstr("tasks: there must be at least one"));
  EXPECT_EQ(problem(Push{std::vector<NewTask>(1'000)}), "");
  EXPECT_THAT(problem(Push{std::vector<NewTask>(1'001)}),
              StartsWith("too_large tasks: 1001 of them, but at most 1000 are allowed at once"));
  Limits few;
  few.batch = 1;
  EXPECT_THAT(problem(Push{std::vector<NewTask>(2)}, few), StartsWith("too_large tasks: "));
}

TEST(Validation, BelievesTheCodecThatJsonIsJson) {
  Push push{std::vector<NewTask>(1)};
  push.tasks[0].payload = "{";
  EXPECT_FALSE(validate(push, {}));
  EXPECT_TRUE(validate(push, {}, JsonOrigin::kCodec));
}

TEST(Validation, OfAPolicy) {
  expect_problems<PutQueue>(
      {.queue = "q", .policy = {}},
      {
          {"invalid queue: ", [](auto& q) { q.queue = "a b"; }},
          {"", [](auto& q) { q.policy.concurrency = 1'000'000; }},
          {"invalid concurrency: ", [](auto& q) { q.policy.concurrency = 0; }},
          {"invalid interval_ms: ", [](auto& q) { q.policy.interval_ms = kDay + 1; }},
          {"",
           [](auto& q) {
             q.policy.rate = Rate{1, 1, 0};
           }},
          {"invalid rate.limit: ",
           [](auto& q) {
             q.policy.rate = Rate{0, 1, 0};
           }},
          {"invalid rate.per_ms: ",
           [](auto& q) {
             q.policy.rate = Rate{1, 0, 0};
           }},
          {"invalid rate.burst: ",
           [](auto& q) {
             q.policy.rate = Rate{1, 1, 1'000'001};
           }},
          {"invalid throttle_ms: ", [](auto& q) { q.policy.throttle_ms = -1; }},
          {"invalid max_hold_ms: ", [](auto& q) { q.policy.max_hold_ms = -1; }},
          {"invalid retry.base_ms: ", [](auto& q) { q.policy.retry.base_ms = kDay + 1; }},
          {"invalid retry.max_ms: ", [](auto& q) { q.policy.retry.max_ms = 30 * kDay + 1; }},
          {"invalid retry.max_ms: must be at least base_ms",
           [](auto& q) { q.policy.retry.max_ms = 999; }},
          {"invalid retry.factor: ",
           [](auto& q) { q.policy.retry.factor = std::numeric_limits<double>::quiet_NaN(); }},
          {"invalid retry.factor: ",
           [](auto& q) { q.policy.retry.factor = std::numeric_limits<double>::infinity(); }},
          {"invalid retry.jitter: ", [](auto& q) { q.policy.retry.jitter = 1.1; }},
          {"invalid retry.max_attempts: ", [](auto& q) { q.policy.retry.max_attempts = 0; }},
          {"invalid breaker.after: ", [](auto& q) { q.policy.breaker = Breaker{0}; }},
          {"", [](auto& q) { q.policy.lease_ms = 0; }},
          {"", [](auto& q) { q.policy.lease_ms = 100; }},
          {"invalid lease_ms: ", [](auto& q) { q.policy.lease_ms = 99; }},
          {"invalid lease_ms: ", [](auto& q) { q.policy.lease_ms = 7 * kDay + 1; }},
          {"invalid timeout_ms: ", [](auto& q) { q.policy.timeout_ms = -1; }},
          {"", [](auto& q) { q.policy.aging_ms = kStrictAging; }},
          {"", [](auto& q) { q.policy.aging_ms = {kYear}; }},
          {"invalid aging_ms: ", [](auto& q) { q.policy.aging_ms = {kYear + 1}; }},
          {"invalid aging_ms: ", [](auto& q) { q.policy.aging_ms = {-1}; }},
          {"invalid retention.finished_ms: ", [](auto& q) { q.policy.retention.finished_ms = -1; }},
          {"invalid retention.canceled_ms: ",
           [](auto& q) { q.policy.retention.canceled_ms = 10 * kYear + 1; }},
          {"invalid retention.failed_ms: ", [](auto& q) { q.policy.retention.failed_ms = -1; }},
          {"invalid retention.max_tasks: must be at least 0, but is -1",
           [](auto& q) { q.policy.retention.max_tasks = -1; }},
          {"invalid retention.max_bytes: ", [](auto& q) { q.policy.retention.max_bytes = -1; }},
      });
}

TEST(Validation, OfAPolicyPatch) {
  expect_problems<PatchQueue>(
      {.queue = "q", .patch = "{}"},
      {
          {"", [](auto& q) { q.patch = R"({"rate":{"limit":5}})"; }},
          {"", [](auto& q) { q.patch = R"({"retry":{"base_ms":86400000}})"; }},
          {"", [](auto& q) { q.patch = R"({"retry":{"max_ms":0},"breaker":null})"; }},
          {"unknown_field patch: laese_ms: unknown field; did you mean \"lease_ms\"?",
           [](auto& q) { q.patch = R"({"laese_ms":5})"; }},
          {"invalid patch: lease_ms: must be", [](auto& q) { q.patch = R"({"lease_ms":5})"; }},
          {"invalid patch: expected an object", [](auto& q) { q.patch = "3"; }},
          {"invalid patch: not valid JSON", [](auto& q) { q.patch = ""; }},
      });
}

TEST(Validation, OfAClaim) {
  expect_problems<Claim>(
      {}, {
              {"invalid queues: there must be at least one", [](auto& c) { c.queues = {}; }},
              {"invalid queues: a is given twice",
               [](auto& c) {
                 c.queues = {"a", "b", "a"};
               }},
              {"invalid queues[1]: ",
               [](auto& c) {
                 c.queues = {"a", "b c"};
               }},
              {"",
               [](auto& c) {
                 c.users = {"a", "a"};
               }},
              {"invalid users[0]: ", [](auto& c) { c.users = {""}; }},
              {"invalid steal[0]: ", [](auto& c) { c.steal = {"é"}; }},
              {"too_large steal: 1001 of them", [](auto& c) { c.steal.assign(1'001, "u"); }},
              {"", [](auto& c) { c.max = 1'000; }},
              {"invalid max: must be 1 to 1000, but is 1001", [](auto& c) { c.max = 1'001; }},
              {"invalid max: ", [](auto& c) { c.max = 0; }},
              {"", [](auto& c) { c.lease_ms = 0; }},
              {"invalid lease_ms: ", [](auto& c) { c.lease_ms = 50; }},
              {"", [](auto& c) { c.wait_ms = 5 * kMinute; }},
              {"invalid wait_ms: ", [](auto& c) { c.wait_ms = 5 * kMinute + 1; }},
              {"invalid worker: ", [](auto& c) { c.worker = "a\x01"; }},
              {"invalid claim_id: ", [](auto& c) { c.claim_id = "a/b"; }},
          });
}

TEST(Validation, OfASettle) {
  SettleOne one;
  one.id = "t";
  const auto with = [](std::string_view expected, const std::function<void(SettleOne&)>& spoil) {
    return Spoiled<Settle>{expected, [spoil](Settle& s) { spoil(s.results[0]); }};
  };
  using enum Outcome;
  expect_problems<Settle>(
      {.claim_id = "c", .results = {one}, .all = {}},
      {
          {"invalid claim_id: ", [](auto& s) { s.claim_id = ""; }},
          {"invalid give either results", [](auto& s) { s.results.clear(); }},
          {"invalid give either results", [](auto& s) { s.all = kFinish; }},
          {"", [](auto& s) { s.results.clear(), s.all = kRelease; }},
          {"invalid all: await", [](auto& s) { s.results.clear(), s.all = kAwait; }},
          {"too_large results: ", [](auto& s) { s.results.resize(1'001, s.results[0]); }},
          with("invalid results[0].id: ", [](auto& r) { r.id = ""; }),
          with("invalid results[0].fence: ", [](auto& r) { r.fence = -1; }),
          with("", [](auto& r) { r.result = "{}"; }),
          with("invalid results[0].result: not valid JSON", [](auto& r) { r.result = "{"; }),
          with("too_large results[0].result: ",
               [](auto& r) { r.result = "\"" + std::string(1 << 20, 'x') + "\""; }),
          with("invalid results[0].result: only goes with the outcome finish",
               [](auto& r) { r.result = "{}", r.outcome = kFail; }),
          with("", [](auto& r) { r.error = "e", r.outcome = kFail, r.retryable = false; }),
          with("", [](auto& r) { r.error = "e", r.outcome = kThrottle, r.retry_after_ms = 5; }),
          with("invalid results[0].error: only goes", [](auto& r) { r.error = "e"; }),
          with("invalid results[0].retryable: only goes", [](auto& r) { r.retryable = false; }),
          with("invalid results[0].retry_after_ms: only goes",
               [](auto& r) { r.retry_after_ms = 0; }),
          with("invalid results[0].retry_after_ms: must be",
               [](auto& r) { r.outcome = kFail, r.retry_after_ms = -1; }),
          with("too_large results[0].error: ",
               [](auto& r) { r.outcome = kFail, r.error = std::string((16 << 10) + 1, 'e'); }),
          with("invalid results[0].error: must be valid UTF-8",
               [](auto& r) { r.outcome = kFail, r.error = "\xff"; }),
          with("", [](auto& r) { r.outcome = kFail, r.error = "line\nline"; }),
          with("", [](auto& r) { r.outcome = kAwait, r.children.resize(1); }),
          with("invalid results[0].children: the outcome await needs at least one",
               [](auto& r) { r.outcome = kAwait; }),
          with("invalid results[0].children: only goes with the outcome await",
               [](auto& r) { r.children.resize(1); }),
          with("invalid results[0].children[1].user: ",
               [](auto& r) { r.outcome = kAwait, r.children.resize(2), r.children[1].user = ""; }),
          with("too_large results[0].children: ",
               [](auto& r) { r.outcome = kAwait, r.children.resize(1'001); }),
      });
}

TEST(Validation, OfTheOtherOperationsOfWorkers) {
  expect_problems<Extend>({.claim_id = "c", .lease_ms = {}, .progress = {}},
                          {
                              {"",
                               [](auto& e) {
                                 e.progress = {{"t", "0.5"}};
                               }},
                              {"invalid progress.t: not valid JSON",
                               [](auto& e) {
                                 e.progress = {{"t", "x"}};
                               }},
                              {"invalid progress: must be 1 to 128 of",
                               [](auto& e) {
                                 e.progress = {{"a b", "1"}};
                               }},
                              {"too_large progress.t: ",
                               [](auto& e) {
                                 e.progress = {{"t", "\"" + std::string(4096, 'x') + "\""}};
                               }},
                              {"invalid lease_ms: ", [](auto& e) { e.lease_ms = 1; }},
                          });
  EXPECT_THAT(problem(ReleaseClaim{""}), StartsWith("invalid claim_id: "));
  EXPECT_THAT(problem(ReleaseOlder{-1}), StartsWith("invalid older_than_ms: "));
  EXPECT_THAT(problem(ListClaims{0, ""}), StartsWith("invalid limit: must be 1 to 1000, but is 0"));
  EXPECT_THAT(problem(ListClaims{1, "\n"}), StartsWith("invalid cursor: "));
}

TEST(Validation, OfFiltersAndBulkOperations) {
  expect_problems<CancelTasks>(
      {.filter = {}, .expect = 3, .dry_run = false},
      {
          {"", [](auto& b) { b.expect.reset(), b.dry_run = true; }},
          {"invalid say how many tasks you expect", [](auto& b) { b.expect.reset(); }},
          {"invalid expect: ", [](auto& b) { b.expect = -1; }},
          {"invalid filter.queue: ", [](auto& b) { b.filter.queue = "a b"; }},
          {"invalid filter.user: ", [](auto& b) { b.filter.user = "a b"; }},
          {"invalid filter.type: ", [](auto& b) { b.filter.type = "a\n"; }},
          {"too_large filter.tag: ", [](auto& b) { b.filter.tag = std::string(65, 't'); }},
          {"invalid filter.unique_key: ", [](auto& b) { b.filter.unique_key = "\x02"; }},
          {"invalid filter.waits_for: ", [](auto& b) { b.filter.waits_for = "a b"; }},
          {"invalid filter.q: ", [](auto& b) { b.filter.q = std::string(513, 'q'); }},
          {"invalid filter.since: ", [](auto& b) { b.filter.since = TimePoint{}; }},
          {"invalid filter.until: ", [](auto& b) { b.filter.until = kNever; }},
      });
  EXPECT_THAT(problem(RetryTasks{}), HasSubstr("say how many"));
  EXPECT_THAT(problem(PurgeDead{}), HasSubstr("say how many"));
  EXPECT_THAT(problem(ListTasks{{}, 1'001, ""}), StartsWith("invalid limit: "));
  EXPECT_THAT(problem(RedriveDead{}), HasSubstr("say how many"));
  EXPECT_EQ(problem(ListDead{}), "");
}

TEST(Validation, OfUsersAndSharedValues) {
  expect_problems<PutUser>(
      {.user = "u", .queue = "", .settings = {}},
      {
          {"invalid user: ", [](auto& u) { u.user = ""; }},
          {"invalid queue: ", [](auto& u) { u.queue = "a:b"; }},
          {"invalid weight: must be 1 to 1000, but is 0", [](auto& u) { u.settings.weight = 0; }},
          {"invalid weight: ", [](auto& u) { u.settings.weight = 1'001; }},
          {"invalid max_running: ", [](auto& u) { u.settings.max_running = 0; }},
          {"", [](auto& u) { u.settings.max_waiting = 0; }},
          {"invalid max_waiting: ", [](auto& u) { u.settings.max_waiting = -1; }},
          {"invalid max_waiting_bytes: ", [](auto& u) { u.settings.max_waiting_bytes = -1; }},
      });
  expect_problems<PutXcom>(
      {.key = "k", .value = "1"},
      {
          {"invalid key: ", [](auto& x) { x.key = "a/b"; }},
          {"invalid value: must be a JSON value", [](auto& x) { x.value = ""; }},
          {"too_large value: 262147 bytes, but at most 262144",
           [](auto& x) { x.value = "\"" + std::string((256 << 10) + 1, 'x') + "\""; }},
          {"invalid ttl_ms: ", [](auto& x) { x.ttl_ms = 0; }},
          {"invalid ttl_ms: ", [](auto& x) { x.ttl_ms = kYear + 1; }},
      });
}

TEST(Validation, OfASchedule) {
  expect_problems<PutSchedule>(
      {.name = "nightly", .schedule = {.cron = "0 3 * * *", .every_ms = {}, .task = {}}},
      {
          {"invalid name: ", [](auto& s) { s.name = "a:b"; }},
          {"invalid give either cron or every_ms", [](auto& s) { s.schedule.cron = ""; }},
          {"invalid give either cron or every_ms", [](auto& s) { s.schedule.every_ms = 1'000; }},
          {"", [](auto& s) { s.schedule.cron = "", s.schedule.every_ms = 1'000; }},
          {"invalid every_ms: ", [](auto& s) { s.schedule.cron = "", s.schedule.every_ms = 999; }},
          {"invalid cron: ", [](auto& s) { s.schedule.cron = "61 * * * *"; }},
          {"", [](auto& s) { s.schedule.time_zone = "Asia/Tokyo"; }},
          {"invalid time_zone: ", [](auto& s) { s.schedule.time_zone = "Mars/Olympus"; }},
          {"invalid time_zone: ", [](auto& s) { s.schedule.time_zone = ""; }},
          {"invalid task.user: ", [](auto& s) { s.schedule.task.user = "a b"; }},
          {"invalid task.id: the task of a schedule", [](auto& s) { s.schedule.task.id = "x"; }},
          {"invalid task.run_at: the task", [](auto& s) { s.schedule.task.run_at = kNow; }},
          {"invalid task.expires_at: the task", [](auto& s) { s.schedule.task.expires_at = kNow; }},
          {"invalid task.depends_on: the task",
           [](auto& s) { s.schedule.task.depends_on = {{"a"}}; }},
      });
  EXPECT_THAT(problem(RunSchedule{"a b", ""}), StartsWith("invalid name: "));
  EXPECT_THAT(problem(RunSchedule{"a", "x y"}), StartsWith("invalid id: "));
}

TEST(Validation, OfNamesInEveryOperationThatHasNothingElse) {
  const Command bad[] = {GetTask{},     Why{},        CancelTask{},    RetryTask{},
                         FrontTask{},   RemoveTask{}, Graph{},         GetQueue{},
                         DeleteQueue{}, PauseQueue{}, ResumeQueue{},   PurgeQueue{},
                         GetXcom{},     DeleteXcom{}, DeleteSchedule{}};
  for (const Command& command : bad)
    EXPECT_THAT(problem(command), HasSubstr(": must be 1 to ")) << operation_of(command).name;
  const Command good[] = {ListQueues{}, ListUsers{},  ListSchedules{},
                          Stats{},      StartDrain{}, EndDrain{}};
  for (const Command& command : good) EXPECT_EQ(problem(command), "");
  EXPECT_THAT(problem(GetTask{"a", -1}), StartsWith("invalid wait_ms: "));
}

}  // namespace
}  // namespace retsu
