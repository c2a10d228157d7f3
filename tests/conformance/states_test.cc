// The table of states: every row happens, and what is not in it is refused.

#include <set>

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(States);

// What a person can ask of one task, and the states in which the table allows it.
struct Request {
  const char* name;
  bool (*allowed)(State);
  Command (*command)(std::string id);
};

bool in_table(State from, Event event) { return next_state(from, event).has_value(); }

constexpr Request kRequests[] = {
    {"cancel", [](State state) { return in_table(state, Event::kCancel); },
     [](std::string id) -> Command { return CancelTask{std::move(id)}; }},
    {"retry", [](State state) { return in_table(state, Event::kRedrive); },
     [](std::string id) -> Command { return RetryTask{std::move(id)}; }},
    {"front", is_waiting, [](std::string id) -> Command { return FrontTask{std::move(id)}; }},
    {"remove", is_ended, [](std::string id) -> Command { return RemoveTask{std::move(id)}; }},
};

TEST_P(States, WhatTheTableDoesNotAllowIsRefusedAndChangesNothing) {
  for (const Request& request : kRequests) {
    for (int i = 0; i < kStates; ++i) {
      const auto state = static_cast<State>(i);
      if (request.allowed(state)) continue;
      const std::string id = std::string(request.name) + "-" + std::string(name_of(state));
      SCOPED_TRACE(id);
      make(state, id);
      const Snapshot before = everything();
      const auto refused = std::visit(
          [&](auto operation) -> Status {
            auto reply = ask(std::move(operation));
            if (!reply) return tl::unexpected(reply.error());
            return std::monostate{};
          },
          request.command(id));
      EXPECT_REFUSED(refused, kInvalidTransition);
      EXPECT_TRUE(is_same(before, everything()));
    }
  }
}

TEST_P(States, WhatTheTableAllowsIsDone) {
  for (const Request& request : kRequests) {
    for (int i = 0; i < kStates; ++i) {
      const auto state = static_cast<State>(i);
      if (!request.allowed(state)) continue;
      const std::string id = std::string(request.name) + "-" + std::string(name_of(state));
      SCOPED_TRACE(id);
      make(state, id);
      const bool done =
          std::visit([&](auto operation) { return ask(std::move(operation)).has_value(); },
                     request.command(id));
      EXPECT_TRUE(done);
    }
  }
}

TEST_P(States, NoOutcomeSettlesATaskThatDoesNotRunUnderTheClaim) {
  for (const auto& outcome : names_of(std::type_identity<Outcome>{})) {
    for (int i = 0; i < kStates; ++i) {
      const auto state = static_cast<State>(i);
      const std::string id = std::string(outcome.name) + "-" + std::string(name_of(state));
      SCOPED_TRACE(id);
      make(state, id);
      make(kStarted, "own-" + id);
      const ClaimReply stranger = {.claim_id = task("own-" + id).claim_id};
      SettleOne result{.id = id, .outcome = outcome.value};
      if (outcome.value == kAwait) result.children = {{.id = "child-" + id}};
      const Snapshot before = everything();
      EXPECT_REFUSED(settle(stranger, result), kStaleClaim);
      EXPECT_TRUE(is_same(before, everything()));
    }
  }
}

// Brings task `id` to row.from and makes row.event happen to it.
class EveryRow : public Conformance {
 protected:
  // Every queue has leases longer than timeouts, so that each can be tested by itself.
  void happen(const Transition& row, const std::string& id) {
    const std::string queue = "of-" + id;
    const std::string other = "other-" + id;
    put_queue(queue, {.retry = {.max_attempts = 2}, .lease_ms = 3'600'000});
    NewTask task{.id = id, .queue = queue};
    if (row.from == kScheduled) task.run_at = clock() + 10s;
    switch (row.event) {
      case Event::kDue:
        push(task);
        return advance(10s);
      case Event::kDueBlocked:
        push({.id = other, .queue = other});
        task.depends_on = {{other}};
        push(task);
        return advance(10s);
      case Event::kReady:
        push({.id = other, .queue = other});
        task.depends_on = {{other}};
        push(task);
        return run(other);
      case Event::kDependencyEnded:
        push({.id = other, .queue = other});
        task.depends_on = {{other}};
        task.on_dependency_cancel = OnDependencyCancel::kCancel;
        push(task);
        cancel(other);
        return;
      case Event::kDependencyRemoved:
        push({.id = other, .queue = other});
        task.depends_on = {{other}};
        push(task);
        run_and_reject(other);
        return remove(other);
      case Event::kExpire:
        if (row.from == kDeferred) task.depends_on = {{other}};
        task.allow_missing = true;
        task.expires_at = clock() + 5s;
        push(task);
        return advance(5s);
      case Event::kRedrive:
        make(row.from, id, task);
        redrive(id);
        return;
      case Event::kRedriveBlocked:
        task.depends_on = {{other}};
        task.allow_missing = true;
        task.expires_at = clock() + 5s;
        push(task);
        advance(5s);
        redrive(id);
        return;
      case Event::kCancel:
        make(row.from, id, task);
        cancel(id);
        return;
      default:
        return happen_while_running(row.event, task);
    }
  }

