#include "broker/engine_broker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <semaphore>

namespace retsu {
namespace {

using namespace std::chrono_literals;

constexpr auto kLong = 30s;  // something that comes would have come

// Keeps nothing, says what it is told to, and goes on when it is told to.
class HeldKeeper final : public Keeper {
 public:
  struct Gates {
    std::atomic<Kept> says = Kept::kYes;  // of the next commit
    std::atomic<bool> has_room = true;
    std::counting_semaphore<> found_room{0};
    std::counting_semaphore<> begun{0};  // commits
    std::counting_semaphore<> commits{0};
    std::counting_semaphore<> notes{0};
    std::counting_semaphore<> applied{0};  // commands
  };
  explicit HeldKeeper(Gates& gates) : gates_(gates) {}

  Kept commit(const engine::Changes& /*group*/) override {
    gates_.begun.release();
    gates_.commits.acquire();
    return gates_.says.exchange(Kept::kYes);
  }
  void kept(Engine& /*engine*/) override {}
  void note(engine::Changes /*group*/) override { gates_.notes.acquire(); }
  Status reopen(Engine& /*engine*/) override { return {}; }
  bool has_room() override {
    if (gates_.has_room) gates_.found_room.release();
    return gates_.has_room;
  }
  [[nodiscard]] bool works() const override { return true; }
  [[nodiscard]] bool lost_payload() const override {
    gates_.applied.release();
    return false;
  }
  std::chrono::milliseconds tidy(Engine& /*engine*/) override { return kNoWork; }

 private:
  Gates& gates_;
};

class HeldBroker final : public EngineBroker {
 public:
  explicit HeldBroker(HeldKeeper::Gates& gates)
      : EngineBroker(Limits{}, system_clock(), std::make_unique<Engine>(),
                     std::make_unique<HeldKeeper>(gates)),
        gates_(gates) {}
  // A test that fails shall end.
  ~HeldBroker() override {
    gates_.commits.release(100);
    gates_.notes.release(100);
  }

  std::future<Answer> ask(Command command) {
    auto promise = std::make_shared<std::promise<Answer>>();
    submit(std::move(command), {},
           [promise](Answer answer) { promise->set_value(std::move(answer)); });
    return promise->get_future();
  }
  std::future<Answer> push() { return ask(Push{.tasks = std::vector<NewTask>(1)}); }

 private:
  HeldKeeper::Gates& gates_;
};

TEST(EngineBroker, AnswersWhenAGroupIsKeptWhateverItsOwnerDoesThen) {
  HeldKeeper::Gates gates;
  HeldBroker broker(gates);
  std::vector<std::future<Answer>> answers;
  answers.push_back(broker.push());  // alone: the owner commits it
  ASSERT_TRUE(gates.begun.try_acquire_for(kLong));
  for (int i = 0; i < 3; ++i) answers.push_back(broker.push());
  gates.notes.release();
  gates.commits.release();
  ASSERT_TRUE(gates.begun.try_acquire_for(kLong));  // those three
  answers.push_back(broker.push());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(gates.applied.try_acquire_for(kLong));
  EXPECT_EQ(answers[1].wait_for(0s), std::future_status::timeout);  // nothing is told too early
  gates.commits.release();
  ASSERT_TRUE(gates.begun.try_acquire_for(kLong));  // the last, while the owner notes the three
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(answers[static_cast<std::size_t>(i)].wait_for(kLong), std::future_status::ready);
  }
  EXPECT_EQ(answers[4].wait_for(0s), std::future_status::timeout);
  gates.commits.release();
  EXPECT_EQ(answers[4].wait_for(kLong), std::future_status::ready);
  gates.notes.release(2);
  for (auto& answer : answers) EXPECT_TRUE(answer.get());
}

// A group of three calls is committed, and another is applied on top of it, when the first turns
// out as `says`.
class GroupsOnTop : public testing::Test {
 protected:
  // What three calls and the one on top of them are answered, in the end.
  std::vector<Answer> ask(std::vector<Command> three, Command on_top, Keeper::Kept says) {
    for (Command& command : three) asked_.push_back(broker_.ask(std::move(command)));
    pass();  // what the owner was at
    EXPECT_TRUE(gates_.begun.try_acquire_for(kLong));
    while (gates_.applied.try_acquire()) continue;
    asked_.push_back(broker_.ask(std::move(on_top)));
    EXPECT_TRUE(gates_.applied.try_acquire_for(kLong));
    gates_.says = says;
    gates_.commits.release(100);
    gates_.notes.release(100);
    std::vector<Answer> answers;
    for (auto& asked : asked_) {
      EXPECT_EQ(asked.wait_for(kLong), std::future_status::ready);
      answers.push_back(asked.get());
    }
    return answers;
  }
  // One call alone, which keeps the owner until pass().
  void begin(Command command) {
    first_ = broker_.ask(std::move(command));
    ASSERT_TRUE(gates_.begun.try_acquire_for(kLong));
  }
  void pass() {
    gates_.notes.release();
    gates_.commits.release();
    EXPECT_TRUE(first_.get());
  }
  std::int64_t tasks() {
    const auto stats = call(broker_, Stats{});
    std::int64_t sum = 0;
    for (const auto& [state, count] : stats->tasks) sum += count;
    return sum;
  }

