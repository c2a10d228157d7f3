// Random commands on tasks.

#include "random/commands.h"

namespace retsu::random_runs {

NewTask CommandSource::new_task(bool with_dependencies) {
  NewTask task;
  if (dice_.percent(75)) {
    task.id = "t" + std::to_string(dice_.below(30));
  } else {
    task.id = new_id();
    task.id_generated = true;
  }
  task.queue = queue();
  task.user = user();
  task.type = dice_.one_of({"", "mail", "call"});
  task.priority = {static_cast<int>(dice_.percent(40) ? kNormalPriority : dice_.between(1, 6))};
  task.payload = Json(std::to_string(dice_.below(dice_.percent(80) ? 100 : 1'000'000'000)));
  if (dice_.percent(18)) {
    task.run_at =
        latest_ + Millis{dice_.one_of<std::int64_t>(
                      {-5, 0, 1, 1'000, dice_.below(10 * kSecond), dice_.below(2 * kHour)})};
  }
  if (dice_.percent(12)) {
    task.expires_at = latest_ + Millis{dice_.one_of<std::int64_t>(
                                    {0, 1, 1'000, dice_.below(30 * kSecond), dice_.below(kHour)})};
  }
  if (with_dependencies && dice_.percent(30)) {
    const std::int64_t count = dice_.between(1, 3);
    for (std::int64_t i = 0; i < count; ++i) {
      const When when = dice_.percent(75) ? When::kFinished : When::kSettled;
      task.depends_on.push_back({task_id(), when});
    }
    task.allow_missing = dice_.percent(75);
  }
  using enum OnDependencyFailure;
  task.on_dependency_failure = dice_.one_of({kWait, kWait, kCancel, kRun});
  task.on_dependency_cancel =
      dice_.percent(60) ? OnDependencyCancel::kDrop : OnDependencyCancel::kCancel;
  if (dice_.percent(25)) task.unique_key = "k" + std::to_string(dice_.below(6));
  if (dice_.percent(15)) task.placement = Placement::kFront;
  if (dice_.percent(10)) task.timeout_ms = dice_.one_of<std::int64_t>({0, 1, 1'500, 20'000});
  if (dice_.percent(15)) task.max_attempts = dice_.between(1, 3);
  if (dice_.percent(8)) task.retry = retry();
  if (dice_.percent(10)) task.tags = {dice_.percent(50) ? "red" : "blue"};
  if (dice_.percent(5)) task.trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  return task;
}

Command CommandSource::push() {
  Push push;
  const std::int64_t count = dice_.percent(65) ? 1 : dice_.between(2, 6);
  for (std::int64_t i = 0; i < count; ++i) {
    NewTask task = new_task();
    const NewTask* other = i > 0 && dice_.percent(30) ? &dice_.pick(push.tasks) : nullptr;
    if (other && !other->id_generated) task.depends_on.push_back({other->id, When::kFinished});
    push.tasks.push_back(std::move(task));
  }
  if (count > 1 && !push.tasks.back().id_generated && dice_.percent(10)) {
    push.tasks.front().depends_on.push_back({push.tasks.back().id, When::kFinished});
  }
  push.partial = dice_.percent(25);
  return push;
}

std::vector<NewTask> CommandSource::children() {
  std::vector<NewTask> children;
  const std::int64_t count = dice_.between(1, 3);
  for (std::int64_t i = 0; i < count; ++i) children.push_back(new_task(dice_.percent(30)));
  return children;
}

Command CommandSource::one_task() {
  const std::string id = task_id();
  const std::int64_t roll = dice_.below(100);
  if (roll < 35) return CancelTask{id};
  if (roll < 70) return RetryTask{id};
  if (roll < 85) return FrontTask{id};
  return RemoveTask{id};
}

Filter CommandSource::filter() {
  Filter filter;
  if (dice_.percent(30)) {
    using enum State;
    filter.state =
        dice_.one_of({kScheduled, kDeferred, kQueued, kStarted, kFinished, kFailed, kCanceled});
  }
  if (dice_.percent(50)) filter.queue = queue();
  if (dice_.percent(40)) filter.user = user();
  if (dice_.percent(10)) filter.type = dice_.one_of({"mail", "call"});
  if (dice_.percent(5)) filter.tag = "red";
  if (dice_.percent(10)) filter.unique_key = "k" + std::to_string(dice_.below(6));
  if (dice_.percent(10)) filter.waits_for = task_id();
  if (dice_.percent(10)) filter.q = dice_.one_of({"1", "T2", "broken", "Blue"});
  if (dice_.percent(10)) filter.since = latest_ - Millis{dice_.below(kMinute)};
  if (dice_.percent(10)) filter.until = latest_ - Millis{dice_.below(kMinute)};
  return filter;
}

Command CommandSource::many_tasks() {
  const std::int64_t roll = dice_.below(100);
  if (roll < 35) return CancelTasks{filter(), std::nullopt, true};
  if (roll < 55) return RetryTasks{filter(), std::nullopt, true};
  if (roll < 70) return RedriveDead{filter(), std::nullopt, true};
  return PurgeDead{filter(), std::nullopt, true};
}

Command CommandSource::look() {
  switch (dice_.below(8)) {
    case 0:
      return ListTasks{filter(), dice_.between(1, 40), ""};
    case 1:
      return Why{task_id()};
    case 2:
      return Graph{task_id()};
    case 3:
      return ListDead{filter(), dice_.one_of({DeadGroupBy::kNothing, DeadGroupBy::kError}),
                      dice_.between(1, 10), ""};
    case 4:
      return ListClaims{dice_.between(1, 8), ""};
    case 5:
      return ListUsers{dice_.percent(50) ? queue() : "", dice_.between(1, 30), ""};
    case 6:
      return ListQueues{dice_.between(1, 5), ""};
    default:
      return GetTask{task_id(), 0};
  }
}

}  // namespace retsu::random_runs