 private:
  void happen_while_running(Event event, NewTask task) {
    if (event == Event::kPoison) task.max_attempts = 1;
    push(task);
    const ClaimReply held = start(task.id);
    switch (event) {
      case Event::kFinish:
        finish(held, task.id);
        break;
      case Event::kRetry:
        fail(held, task.id);
        break;
      case Event::kFail:
        reject(held, task.id);
        break;
      case Event::kThrottle:
        throttle(held, task.id);
        break;
      case Event::kRelease:
        release(held, task.id);
        break;
      case Event::kLeaseExpired:
      case Event::kPoison:
        extend(held, 1'000);
        advance(1s);
        break;
      case Event::kAwait:
        await(held, task.id, {{.id = "child-" + task.id}});
        break;
      default:  // the claim itself
        break;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Conformance, EveryRow, testing::ValuesIn(subject_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(EveryRow, OfTheTableHappensAndIsTold) {
  EventLog log(broker());
  int number = 0;
  for (const Transition& row : kTransitions) {
    // A canceled task has lost its references, so nothing blocks it (decisions, Failure).
    if (row.from == kCanceled && row.event == Event::kRedriveBlocked) continue;
    const std::string id = "row-" + std::to_string(++number);
    SCOPED_TRACE(id + ": " + std::string(name_of(row.from)) + " " +
                 std::string(name_of(row.event)));
    happen(row, id);
    EXPECT_EQ(state_of(id), row.to);
    push("markers", {.id = "after-" + id});
    bool told = false;
    for (const TaskEvent& event : log.up_to("after-" + id, kQueued)) {
      told = told || (event.id == id && event.from == row.from && event.to == row.to);
    }
    EXPECT_TRUE(told);
  }
}

TEST_P(States, ACancelEndsEveryLiveState) {
  for (const State state : {kScheduled, kDeferred, kQueued, kStarted}) {
    const std::string id(name_of(state));
    make(state, id);
    const Task canceled = cancel(id);
    EXPECT_EQ(canceled.state, kCanceled) << id;
    EXPECT_EQ(canceled.reason, Reason::kCanceled) << id;
    EXPECT_EQ(since_start(canceled.ended_at), 0) << id;
  }
  EXPECT_EQ(counter("canceled"), 4);
}

TEST_P(States, ARedriveBeginsTheAttemptsAnewAndKeepsTheHistory) {
  put_queue("q", {.retry = {.kind = RetryKind::kFixed, .base_ms = 1'000, .max_attempts = 2}});
  push("q", {.id = "a"});
  fail(start("a"), "a", "first");
  advance(2s);
  fail(start("a"), "a", "second");
  EXPECT_EQ(state_of("a"), kFailed);
  const std::size_t remembered = task("a").history.size();
  EXPECT_EQ(redrive("a").state, kQueued);
  const Task got = task("a");
  EXPECT_EQ(got.attempts, 0);
  EXPECT_EQ(got.reason, Reason::kNone);
  EXPECT_FALSE(got.ended_at);
  EXPECT_EQ(got.history.size(), remembered + 1);
  EXPECT_EQ(got.history.back().outcome, "redrive");
  run("a");
  EXPECT_EQ(state_of("a"), kFinished);
}

TEST_P(States, ARedriveForgetsAnExpiryThatHasPassed) {
  push({.id = "a", .expires_at = kStart + 1s});
  advance(1s);
  EXPECT_EQ(state_of("a"), kFailed);
  EXPECT_EQ(redrive("a").state, kQueued);
  EXPECT_FALSE(task("a").expires_at);
  advance(1min);
  EXPECT_EQ(state_of("a"), kQueued);
}

TEST_P(States, ARedriveIgnoresRunAt) {
  make(kScheduled, "a");
  cancel("a");
  EXPECT_EQ(redrive("a").state, kQueued);
}

TEST_P(States, AnAbsentTaskIsNotFoundByAnyRequest) {
  for (const Request& request : kRequests) {
    const auto reply = std::visit(
        [&](auto operation) -> Status {
          auto answer = ask(std::move(operation));
          if (!answer) return tl::unexpected(answer.error());
          return std::monostate{};
        },
        request.command("nobody"));
    EXPECT_REFUSED(reply, kNotFound);
  }
}

}  // namespace
}  // namespace retsu::conformance
