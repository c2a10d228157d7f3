#include <atomic>
#include <latch>

#include "patience.h"
#include "worker/worker_test.h"

namespace retsu {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using worker::Again;
using worker::failed;
using worker::finished;
using worker::released;
using worker::throttled;

using WorkerRuns = WorkerTest;

// A queue that can break down: then nothing is answered but that it is away.
class CountingBroker final : public Broker {
 public:
  explicit CountingBroker(Broker& queue) : queue_(queue) {}

  void submit(Command command, Context context, Done done) noexcept override {
    ++calls_;
    if (is_broken_) context.deadline = std::chrono::steady_clock::time_point::min();
    queue_.submit(std::move(command), std::move(context),
                  [this, done = std::move(done)](Answer answer) {
                    if (before_answer) before_answer();
                    done(std::move(answer));
                  });
  }
  Subscription watch(EventFilter filter, EventSink sink) override {
    return queue_.watch(std::move(filter), std::move(sink));
  }
  [[nodiscard]] Capabilities capabilities() const override { return queue_.capabilities(); }

  std::function<void()> before_answer;  // if there is something to be done then

  [[nodiscard]] int calls() const { return calls_; }
  void break_down() { is_broken_ = true; }

 private:
  Broker& queue_;
  std::atomic<int> calls_ = 0;
  std::atomic<bool> is_broken_ = false;
};

TEST_F(WorkerRuns, EndAsTheHandlerSays) {
  push({.id = "finish"});
  push({.id = "fail", .max_attempts = 1});
  push({.id = "reject"});
  start([](worker::Run& run) {
    if (run.task().id == "finish") return finished(R"({"ok":true})");
    return failed("no answer", run.task().id == "reject" ? Again::kNever : Again::kLater);
  });
  EXPECT_EQ(ended("finish").result.view(), R"({"ok":true})");
  EXPECT_EQ(ended("fail").reason, Reason::kFailed);
  EXPECT_EQ(ended("reject").reason, Reason::kRejected);
  EXPECT_EQ(ended("reject").error.view(), "no answer");
}

TEST_F(WorkerRuns, AreTriedAgainAndGivenBackWithoutLosingAttempts) {
  must(PutQueue{"default", {.retry = {.base_ms = 1, .jitter = 0}}});
  push({.id = "a"});
  std::atomic<int> runs = 0;
  start([&](worker::Run& run) {
    switch (++runs) {
      case 1:
        return failed("once");
      case 2:
        return released();
      case 3:
        return throttled("slower", 1);
      default:
        return finished(Json(std::to_string(run.task().attempt)));
    }
  });
  EXPECT_EQ(ended("a").result.view(), "2");
  EXPECT_EQ(runs, 4);
}

TEST_F(WorkerRuns, MayAwaitChildren) {
  push({.id = "parent", .type = "parent"});
  start([](worker::Run& run) {
    if (run.task().type != "parent") return finished("7");
    if (!run.task().inputs.empty()) return finished(run.task().inputs.begin()->second.result);
    SettleOne outcome;
    outcome.outcome = Outcome::kAwait;
    outcome.children.push_back({.id = "child"});
    return outcome;
  });
  EXPECT_EQ(ended("parent").result.view(), "7");
}

TEST_F(WorkerRuns, AreAsManyAtOnceAsItMayHave) {
  for (int i = 0; i < 12; ++i) push({.id = "t" + std::to_string(i)});
  settings_.concurrency = 3;
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::latch three(3);
  start([&](worker::Run& run) {
    const int now = ++running;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    if (run.task().id == "t0" || run.task().id == "t1" || run.task().id == "t2") {
      three.arrive_and_wait();
    }
    --running;
    return finished({});
  });
  for (int i = 0; i < 12; ++i) ended("t" + std::to_string(i));
  EXPECT_EQ(most, 3);
}

TEST_F(WorkerRuns, KeepTheirLeases) {
  push({.id = "long"});
  settings_.lease = 200ms;
  start([](worker::Run& run) {
    Moment never;
    const std::stop_callback on_stop(run.stop(), [&] { never.come(); });
    return never.wait(1s) ? failed("stopped") : finished({});
  });
  const Task task = ended("long");
  EXPECT_EQ(task.state, State::kFinished);
  EXPECT_EQ(task.attempts, 1);
  EXPECT_THAT(task.history, IsEmpty());
}

TEST_F(WorkerRuns, StopWhenTheirTaskIsCanceled) {
  push({.id = "a"});
  must(PutQueue{"default", {.concurrency = 1}});
  settings_.lease = 300ms;
  Moment begun;
  std::atomic<bool> was_told = false;
  start([&](worker::Run& run) {
    if (run.task().id == "b") return finished({});
    begun.come();
    was_told = is_told_to_stop(run);
    return finished("\"too late\"");
  });
  ASSERT_TRUE(begun.wait());
  must(CancelTask{"a"});
  push({.id = "b"});  // runs when the permit is back
  EXPECT_EQ(ended("b").state, State::kFinished);
  EXPECT_TRUE(was_told);
  EXPECT_EQ(ended("a").state, State::kCanceled);
}

TEST_F(WorkerRuns, StopWhenTheirLeaseIsLost) {
  push({.id = "a"});
  settings_.lease = 300ms;
  settings_.concurrency = 2;
  Moment begun;
  std::atomic<int> runs = 0;
  std::atomic<bool> was_told = false;
  std::mutex mutex;
  std::vector<ErrorCode> refusals;
  settings_.on_end = [&](const worker::Ended& end) {
    const std::lock_guard lock(mutex);
    if (!end.state) refusals.push_back(end.state.error().code);
  };
  start([&](worker::Run& run) {
    if (++runs == 2) return finished("2");
    begun.come();
    was_told = is_told_to_stop(run);
    return finished("1");
  });
  ASSERT_TRUE(begun.wait());
  must(ReleaseOlder{0});
  EXPECT_EQ(ended("a").result.view(), "2");
  stop();
  EXPECT_TRUE(was_told);
  EXPECT_THAT(refusals, ElementsAre(ErrorCode::kStaleClaim));
}

TEST_F(WorkerRuns, StopWhenTheirTimeIsOver) {
  push({.id = "slow", .timeout_ms = 150, .max_attempts = 1});
  std::atomic<bool> was_told = false;
  start([&](worker::Run& run) {
    was_told = is_told_to_stop(run);
    return failed("stopped");
  });
  EXPECT_EQ(ended("slow").reason, Reason::kTimeout);
  stop();
  EXPECT_TRUE(was_told);
}

TEST_F(WorkerRuns, TellTheirProgress) {
  push({.id = "a"});
  Moment seen;
  start([&](worker::Run& run) {
    run.progress("{\"done\":1}");
    run.progress("{\"done\":2}");
    return seen.wait() ? finished({}) : failed("nobody saw it");
  });
  EXPECT_TRUE(succeeds_in_the_end(
      [&] { return must(GetTask{.id = "a"}).progress.view() == "{\"done\":2}"; }));
  seen.come();
  EXPECT_EQ(ended("a").state, State::kFinished);
}

TEST_F(WorkerRuns, FinishWhenItIsToldToStop) {
  push({.id = "running"});
  Moment begun;
  Moment go_on;
  start([&](worker::Run&) {
    begun.come();
    (void)go_on.wait();
    return finished({});
  });
  ASSERT_TRUE(begun.wait());
  finish_.request_stop();
  push({.id = "waiting"});
  go_on.come();
  wait_for_the_end();
  EXPECT_TRUE(ran_);
  EXPECT_EQ(must(GetTask{.id = "running"}).state, State::kFinished);
  EXPECT_EQ(must(GetTask{.id = "waiting"}).state, State::kQueued);
}

TEST_F(WorkerRuns, AreGivenBackWhenItMustStopNow) {
  push({.id = "unfinished"});
  push({.id = "nearly"});
  settings_.concurrency = 2;
  std::latch both(3);
  start([&](worker::Run& run) {
    both.count_down();
    EXPECT_TRUE(is_told_to_stop(run));
    return run.task().id == "nearly" ? finished("1") : failed("stopped");
  });
  both.arrive_and_wait();
  stop();
  const Task task = must(GetTask{.id = "unfinished"});
  EXPECT_EQ(task.state, State::kQueued);
  EXPECT_EQ(task.attempts, 0);
  EXPECT_EQ(must(GetTask{.id = "nearly"}).state, State::kFinished);
}

TEST_F(WorkerRuns, OfATypeWithoutAHandlerFail) {
  push({.id = "a", .type = "known", .max_attempts = 1});
  push({.id = "b", .type = "unknown", .max_attempts = 1});
  worker_ = std::make_unique<worker::Worker>(queue_, settings_);
  worker_->handle("known", [](worker::Run&) { return finished({}); });
  thread_ = std::jthread([this] { ran_ = worker_->run(finish_.get_token(), now_.get_token()); });
  EXPECT_EQ(ended("a").state, State::kFinished);
  EXPECT_THAT(std::string(ended("b").error.view()), HasSubstr("no handler for type unknown"));
}

TEST_F(WorkerRuns, WithAResultThatTheQueueCannotTakeFailForGood) {
  push({.id = "a"});
  start([](worker::Run&) { return finished(Json("\"" + std::string(2 << 20, 'x') + "\"")); });
  const Task task = ended("a");
  EXPECT_EQ(task.reason, Reason::kRejected);
  EXPECT_THAT(std::string(task.error.view()), HasSubstr("the queue refused how it ended"));
}

TEST_F(WorkerRuns, AreOfTheUsersItServesAndOfOthersWhenTheseAreIdle) {
  push({.id = "ann", .user = "ann"});
  push({.id = "ben", .user = "ben"});
  push({.id = "carl", .user = "carl"});
  settings_.users = {"carl"};
  settings_.steal = {"ann"};
  settings_.until_empty = true;
  std::vector<std::string> order;
  start([&](worker::Run& run) {
    order.push_back(run.task().id);
    return finished({});
  });
  wait_for_the_end();
  EXPECT_TRUE(ran_);
  EXPECT_THAT(order, ElementsAre("carl", "ann"));
  EXPECT_EQ(must(GetTask{.id = "ben"}).state, State::kQueued);
}

TEST_F(WorkerRuns, UntilNothingIsLeftWaitForWhatTheRunsThemselvesPush) {
  push({.id = "first"});
  settings_.until_empty = true;
  settings_.concurrency = 2;
  start([&](worker::Run& run) {
    if (run.task().id == "first") push({.id = "second"});
    return finished({});
  });
  wait_for_the_end();
  EXPECT_EQ(must(GetTask{.id = "second"}).state, State::kFinished);
}

TEST_F(WorkerRuns, UntilNothingIsLeftWaitForWhatMayNotStartYetWithoutAskingAgainAndAgain) {
  must(PutQueue{"default", {.rate = Rate{.limit = 1, .per_ms = 2'000, .burst = 1}}});
  push({.id = "a"});
  push({.id = "b"});
  CountingBroker counting(queue_);
  settings_.until_empty = true;
  start(counting, [](worker::Run&) { return finished({}); });
  wait_for_the_end();
  EXPECT_EQ(must(GetTask{.id = "b"}).state, State::kFinished);
  EXPECT_LE(counting.calls(), 10);
}

TEST_F(WorkerRuns, UntilNothingIsLeftDoNotWaitForAQueueThatIsPaused) {
  push({.id = "a"});
  must(PauseQueue{"default"});
  settings_.until_empty = true;
  start([](worker::Run&) { return finished({}); });
  wait_for_the_end();
  EXPECT_TRUE(ran_);
  EXPECT_EQ(must(GetTask{.id = "a"}).state, State::kQueued);
}

TEST_F(WorkerRuns, DoNotBeginWhenTheirClaimIsGrantedAsItStopsAndNobodyHoldsThem) {
  push({.id = "a"});
  CountingBroker counting(queue_);
  counting.before_answer = [&] { finish_.request_stop(); };
  std::atomic<int> runs = 0;
  start(counting, [&](worker::Run&) {
    ++runs;
    return finished({});
  });
  wait_for_the_end();
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(must(GetTask{.id = "a"}).state, State::kQueued);
  EXPECT_THAT(must(ListClaims{}).claims, IsEmpty());
}

TEST_F(WorkerRuns, EndTheirWorkerSoonThoughTheQueueIsOutOfReach) {
  push({.id = "a"});
  CountingBroker counting(queue_);
  Moment begun;
  start(counting, [&](worker::Run& run) {
    begun.come();
    (void)is_told_to_stop(run);
    return failed("stopped");
  });
  ASSERT_TRUE(begun.wait());
  counting.break_down();
  const auto before = std::chrono::steady_clock::now();
  stop();
  EXPECT_LT(std::chrono::steady_clock::now() - before, 20s);  // the lease is a minute
}

TEST_F(WorkerRuns, EndWhenTheirLeaseHasPassedThoughTheQueueIsOutOfReach) {
  push({.id = "a"});
  CountingBroker counting(queue_);
  settings_.lease = 500ms;
  Moment begun;
  Moment over;
  start(counting, [&](worker::Run& run) {
    begun.come();
    if (is_told_to_stop(run)) over.come();
    return finished({});
  });
  ASSERT_TRUE(begun.wait());
  counting.break_down();
  EXPECT_TRUE(over.wait(10s));
  stop();
}

TEST_F(WorkerRuns, EndWithWhatTheQueueRefuses) {
  settings_.queues = {"not a name"};
  start([](worker::Run&) { return finished({}); });
  wait_for_the_end();
  ASSERT_FALSE(ran_);
  EXPECT_EQ(ran_.error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace retsu
