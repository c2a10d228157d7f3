#include "retsu/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "api/refusal.h"
#include "base/temporary_directory.h"
#include "retsu/queue.h"

namespace retsu_api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Step step(const std::string& name) { return Step({.id = name, .queue = "etl", .type = name}); }

// Edges as `from>to`, in order.
std::set<std::string> edges(const Pipeline& pipeline) {
  std::set<std::string> found;
  for (const Pipeline::Node& node : pipeline.nodes()) {
    for (const std::size_t before : node.after) {
      found.insert(pipeline.nodes()[before].step.task().id + ">" + node.step.task().id);
    }
  }
  return found;
}

class PipelineTest : public testing::Test {
 protected:
  const Step a_ = step("a");
  const Step b_ = step("b");
  const Step c_ = step("c");
  const Step d_ = step("d");
  const Step e_ = step("e");
};

TEST_F(PipelineTest, OneStepIsAPipeline) {
  const Pipeline flow = a_;
  ASSERT_EQ(flow.nodes().size(), 1u);
  EXPECT_EQ(flow.nodes()[0].step, a_);
  EXPECT_THAT(edges(flow), ElementsAre());
}

TEST_F(PipelineTest, AChainRunsOneAfterTheOther) {
  EXPECT_THAT(edges(a_ >> b_ >> c_), ElementsAre("a>b", "b>c"));
  EXPECT_THAT(edges(a_ >> (b_ >> c_)), ElementsAre("a>b", "b>c"));
}

TEST_F(PipelineTest, SideBySideHasNoOrder) { EXPECT_THAT(edges(a_ | b_ | c_), ElementsAre()); }

TEST_F(PipelineTest, ADiamondSplitsAndJoins) {
  EXPECT_THAT(edges(a_ >> (b_ | c_) >> d_), ElementsAre("a>b", "a>c", "b>d", "c>d"));
}

TEST_F(PipelineTest, WideAfterWideIsEveryPair) {
  EXPECT_THAT(edges((a_ | b_) >> (c_ | d_)), ElementsAre("a>c", "a>d", "b>c", "b>d"));
}

TEST_F(PipelineTest, CombinationsNest) {
  EXPECT_THAT(edges((a_ >> b_) | (c_ >> d_)), ElementsAre("a>b", "c>d"));
  EXPECT_THAT(edges(((a_ >> b_) | c_) >> (d_ | e_)),
              ElementsAre("a>b", "b>d", "b>e", "c>d", "c>e"));
  EXPECT_THAT(edges((a_ | b_ >> c_) >> d_), ElementsAre("a>d", "b>c", "c>d"));
  EXPECT_THAT(edges(a_ >> (b_ | (c_ >> d_)) >> e_), ElementsAre("a>b", "a>c", "b>e", "c>d", "d>e"));
}

TEST_F(PipelineTest, IsAValueThatCanBeUsedAgain) {
  const Pipeline start = a_ >> b_;
  EXPECT_THAT(edges(start >> c_), ElementsAre("a>b", "b>c"));
  EXPECT_THAT(edges(start | d_), ElementsAre("a>b"));
  EXPECT_THAT(edges(start), ElementsAre("a>b"));
}

TEST_F(PipelineTest, AStepThatStandsTwiceIsRefused) {
  EXPECT_THAT(refusal([&] { a_ >> b_ >> a_; }),
              testing::StartsWith("invalid: the step with id \"a\" stands twice in the pipeline"));
  EXPECT_THAT(refusal([&] { (a_ >> b_) | (c_ >> b_); }), HasSubstr("\"b\" stands twice"));
  EXPECT_THAT(refusal([&] { a_ | a_; }), HasSubstr("stands twice"));
  const Step nameless({.queue = "q"});
  EXPECT_THAT(refusal([&] { nameless >> nameless; }), HasSubstr("a step of queue \"q\""));
  const Step typed({.type = "load"});
  EXPECT_THAT(refusal([&] { typed >> typed; }), HasSubstr("the step of type \"load\""));
  EXPECT_EQ(refusal([&] { a_ >> step("a"); }),
            "invalid: two steps of the pipeline have the id \"a\"");
  EXPECT_EQ(refusal([] { Step({.type = "x"}) >> Step({.type = "x"}); }), "");
}

