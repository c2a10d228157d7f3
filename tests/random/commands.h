// Random commands in a small world, where names collide, cycles close and claims go stale all the
// time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/operations.h"
#include "random/dice.h"

namespace retsu::random_runs {

struct Step {
  TimePoint clock;
  Command command;
  std::optional<std::string> key = {};  // for doing it once
};

// One seed, one sequence of steps, given the same answers. Every command has its ids filled in, so
// that it means the same to every broker. About a tenth is nonsense: unknown ids, old fences, wrong
// states.
class CommandSource {
 public:
  explicit CommandSource(std::uint64_t seed);

  Step next();

  // What the queue answered to the last step, so that the next ones can build on it.
  void learn(const Command& command, const Result<Reply>& reply);

 private:
  struct Held {
    std::string claim_id;
    std::string id;
    std::int64_t fence;
  };

  void let_time_pass();
  Command any_command();
  Step with_key();

  // Names.
  std::string queue();
  std::string user();
  std::string task_id();
  std::string unknown_or(std::string name);
  std::string new_id();
  std::string claim_id();

  // Tasks (task_commands.cc).
  NewTask new_task(bool with_dependencies = true);
  std::vector<NewTask> children();
  Filter filter();
  Command push();
  Command one_task();
  Command many_tasks();
  Command look();

  // Claims (claim_commands.cc).
  Command claim();
  Command settle();
  SettleOne result_for(const std::string& id, std::optional<std::int64_t> fence);
  Command other_claim_command();

  // Queues (queue_commands.cc).
  Retry retry();
  QueuePolicy policy();
  Command queue_command();
  Command user_command();
  Command xcom_command();
  Command schedule_command();

  Dice dice_;
  TimePoint clock_;
  TimePoint latest_;  // the highest clock so far
  bool draining_ = false;
  std::map<std::string, Command> keyed_;  // the last command of each key
  std::int64_t generated_ = 0;
  std::vector<std::string> recent_;  // ids of tasks seen lately that nobody chose
  std::vector<Held> held_;           // given by claims, maybe lost since
  std::optional<std::pair<Command, std::int64_t>> tried_;  // a dry run and how many it matched
};

}  // namespace retsu::random_runs
