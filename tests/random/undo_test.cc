// Undoing gives back the very same queue.

#include <gtest/gtest.h>

#include "base/uuid.h"
#include "broker/codec.h"
#include "deep.h"
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
  limits.settled_tasks = 5;
  limits.remembered_ids = 30;
  limits.queue_tasks = 20;
  return limits;
}

std::string shown(const Step& step) {
  return format_time(step.clock) + " " + to_json(step.command);
}

struct Life {
  explicit Life(std::uint64_t seed) : source(seed), ids(seed) {}

  std::optional<Step> next() {
    Step step = source.next();
    if (!validate(step.command, limits)) return std::nullopt;
    step.command = prepare(std::move(step.command), step.clock, ids);
    return step;
  }

  const Limits limits = few_steps();
  CommandSource source;
  UuidSource ids;
  Engine engine{limits};
};

// A life from each seed: a few, or many.
void for_each_life(void (*test)(Life&)) {
  const std::uint64_t seeds = deep() ? 400 : 8;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life life(seed);
    test(life);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Undo, OfACommandGivesBackTheQueueAndDoingItAgainTheSameAnswer) {
  for_each_life([](Life& life) {
    for (int i = 0; i < 600; ++i) {
      const auto step = life.next();
      if (!step) continue;
      const std::string before = life.engine.dump();
      const auto reply = life.engine.apply(step->command, step->clock);
      const std::string after = life.engine.dump();
      life.engine.undo(life.engine.take_changes());
      ASSERT_EQ(life.engine.dump(), before) << "after undoing " << shown(*step);
      const auto again = life.engine.apply(step->command, step->clock);
      ASSERT_EQ(life.engine.dump(), after) << "after doing again " << shown(*step);
      ASSERT_EQ(again, reply);
      life.engine.take_changes();
      life.source.learn(step->command, reply);
    }
  });
}

TEST(Undo, OfAGroupLatestFirstGivesBackTheQueue) {
  for_each_life([](Life& life) {
    for (int group = 0; group < 60; ++group) {
      const std::string before = life.engine.dump();
      std::vector<Step> steps;
      std::vector<engine::Changes> changes;
      for (int i = 0; i < 10; ++i) {
        const auto step = life.next();
        if (!step) continue;
        life.source.learn(step->command, life.engine.apply(step->command, step->clock));
        steps.push_back(*step);
        changes.push_back(life.engine.take_changes());
      }
      const std::string after = life.engine.dump();
      for (; !changes.empty(); changes.pop_back()) life.engine.undo(std::move(changes.back()));
      ASSERT_EQ(life.engine.dump(), before);
      for (const Step& step : steps) (void)life.engine.apply(step.command, step.clock);
      life.engine.take_changes();
      ASSERT_EQ(life.engine.dump(), after);
    }
  });
}

TEST(Undo, ARefusedCommandChangesNothing) {
  for_each_life([](Life& life) {
    int refused = 0;
    for (int i = 0; i < 600; ++i) {
      const auto step = life.next();
      if (!step) continue;
      // What goes on by itself at each call goes first.
      do {
        life.engine.advance(step->clock);
      } while (life.engine.next_event() <= life.engine.now());
      const std::string before = life.engine.dump();
      const auto reply = life.engine.apply(step->command, step->clock);
      if (!reply) {
        ++refused;
        ASSERT_EQ(life.engine.dump(), before) << shown(*step);
      }
      life.engine.take_changes();
      life.source.learn(step->command, reply);
    }
    EXPECT_GT(refused, 0);
  });
}

}  // namespace
}  // namespace retsu::random_runs
