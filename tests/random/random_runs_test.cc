// Random runs of every broker, judged by the reference model.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <numeric>

#include "deep.h"
#include "random/judge.h"
#include "random/spoiled_broker.h"
#include "reference/reference_broker.h"

namespace retsu::random_runs {
namespace {

using conformance::SubjectKind;

// The model does long work at once; that others do it in steps shows only in when it happens.
Limits plenty() {
  Limits limits;
  limits.steps = 1'000'000;
  return limits;
}

// Limits so low that they are reached.
Limits tight() {
  Limits limits = plenty();
  limits.history = 3;
  limits.dependencies = 6;
  limits.queue_tasks = 9;
  limits.queue_bytes = 40;
  limits.remembered_ids = 14;
  limits.closed_claims = 3;
  limits.settled_tasks = 5;
  limits.queues = 4;
  limits.schedules = 2;
  limits.xcom_entries = 3;
  limits.idempotency_keys = 4;
  return limits;
}

class RandomRuns : public testing::TestWithParam<SubjectKind> {
 protected:
  // The model beside itself has nothing to find in more runs; a store that is opened again and
  // again is slow.
  static std::uint64_t times() {
    if (!deep() || GetParam().name == "Reference") return 1;
    return GetParam().name == "Restarted" ? 10 : 50;
  }

  // The seed of the environment, or so many from the first on.
  static std::vector<std::uint64_t> seeds(std::uint64_t first, std::uint64_t count) {
    if (const char* seed = std::getenv("RETSU_SEED")) return {std::strtoull(seed, nullptr, 10)};
    std::vector<std::uint64_t> all(count * times());
    std::iota(all.begin(), all.end(), first);
    return all;
  }

  static void expect_no_mismatch(const Trial& trial) {
    const Verdict verdict = play(trial, GetParam().make);
    ASSERT_FALSE(verdict.mismatch) << report(trial, verdict, GetParam().make);
  }
};
INSTANTIATE_TEST_SUITE_P(Random, RandomRuns, testing::ValuesIn(conformance::subject_kinds(7)),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(RandomRuns, AnswerAsTheModelDoes) {
  for (const std::uint64_t seed : seeds(1, scaled(10))) {
    expect_no_mismatch({seed, 1'000, plenty()});
    if (HasFatalFailure()) return;
  }
}

TEST_P(RandomRuns, AnswerAsTheModelDoesWhenLimitsAreReached) {
  for (const std::uint64_t seed : seeds(1'000'001, scaled(6, 3))) {
    expect_no_mismatch({seed, 600, tight()});
    if (HasFatalFailure()) return;
  }
}

TEST_P(RandomRuns, AnswerAsTheModelDoesFromAnySeed) {
  const std::string runs =
      "max_success=" + std::to_string(static_cast<std::uint64_t>(scaled(100)) * times());
  setenv("RC_PARAMS", runs.c_str(), 0);  // read once, at the first check of the process
  const bool holds = rc::check("a run from any seed", [] {
    const Trial trial{*rc::gen::arbitrary<std::uint64_t>(), 200, plenty()};
    const Verdict verdict = play(trial, GetParam().make);
    if (verdict.mismatch) RC_FAIL(report(trial, verdict, GetParam().make));
  });
  EXPECT_TRUE(holds) << "rapidcheck's report is above";
}

// The model's own life, without anybody beside it.
struct Life {
  std::map<std::string_view, int> done;     // by operation
  std::map<std::string_view, int> refused;  // by error code
  ReferenceQueue::Taken taken;
};

Life life_of(std::uint64_t runs, std::size_t length) {
  Life life;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    ReferenceQueue model;
    CommandSource source(seed);
    for (std::size_t i = 0; i < length; ++i) {
      const Step step = source.next();
      const Result<Reply> reply = model.apply(step.command, step.clock);
      source.learn(step.command, reply);
      if (reply) ++life.done[operation_of(step.command).name];
      if (!reply) ++life.refused[row_of(reply.error().code).name];
    }
    for (const auto& [row, times] : model.taken()) life.taken[row] += times;
  }
  return life;
}

TEST(RandomCommands, TakeEveryRowOfTheTable) {
  const Life life = life_of(40, 1'000);
  for (const Transition& row : kTransitions) {
    // A canceled task has lost its references, so nothing blocks it.
    if (row.from == State::kCanceled && row.event == Event::kRedriveBlocked) continue;
    EXPECT_TRUE(life.taken.contains({row.from, row.event}))
        << name_of(row.from) << " " << name_of(row.event);
  }
}

TEST(RandomCommands, SucceedWithEveryOperation) {
  const Life life = life_of(40, 1'000);
  for (const Operation& operation : kOperations) {
    EXPECT_TRUE(life.done.contains(operation.name)) << operation.name;
  }
}

TEST(RandomCommands, AreRefusedForEveryReasonThatAQueueHas) {
  const Life life = life_of(40, 1'000);
  for (const char* code : {"invalid", "not_found", "invalid_transition", "stale_claim", "conflict",
                           "dependency_cycle", "unknown_dependency", "overloaded", "draining"}) {
    EXPECT_TRUE(life.refused.contains(code)) << code;
  }
}

TEST(RandomCommands, AreTheSameFromTheSameSeed) {
  CommandSource one(7);
  CommandSource other(7);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(shown(one.next()), shown(other.next()));
}

// ---------------------------------------------------------------------- the judge is judged itself

struct Spoiled {
  Verdict verdict;
  std::vector<Step> shortest;
};

Spoiled play_spoiled(Spoil spoil) {
  const MakeSubject make = [spoil](Limits limits) {
    return std::make_unique<SpoiledSubject>(limits, spoil);
  };
  const Trial trial{11, 400, {}};
  Spoiled played{play(trial, make), {}};
  if (played.verdict.mismatch) played.shortest = shrunk(played.verdict.steps, trial.limits, make);
  return played;
}

TEST(Judge, FindsNothingWrongWithTheModelItself) {
  EXPECT_FALSE(play_spoiled(Spoil::kNothing).verdict.mismatch);
}

TEST(Judge, FindsAWrongNumberOfRemainingTasks) {
  const Spoiled played = play_spoiled(Spoil::kRemaining);
  ASSERT_TRUE(played.verdict.mismatch);
  EXPECT_EQ(played.shortest.size(), 1U);
}

TEST(Judge, FindsAPushThatIsLost) {
  const Spoiled played = play_spoiled(Spoil::kThirdPush);
  ASSERT_TRUE(played.verdict.mismatch);
  EXPECT_LE(played.shortest.size(), 4U);
}

TEST(Judge, FindsACancelThatIsForgotten) {
  const Spoiled played = play_spoiled(Spoil::kCancel);
  ASSERT_TRUE(played.verdict.mismatch);
  EXPECT_LE(played.shortest.size(), 6U);
}

TEST(Judge, FindsAClockThatRunsBackwards) {
  EXPECT_TRUE(play_spoiled(Spoil::kClock).verdict.mismatch);
}

}  // namespace
}  // namespace retsu::random_runs