TEST_F(PipelineTest, RunsInOrderAndHandsResultsOn) {
  const retsu::TemporaryDirectory directory;
  Queue queue = open(directory.path());
  const auto pushed = queue.push(a_ >> (b_ | c_) >> d_);
  std::vector<std::vector<std::string>> rounds;
  for (;;) {
    const Claim claim = queue.claim({.queues = {"etl"}, .max = 10});
    if (claim.tasks.empty()) break;
    auto& round = rounds.emplace_back();
    for (const ClaimedTask& task : claim.tasks) {
      round.push_back(task.id);
      std::string sum;
      for (const auto& [id, input] : task.inputs) sum += id + input.result.as_string();
      queue.finish(task, "(" + sum + ")");
    }
  }
  EXPECT_THAT(rounds, ElementsAre(ElementsAre("a"), testing::UnorderedElementsAre("b", "c"),
                                  ElementsAre("d")));
  EXPECT_EQ(queue.get_task(pushed.id(d_)).result, "(b(a())c(a()))");
}

TEST_F(PipelineTest, StepsWithoutIdsGetNewOnesEachTime) {
  Queue queue = open("memory:");
  const Step first({.queue = "etl"});
  const Step second({.queue = "etl", .depends_on = {"a"}});
  queue.push(a_);
  const auto one = queue.push(first >> second);
  const auto two = queue.push(first >> second);
  EXPECT_EQ(one.tasks().size(), 2u);
  EXPECT_EQ(
      std::set<std::string>({one.id(first), one.id(second), two.id(first), two.id(second)}).size(),
      4u);
  EXPECT_TRUE(one.task(first).created);
  EXPECT_EQ(one.task(second).state, State::kDeferred);
  EXPECT_EQ(queue.get_task(one.id(second)).blocked_by.size(), 2u) << "its own dependency as well";
  EXPECT_THAT(refusal([&] { (void)one.id(b_); }), testing::StartsWith("not_found: "));
}

TEST_F(PipelineTest, TheSameKeyPushesItOnce) {
  Queue queue = open("memory:");
  const Pipeline flow = Step({.queue = "x"}) >> Step({.queue = "y"});
  const auto first = queue.push(flow, {.idempotency_key = "k"});
  const auto again = queue.push(flow, {.idempotency_key = "k"});
  EXPECT_TRUE(again.tasks().at(1).replayed);
  EXPECT_EQ(again.tasks().at(1).id, first.tasks().at(1).id);
  EXPECT_EQ(queue.stats().counters.at("pushed"), 2);
  const auto other = queue.push(flow, {.idempotency_key = "l"});
  EXPECT_NE(other.tasks().at(1).id, first.tasks().at(1).id);
}

TEST_F(PipelineTest, IsPushedWholeOrNotAtAll) {
  Queue queue = open("memory:");
  EXPECT_THAT(refusal([&] { queue.push(a_ >> Step({.user = "not a user"})); }),
              testing::StartsWith("invalid: "));
  EXPECT_THAT(refusal([&] { (void)queue.get_task("a"); }), testing::StartsWith("not_found: "));
  EXPECT_THAT(refusal([&] { queue.push(a_, {.partial = true}); }), HasSubstr("pushed whole"));
}

TEST_F(PipelineTest, ACycleWithWhatIsStoredIsRefused) {
  Queue queue = open("memory:");
  queue.push({.id = "old", .depends_on = {"d"}, .allow_missing = true});
  EXPECT_THAT(refusal([&] { queue.push(Step({.id = "x", .depends_on = {"old"}}) >> d_); }),
              testing::StartsWith("dependency_cycle: "));
}

}  // namespace
}  // namespace retsu_api
