// Random commands on queues, users, shared values and schedules.

#include "random/commands.h"

namespace retsu::random_runs {

Retry CommandSource::retry() {
  Retry retry;
  retry.kind = dice_.percent(50) ? RetryKind::kFixed : RetryKind::kExponential;
  retry.base_ms = dice_.one_of<std::int64_t>({0, 100, 1'000, 5'000});
  retry.factor = dice_.one_of({1.0, 1.5, 2.0, 3.0});
  retry.max_ms = retry.base_ms + dice_.one_of<std::int64_t>({0, 1'000, 20'000});
  retry.jitter = dice_.one_of({0.0, 0.1, 1.0});
  retry.max_attempts = dice_.between(1, 4);
  return retry;
}

QueuePolicy CommandSource::policy() {
  QueuePolicy policy;
  if (dice_.percent(35)) policy.concurrency = dice_.between(1, 4);
  if (dice_.percent(20)) policy.interval_ms = dice_.one_of<std::int64_t>({1, 500, 3'000});
  if (dice_.percent(25)) {
    policy.rate =
        Rate{dice_.between(1, 4), dice_.one_of<std::int64_t>({700, 1'000, 10'000}), dice_.below(4)};
  }
  if (dice_.percent(30)) policy.throttle_ms = dice_.one_of<std::int64_t>({0, 300, 2'000});
  if (dice_.percent(20)) policy.max_hold_ms = dice_.one_of<std::int64_t>({100, 5'000, 60'000});
  if (dice_.percent(60)) policy.retry = retry();
  if (dice_.percent(25)) policy.breaker = Breaker{dice_.between(1, 3)};
  if (dice_.percent(50)) policy.lease_ms = dice_.one_of<std::int64_t>({0, 1'000, 4'000, 30'000});
  if (dice_.percent(40)) policy.timeout_ms = dice_.one_of<std::int64_t>({0, 1'000, 3'000, 10'000});
  if (dice_.percent(40)) {
    policy.aging_ms = dice_.one_of({Aging{0}, Aging{1'000}, Aging{kMinute}, kStrictAging});
  }
  policy.paused = dice_.percent(5);
  policy.await_keeps_permit = dice_.percent(30);
  Retention& kept = policy.retention;
  if (dice_.percent(30)) kept.finished_ms = dice_.one_of<std::int64_t>({0, 5'000, kMinute, kHour});
  if (dice_.percent(30)) kept.canceled_ms = dice_.one_of<std::int64_t>({0, 5'000, kMinute});
  if (dice_.percent(30))
    kept.failed_ms = dice_.one_of<std::int64_t>({0, 10'000, kHour, 90 * kHour});
  if (dice_.percent(25)) kept.max_tasks = dice_.between(0, 5);
  if (dice_.percent(10)) kept.max_bytes = dice_.one_of<std::int64_t>({0, 5, 40});
  return policy;
}

Command CommandSource::queue_command() {
  const std::string name = queue();
  const std::int64_t roll = dice_.below(100);
  if (roll < 45) return PutQueue{name, policy()};
  if (roll < 60) {
    return PatchQueue{name, dice_.one_of<const char*>(
                                {R"({"concurrency":2})", R"({"concurrency":null})",
                                 R"({"rate":{"limit":2,"per_ms":1000}})", R"({"rate":null})",
                                 R"({"interval_ms":0})", R"({"retry":{"max_attempts":2}})",
                                 R"({"retention":{"max_tasks":2}})", R"({"aging_ms":"strict"})"})};
  }
  if (roll < 66) return PauseQueue{name};
  if (roll < 82) return ResumeQueue{name};
  if (roll < 86) return PurgeQueue{unknown_or(name)};
  if (roll < 92) return DeleteQueue{unknown_or(name)};
  return GetQueue{unknown_or(name)};
}

Command CommandSource::user_command() {
  UserSettings settings;
  if (dice_.percent(50)) settings.weight = dice_.between(1, 3);
  if (dice_.percent(40)) settings.max_running = dice_.between(1, 3);
  if (dice_.percent(20)) settings.max_waiting = dice_.between(0, 6);
  if (dice_.percent(10)) settings.max_waiting_bytes = dice_.between(0, 30);
  return PutUser{user(), dice_.percent(60) ? queue() : "", settings};
}

Command CommandSource::xcom_command() {
  const std::string key = "x" + std::to_string(dice_.below(4));
  const std::int64_t roll = dice_.below(100);
  if (roll < 30) return GetXcom{key};
  if (roll < 70) {
    return PutXcom{key, Json(std::to_string(dice_.below(100))),
                   dice_.one_of<std::int64_t>({1, 3'000, kHour, 10 * kDay})};
  }
  return DeleteXcom{key};
}

Command CommandSource::schedule_command() {
  const std::string name = "s" + std::to_string(dice_.below(3));
  const std::int64_t roll = dice_.below(100);
  if (roll < 20) return ListSchedules{dice_.between(1, 4), ""};
  if (roll < 40) return DeleteSchedule{name};
  if (roll < 60) return RunSchedule{name, dice_.percent(70) ? new_id() : task_id()};
  ScheduleSpec spec;
  spec.catch_up = dice_.one_of({CatchUp::kLatest, CatchUp::kSkip, CatchUp::kAll});
  if (dice_.percent(50)) {
    spec.every_ms = spec.catch_up == CatchUp::kAll
                        ? dice_.one_of<std::int64_t>({kHour, 3 * kHour + 1})
                        : dice_.one_of<std::int64_t>({2'000, 7'001, kMinute, kHour});
  } else {
    spec.cron = spec.catch_up == CatchUp::kAll
                    ? "@hourly"
                    : dice_.one_of({"* * * * *", "*/5 * * * *", "@daily"});
    spec.time_zone = dice_.one_of({"UTC", "Asia/Tokyo", "Europe/Berlin"});
  }
  spec.task = new_task(false);
  spec.task.id.clear();
  spec.task.id_generated = false;
  spec.task.run_at.reset();
  spec.task.expires_at.reset();
  return PutSchedule{name, spec};
}

}  // namespace retsu::random_runs
