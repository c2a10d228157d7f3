#include "random/commands.h"

#include <algorithm>

namespace retsu::random_runs {
namespace {

constexpr TimePoint kStart =
    std::chrono::sys_days{std::chrono::year{2030} / std::chrono::January / 1} + Millis{7};
constexpr std::size_t kRemembered = 12;

// A bulk command that was tried, in earnest.
std::optional<Command> in_earnest(const Command& tried, std::int64_t matched) {
  return std::visit(
      [&](auto command) -> std::optional<Command> {
        if constexpr (requires { command.dry_run; }) {
          command.dry_run = false;
          command.expect = matched;
          return command;
        }
        return std::nullopt;
      },
      tried);
}

bool is_dry_run(const Command& command) {
  return std::visit(
      [](const auto& bulk) {
        if constexpr (requires { bulk.dry_run; }) return bulk.dry_run;
        return false;
      },
      command);
}

}  // namespace

CommandSource::CommandSource(std::uint64_t seed) : dice_(seed), clock_(kStart), latest_(kStart) {}

Step CommandSource::next() {
  let_time_pass();
  if (dice_.percent(8)) return with_key();
  return {clock_, any_command()};
}

// One key for all kinds of commands, or once more what it was used for.
Step CommandSource::with_key() {
  const std::string key = "key-" + std::to_string(dice_.below(8));
  const auto used = keyed_.find(key);
  if (used != keyed_.end() && dice_.percent(60)) return {clock_, used->second, key};
  const Command command = dice_.percent(60) ? push() : any_command();
  keyed_.insert_or_assign(key, command);
  return {clock_, command, key};
}

// Mostly seconds, sometimes much more, and now and then backwards.
void CommandSource::let_time_pass() {
  const std::int64_t roll = dice_.below(1'000);
  if (clock_ < latest_ && dice_.percent(30)) {
    clock_ = latest_;
  } else if (roll < 300) {
    return;
  } else if (roll < 800) {
    clock_ += Millis{dice_.below(5 * kSecond)};
  } else if (roll < 910) {
    clock_ += Millis{kSecond * dice_.below(120)};
  } else if (roll < 950) {
    clock_ += Millis{dice_.below(2 * kHour)};
  } else if (roll < 965) {
    clock_ += Millis{kHour * dice_.below(30)};
  } else if (roll < 970) {
    clock_ += Millis{kHour * dice_.below(24 * 8)};
  } else {
    clock_ -= Millis{dice_.below(dice_.percent(80) ? 10 * kSecond : kHour)};
  }
  latest_ = std::max(latest_, clock_);
}

Command CommandSource::any_command() {
  if (draining_ && dice_.percent(15)) {
    draining_ = false;
    return EndDrain{};
  }
  if (tried_ && dice_.percent(70)) {
    const auto [tried, matched] = *std::exchange(tried_, std::nullopt);
    if (auto command = in_earnest(tried, matched + (dice_.percent(10) ? 1 : 0))) return *command;
  }
  const std::int64_t roll = dice_.below(1'000);
  if (roll < 270) return push();
  if (roll < 460) return claim();
  if (roll < 680) return settle();
  if (roll < 730) return other_claim_command();
  if (roll < 830) return one_task();
  if (roll < 850) return many_tasks();
  if (roll < 910) return look();
  if (roll < 948) return queue_command();
  if (roll < 960) return user_command();
  if (roll < 975) return xcom_command();
  if (roll < 993) return schedule_command();
  if (roll < 997) return Stats{};
  draining_ = true;
  return StartDrain{};
}

std::string CommandSource::unknown_or(std::string name) {
  return dice_.percent(4) ? "nobody" : std::move(name);
}

std::string CommandSource::queue() { return "q" + std::to_string(dice_.below(4)); }
std::string CommandSource::user() { return "u" + std::to_string(dice_.below(6)); }
std::string CommandSource::claim_id() { return "c" + std::to_string(dice_.below(8)); }
std::string CommandSource::new_id() { return "g" + std::to_string(++generated_); }

std::string CommandSource::task_id() {
  if (!recent_.empty() && dice_.percent(30)) return dice_.pick(recent_);
  return unknown_or("t" + std::to_string(dice_.below(30)));
}

void CommandSource::learn(const Command& command, const Result<Reply>& reply) {
  if (!reply) return;
  if (const auto* pushed = std::get_if<PushReply>(&*reply)) {
    for (const Pushed& task : pushed->tasks) {
      if (task.created) recent_.push_back(task.id);
    }
  }
  if (const auto* claim = std::get_if<ClaimReply>(&*reply)) {
    for (const ClaimedTask& task : claim->tasks) {
      held_.push_back({claim->claim_id, task.id, task.fence});
    }
  }
  if (const auto* run = std::get_if<Pushed>(&*reply)) recent_.push_back(run->id);
  if (const auto* schedules = std::get_if<ScheduleList>(&*reply)) {
    for (const ScheduleInfo& schedule : schedules->schedules) {
      if (!schedule.last_task.empty()) recent_.push_back(schedule.last_task);
    }
  }
  if (const auto* bulk = std::get_if<BulkReply>(&*reply)) {
    if (is_dry_run(command)) tried_ = {command, bulk->matched};
  }
  if (recent_.size() > kRemembered) {
    recent_.erase(recent_.begin(), recent_.end() - kRemembered);
  }
  if (held_.size() > kRemembered) held_.erase(held_.begin(), held_.end() - kRemembered);
}

}  // namespace retsu::random_runs
