// Workers whose queue is hard to reach.
#include <atomic>
#include <set>

#include "broker/remote/remote_broker.h"
#include "patience.h"
#include "server/server.h"
#include "worker/worker_test.h"

namespace retsu {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::SizeIs;
using worker::finished;

// Does what it is asked, and then loses every second answer, or loses every second request.
class UnreliableBroker final : public Broker {
 public:
  enum class Loses : std::uint8_t { kRequests, kAnswers };
  UnreliableBroker(Broker& queue, Loses loses) : queue_(queue), loses_(loses) {}

  void submit(Command command, Context context, Done done) noexcept override {
    const bool is_lost = ++count_ % 2 == 1;
    if (is_lost && loses_ == Loses::kRequests) {
      Context unanswerable;
      unanswerable.deadline = std::chrono::steady_clock::time_point::min();
      return queue_.submit(std::move(command), std::move(unanswerable),
                           [done = std::move(done)](const Answer&) { done(lost()); });
    }
    queue_.submit(std::move(command), std::move(context),
                  [done = std::move(done), is_lost](Answer answer) {
                    done(is_lost ? lost() : std::move(answer));
                  });
  }
  Subscription watch(EventFilter filter, EventSink sink) override {
    return queue_.watch(std::move(filter), std::move(sink));
  }
  [[nodiscard]] Capabilities capabilities() const override { return queue_.capabilities(); }

 private:
  static Answer lost() {
    return Result<Reply>(tl::unexpected(Error{ErrorCode::kOutcomeUnknown, "lost"}));
  }

  Broker& queue_;
  const Loses loses_;
  std::atomic<int> count_ = 0;
};

class UnreliableQueue : public WorkerTest,
                        public testing::WithParamInterface<UnreliableBroker::Loses> {};
INSTANTIATE_TEST_SUITE_P(Worker, UnreliableQueue,
                         testing::Values(UnreliableBroker::Loses::kRequests,
                                         UnreliableBroker::Loses::kAnswers));

TEST_P(UnreliableQueue, IsWorkedOnAllTheSameEachTaskOnce) {
  constexpr int kTasks = 20;
  for (int i = 0; i < kTasks; ++i) push({.id = "t" + std::to_string(i)});
  UnreliableBroker unreliable(queue_, GetParam());
  settings_.concurrency = 4;
  settings_.until_empty = true;
  std::mutex mutex;
  std::multiset<std::string> runs;
  start(unreliable, [&](worker::Run& run) {
    const std::lock_guard lock(mutex);
    runs.insert(run.task().id);
    return finished({});
  });
  wait_for_the_end();
  EXPECT_TRUE(ran_);
  EXPECT_THAT(runs, SizeIs(kTasks));
  for (int i = 0; i < kTasks; ++i) {
    const Task task = must(GetTask{.id = "t" + std::to_string(i)});
    EXPECT_EQ(task.state, State::kFinished);
    EXPECT_EQ(task.attempts, 1);
  }
  EXPECT_THAT(must(ListClaims{}).claims, SizeIs(0));
}

class RestartedServer : public WorkerTest {
 protected:
  void start_server() {
    server::ServerSettings settings;
    settings.port = port_;
    auto started = server::Server::start(queue_, settings);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
    port_ = server_->port();
  }
  void stop_server() {
    server_->stop(1s);
    server_.reset();
  }

  std::uint16_t port_ = 0;
  std::unique_ptr<server::Server> server_;
};

TEST_F(RestartedServer, IsWaitedForWithTheResult) {
  push({.id = "a"});
  start_server();
  RemoteBroker remote({.url = server_->address()});
  Moment begun;
  Moment go_on;
  start(remote, [&](worker::Run&) {
    begun.come();
    (void)go_on.wait();
    return finished("1");
  });
  ASSERT_TRUE(begun.wait());
  stop_server();
  go_on.come();
  start_server();
  const Task task = ended("a");
  EXPECT_EQ(task.result.view(), "1");
  EXPECT_EQ(task.attempts, 1);
  push({.id = "b"});
  EXPECT_EQ(ended("b").state, State::kFinished);
  stop();
}

TEST_F(RestartedServer, HoldsNothingForAWorkerThatIsStopped) {
  start_server();
  RemoteBroker remote({.url = server_->address()});
  start(remote, [](worker::Run&) { return finished({}); });
  push({.id = "a"});
  ended("a");
  finish_.request_stop();
  wait_for_the_end();
  push({.id = "b"});
  EXPECT_EQ(must(GetTask{.id = "b"}).state, State::kQueued);
  EXPECT_THAT(must(ListClaims{}).claims, SizeIs(0));
}

}  // namespace
}  // namespace retsu
