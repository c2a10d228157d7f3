// The words in which the suite is written, so that a test reads like the contract:
//
//   push("mail", {.id = "a", .user = "ann"});
//   const ClaimReply held = claim_from("mail");
//   advance(60s);
//   EXPECT_REFUSED(finish(held, "a"), kStaleClaim);
//
// What needs a success and is refused ends its test as failed (Unexpected); what tests a refusal
// uses the try_ form, or ask().
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/answers.h"
#include "conformance/event_log.h"
#include "conformance/snapshot.h"
#include "conformance/subject.h"

// A request names the fields that matter to its test; the others keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace retsu::conformance {

using namespace std::chrono_literals;
using enum State;
using enum Outcome;
using enum ErrorCode;

using Ids = std::vector<std::string>;

// When every test begins: a Tuesday.
inline constexpr TimePoint kStart =
    std::chrono::sys_days{std::chrono::year{2030} / std::chrono::January / 1};

// Milliseconds since the test began; -1 for a time that is absent.
inline std::int64_t since_start(std::optional<TimePoint> time) {
  return time ? (*time - kStart).count() : -1;
}

// 0 for what is not counted.
inline std::int64_t count_of(const std::map<std::string, std::int64_t>& counts,
                             const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

inline Ids ids_of(const ClaimReply& held) {
  Ids ids;
  for (const ClaimedTask& task : held.tasks) ids.push_back(task.id);
  return ids;
}

// "p1", "p2" … "pN"
inline Ids numbered(const std::string& prefix, int count) {
  Ids ids;
  for (int i = 1; i <= count; ++i) ids.push_back(prefix + std::to_string(i));
  return ids;
}

// A JSON string of so many bytes, quotes included.
inline std::string json_of_size(std::int64_t bytes) {
  return '"' + std::string(static_cast<std::size_t>(bytes - 2), 'x') + '"';
}

inline std::int64_t ms(Millis duration) { return duration.count(); }

class Conformance : public testing::TestWithParam<SubjectKind> {
 protected:
  void SetUp() override { begin({}); }

  // A new, empty broker. For tests that need other limits than the defaults.
  void begin(Limits limits) {
    subject_.reset();
    subject_ = GetParam().make(limits);
    subject_->set_clock(kStart);
  }
  void end() { subject_.reset(); }

  Broker& broker() { return subject_->broker(); }
  bool is_remote() { return subject_->is_remote(); }
  bool forgets_workers() { return subject_->forgets_workers(); }

  // ------------------------------------------------------------------------------------------ time

  void advance(Millis by) { subject_->advance(by); }
  void set_clock(TimePoint time) { subject_->set_clock(time); }
  TimePoint clock() { return subject_->now(); }

  // Long work goes on with each call: calls until `done`.
  template <class Done>
  void keep_calling_until(Done done) {
    for (int calls = 0; calls < 10'000; ++calls) {
      if (done()) return;
      advance(0ms);
    }
    throw Unexpected("long work does not come to an end");
  }

  template <class T>
  T soon(std::future<T>& answer) {
    if (answer.wait_for(30s) != std::future_status::ready) throw Unexpected("no answer");
    return answer.get();
  }

  // ---------------------------------------------------------------------------------------- asking

  template <class Op>
  Result<typename Op::Reply> ask(Op operation) {
    return call(broker(), std::move(operation));
  }

  template <class Op>
  typename Op::Reply must(Op operation) {
    Result<typename Op::Reply> reply = ask(std::move(operation));
    if (!reply) throw Unexpected(testing::PrintToString(reply.error()));
    return std::move(*reply);
  }

  template <class Op>
  std::future<Result<typename Op::Reply>> ask_later(Op operation) {
    using Answer = Result<typename Op::Reply>;
    auto promise = std::make_shared<std::promise<Answer>>();
    broker().submit(Command(std::move(operation)), {}, [promise](Result<Reply> reply) {
      if (reply) {
        promise->set_value(std::get<typename Op::Reply>(std::move(*reply)));
      } else {
        promise->set_value(Answer(tl::unexpect, std::move(reply.error())));
      }
    });
    return promise->get_future();
  }

  Snapshot everything() { return snapshot_of(broker()); }

  // ----------------------------------------------------------------------------------------- tasks

  Result<Pushed> try_push(NewTask task) {
    Result<PushReply> reply = ask(Push{.tasks = {std::move(task)}});
    if (!reply) return tl::unexpected(std::move(reply.error()));
    return reply->tasks.at(0);
  }
  Pushed push(NewTask task) { return must(Push{.tasks = {std::move(task)}}).tasks.at(0); }
  Pushed push(std::string queue, NewTask task) {
    task.queue = std::move(queue);
    return push(std::move(task));
  }
  std::vector<Pushed> push_batch(std::vector<NewTask> tasks) {
    return must(Push{.tasks = std::move(tasks)}).tasks;
  }
  // One push for each id, all alike.
  void push_each(const Ids& ids, NewTask like = {}) {
    for (const std::string& id : ids) {
      like.id = id;
      push(like);
    }
  }

  Task task(const std::string& id) { return must(GetTask{.id = id}); }
  State state_of(const std::string& id) { return task(id).state; }
  bool exists(const std::string& id) { return ask(GetTask{.id = id}).has_value(); }
  Ids blocked_by(const std::string& id) { return task(id).blocked_by; }
  Ids listed(Filter filter) {
    Ids ids;
    for (const Task& found :
         all_pages(broker(), ListTasks{.filter = std::move(filter)}, &TaskPage::tasks)) {
      ids.push_back(found.id);
    }
    return ids;
  }

  Task cancel(const std::string& id) { return must(CancelTask{.id = id}); }
  Task redrive(const std::string& id) { return must(RetryTask{.id = id}); }
  Task front(const std::string& id) { return must(FrontTask{.id = id}); }
  void remove(const std::string& id) { EXPECT_EQ(must(RemoveTask{.id = id}).removed, 1); }

  // ---------------------------------------------------------------------------------------- claims

  ClaimReply claim(Claim request = {}) { return must(std::move(request)); }
  ClaimReply claim_from(const std::string& queue, std::int64_t max = 1) {
    return must(Claim{.queues = {queue}, .max = max});
  }
  // The ids in the order in which workers get them.
  Ids claim_ids(std::int64_t max = 1, const std::string& queue = "default") {
    return ids_of(claim_from(queue, max));
  }
  // Claims this task, which must be the next of its user's line.
  ClaimReply start(const std::string& id, Claim request = {}) {
    const Task wanted = task(id);
    request.queues = {wanted.queue};
    request.users = {wanted.user};
    request.max = 1;
    ClaimReply held = must(std::move(request));
    if (ids_of(held) != Ids{id}) throw Unexpected(id + " is not the next to be claimed");
    return held;
  }

  Settled settle(const ClaimReply& held, SettleOne result) {
    return must(Settle{.claim_id = held.claim_id, .results = {std::move(result)}}).results.at(0);
  }
  SettleReply settle_all(const ClaimReply& held, Outcome outcome) {
    return must(Settle{.claim_id = held.claim_id, .all = outcome});
  }
  Settled finish(const ClaimReply& held, const std::string& id, Json result = {}) {
    return settle(held, {.id = id, .outcome = kFinish, .result = std::move(result)});
  }
  Settled fail(const ClaimReply& held, const std::string& id, const std::string& error = "broken") {
    return settle(held, {.id = id, .outcome = kFail, .error = error});
  }
  Settled reject(const ClaimReply& held, const std::string& id, const std::string& error = "bad") {
    return settle(held, {.id = id, .outcome = kFail, .error = error, .retryable = false});
  }
  Settled throttle(const ClaimReply& held, const std::string& id,
                   std::optional<Millis> retry_after = {}) {
    SettleOne result{.id = id, .outcome = kThrottle};
    if (retry_after) result.retry_after_ms = retry_after->count();
    return settle(held, std::move(result));
  }
  Settled release(const ClaimReply& held, const std::string& id) {
    return settle(held, {.id = id, .outcome = kRelease});
  }
  Settled await(const ClaimReply& held, const std::string& id, std::vector<NewTask> children) {
    return settle(held, {.id = id, .outcome = kAwait, .children = std::move(children)});
  }
  std::int64_t release_claim(const ClaimReply& held) {
    return must(ReleaseClaim{.claim_id = held.claim_id}).released;
  }
  ExtendReply extend(const ClaimReply& held, std::optional<std::int64_t> lease_ms = {}) {
    return must(Extend{.claim_id = held.claim_id, .lease_ms = lease_ms});
  }

  // A task's whole way, alone in its line.
  void run(const std::string& id, Json result = {}) {
    EXPECT_TRUE(finish(start(id), id, std::move(result)).ok);
  }
  void run_and_reject(const std::string& id, const std::string& error = "bad") {
    EXPECT_TRUE(reject(start(id), id, error).ok);
  }

  // A new task in this state, in a queue of its own. The claim is empty unless the task is STARTED.
  ClaimReply make(State state, const std::string& id, NewTask like = {}) {
    like.id = id;
    if (like.queue == "default") like.queue = "of-" + id;
    if (state == kScheduled) like.run_at = clock() + 1h;
    if (state == kDeferred) {
      like.depends_on.push_back({"missing-" + id});
      like.allow_missing = true;
    }
    push(like);
    ClaimReply held;
    if (state == kStarted) held = start(id);
    if (state == kFinished) run(id);
    if (state == kFailed) run_and_reject(id);
    if (state == kCanceled) cancel(id);
    EXPECT_EQ(state_of(id), state);
    return held;
  }

  // ---------------------------------------------------------------------------------------- queues

  QueueInfo put_queue(const std::string& queue, QueuePolicy policy) {
    return must(PutQueue{.queue = queue, .policy = std::move(policy)});
  }
  QueueInfo queue_info(const std::string& queue = "default") {
    return must(GetQueue{.queue = queue});
  }
  void put_user(const std::string& user, UserSettings settings, const std::string& queue = "") {
    must(PutUser{.user = user, .queue = queue, .settings = settings});
  }
  std::int64_t counter(const std::string& name) { return count_of(must(Stats{}).counters, name); }
  std::int64_t tasks_in(State state) {
    return count_of(must(Stats{}).tasks, std::string(name_of(state)));
  }

 private:
  std::unique_ptr<Subject> subject_;
};

// Declares the suite `Suite`, whose tests run once for each broker of this build.
#define CONFORMANCE_SUITE(Suite)       \
  class Suite : public Conformance {}; \
  FOR_EACH_BROKER(Suite)
#define FOR_EACH_BROKER(Suite)                                                     \
  INSTANTIATE_TEST_SUITE_P(Conformance, Suite, testing::ValuesIn(subject_kinds()), \
                           [](const auto& kind) { return kind.param.name; })

}  // namespace retsu::conformance