  HeldKeeper::Gates gates_;
  HeldBroker broker_{gates_};
  std::future<Answer> first_;
  std::vector<std::future<Answer>> asked_;
};

NewTask named(const char* id) {
  NewTask task;
  task.id = id;
  return task;
}

TEST_F(GroupsOnTop, AreUndoneWithOneThatDidNotFitAndWhatAddsNothingIsDoneAgain) {
  begin(Push{.tasks = {named("a"), named("b")}});
  pass();
  begin(Claim{.max = 1, .claim_id = "c"});
  SettleOne finished;
  finished.id = "a";
  gates_.has_room = false;
  const std::vector<Answer> answers =
      ask({Push{.tasks = {named("x")}}, Settle{.claim_id = "c", .results = {finished}},
           Push{.tasks = {named("y")}}},
          Push{.tasks = {named("z")}}, Keeper::Kept::kFull);
  for (const std::size_t push : {0, 2, 3}) {
    ASSERT_FALSE(answers[push]) << push;
    EXPECT_EQ(answers[push].error().code, ErrorCode::kStorageFull) << push;
  }
  ASSERT_TRUE(answers[1]) << answers[1].error().message;
  EXPECT_EQ(call(broker_, GetTask{.id = "a"})->state, State::kFinished);
  EXPECT_EQ(tasks(), 2);
  gates_.has_room = true;
  ASSERT_TRUE(gates_.found_room.try_acquire_for(kLong));
  EXPECT_TRUE(call(broker_, Push{.tasks = {named("x")}}));
}

TEST_F(GroupsOnTop, AreDoneAgainWhenNobodyKnowsWhatBecameOfTheOneBefore) {
  begin(Push{.tasks = {named("a")}});
  const std::vector<Answer> answers =
      ask({Push{.tasks = {named("x")}}, Push{.tasks = {named("y")}}, Push{.tasks = {named("z")}}},
          Push{.tasks = {named("on-top")}}, Keeper::Kept::kUnknown);
  for (const std::size_t push : {0, 1, 2}) {
    ASSERT_FALSE(answers[push]) << push;
    EXPECT_EQ(answers[push].error().code, ErrorCode::kOutcomeUnknown) << push;
  }
  ASSERT_TRUE(answers[3]) << answers[3].error().message;
  EXPECT_EQ(tasks(), 1);  // the keeper has kept none, and says so when it is opened again
  EXPECT_TRUE(call(broker_, GetTask{.id = "on-top"}));
}

}  // namespace
}  // namespace retsu
