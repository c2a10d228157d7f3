// Undoing gives back the very same queue.

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/uuid.h"
#include "broker/codec.h"
#include "engine/engine.h"
#include "ingest/prepare.h"
#include "ingest/validate.h"
#include "random/commands.h"

namespace retsu::random_runs {
namespace {

// Cascades and housekeeping take several calls.
Limits few_steps() {
  Limits limits;
  limits.steps = 2;
  limits.closed_claims = 3;
  limits.remembered_ids = 30;
  limits.queue_tasks = 20;
  return limits;
}

std::string shown(const Step& step) {
  return format_time(step.clock) + " " + to_json(step.command);
}

bool is_deep() { return std::getenv("RETSU_DEEP") != nullptr; }

class Undo : public testing::TestWithParam<std::uint64_t> {
 protected:
  std::optional<Step> next() {
    Step step = source_.next();
    if (!validate(step.command, limits_)) return std::nullopt;
    step.command = prepare(std::move(step.command), step.clock, ids_);
    return step;
  }

  const Limits limits_ = few_steps();
  CommandSource source_{GetParam()};
  UuidSource ids_{GetParam()};
  Engine engine_{limits_};
};

TEST_P(Undo, OfACommandGivesBackTheQueueAndDoingItAgainTheSameAnswer) {
  for (int i = 0; i < 600; ++i) {
    const auto step = next();
    if (!step) continue;
    const std::string before = engine_.dump();
    const auto reply = engine_.apply(step->command, step->clock);
    const std::string after = engine_.dump();
    engine_.undo(engine_.take_changes());
    ASSERT_EQ(engine_.dump(), before) << "after undoing " << shown(*step);
    const auto again = engine_.apply(step->command, step->clock);
    ASSERT_EQ(engine_.dump(), after) << "after doing again " << shown(*step);
    ASSERT_EQ(again, reply);
    engine_.take_changes();
    source_.learn(step->command, reply);
  }
}

TEST_P(Undo, OfAGroupLatestFirstGivesBackTheQueue) {
  for (int group = 0; group < 60; ++group) {
    const std::string before = engine_.dump();
    std::vector<Step> steps;
    std::vector<engine::Changes> changes;
    for (int i = 0; i < 10; ++i) {
      const auto step = next();
      if (!step) continue;
      source_.learn(step->command, engine_.apply(step->command, step->clock));
      steps.push_back(*step);
      changes.push_back(engine_.take_changes());
    }
    const std::string after = engine_.dump();
    for (; !changes.empty(); changes.pop_back()) engine_.undo(std::move(changes.back()));
    ASSERT_EQ(engine_.dump(), before);
    for (const Step& step : steps) (void)engine_.apply(step.command, step.clock);
    engine_.take_changes();
    ASSERT_EQ(engine_.dump(), after);
  }
}

TEST_P(Undo, ARefusedCommandChangesNothing) {
  int refused = 0;
  for (int i = 0; i < 600; ++i) {
    const auto step = next();
    if (!step) continue;
    // What goes on by itself at each call goes first.
    do {
      engine_.advance(step->clock);
    } while (engine_.next_event() <= engine_.now());
    const std::string before = engine_.dump();
    const auto reply = engine_.apply(step->command, step->clock);
    if (!reply) {
      ++refused;
      ASSERT_EQ(engine_.dump(), before) << shown(*step);
    }
    engine_.take_changes();
    source_.learn(step->command, reply);
  }
  EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Undo, testing::Range<std::uint64_t>(1, is_deep() ? 401 : 9));

}  // namespace
}  // namespace retsu::random_runs
