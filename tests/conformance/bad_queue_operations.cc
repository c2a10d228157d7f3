#include "conformance/bad_input.h"

namespace retsu::conformance {
namespace {

template <class Op>
void refuse_queue(BadInputs& rows) {
  refuse_each(rows, "queue", bad_queue_names(), [](const std::string& value) {
    Op operation;
    operation.queue = value;
    if constexpr (std::is_same_v<Op, PatchQueue>) operation.patch = "{}";
    return operation;
  });
}

template <class Op>
void refuse_page(BadInputs& rows) {
  refuse_numbers(rows, "limit", {-1, 0, 101},
                 [](std::int64_t value) { return Op{.limit = value}; });
  refuse_each(rows, "cursor", {{"too long", std::string(1'025, 'a')}},
              [](const std::string& value) { return Op{.cursor = value}; });
}

// A number of a policy, by way of PUT and, named as in JSON, by way of PATCH.
void refuse_policy_numbers(BadInputs& rows, const std::string& field,
                           const std::vector<std::int64_t>& values,
                           void (*set)(QueuePolicy&, std::int64_t)) {
  refuse_numbers(rows, field, values, [&](std::int64_t value) {
    PutQueue put{.queue = "of-queued"};
    set(put.policy, value);
    return put;
  });
  std::string before = "{";
  std::string after = "}";
  std::string name = field;
  if (const std::size_t dot = field.find('.'); dot != std::string::npos) {
    before += '"' + field.substr(0, dot) + "\":{";
    after += '}';
    name = field.substr(dot + 1);
  }
  refuse_numbers(rows, "patch", values, [&](std::int64_t value) {
    return PatchQueue{.queue = "of-queued",
                      .patch = before + '"' + name + "\":" + std::to_string(value) + after};
  });
}

void refuse_policy(BadInputs& rows) {
  const std::vector<std::int64_t> no_duration = {-1, 3'650 * kDay + 1};
  refuse_policy_numbers(rows, "concurrency", {-1, 0, 1'000'001},
                        [](QueuePolicy& policy, std::int64_t n) { policy.concurrency = n; });
  refuse_policy_numbers(rows, "interval_ms", {-1, kDay + 1},
                        [](QueuePolicy& policy, std::int64_t n) { policy.interval_ms = n; });
  refuse_policy_numbers(rows, "throttle_ms", no_duration,
                        [](QueuePolicy& policy, std::int64_t n) { policy.throttle_ms = n; });
  refuse_policy_numbers(rows, "max_hold_ms", no_duration,
                        [](QueuePolicy& policy, std::int64_t n) { policy.max_hold_ms = n; });
  refuse_policy_numbers(rows, "lease_ms", {-1, 1, 99, 7 * kDay + 1},
                        [](QueuePolicy& policy, std::int64_t n) { policy.lease_ms = n; });
  refuse_policy_numbers(rows, "timeout_ms", no_duration,
                        [](QueuePolicy& policy, std::int64_t n) { policy.timeout_ms = n; });
  refuse_policy_numbers(rows, "aging_ms", {-1, 365 * kDay + 1},
                        [](QueuePolicy& policy, std::int64_t n) { policy.aging_ms = {n}; });
  refuse_policy_numbers(rows, "breaker.after", {-1, 0, 1'001},
                        [](QueuePolicy& policy, std::int64_t n) { policy.breaker = Breaker{n}; });
  const auto number = [&](const char* field, std::int64_t Rate::*member,
                          const std::vector<std::int64_t>& values) {
    refuse_numbers(rows, std::string("rate.") + field, values, [&](std::int64_t value) {
      Rate rate{.limit = 1, .per_ms = 1};
      rate.*member = value;
      return PutQueue{.queue = "of-queued", .policy = {.rate = rate}};
    });
  };
  number("limit", &Rate::limit, {-1, 0, 1'000'001});
  number("per_ms", &Rate::per_ms, {-1, 0, kDay + 1});
  number("burst", &Rate::burst, {-1, 1'000'001});
  refuse_policy_numbers(
      rows, "retention.finished_ms", no_duration,
      [](QueuePolicy& policy, std::int64_t n) { policy.retention.finished_ms = n; });
  refuse_policy_numbers(
      rows, "retention.canceled_ms", no_duration,
      [](QueuePolicy& policy, std::int64_t n) { policy.retention.canceled_ms = n; });
  refuse_policy_numbers(
      rows, "retention.failed_ms", no_duration,
      [](QueuePolicy& policy, std::int64_t n) { policy.retention.failed_ms = n; });
  refuse_policy_numbers(rows, "retention.max_tasks", {-1}, [](QueuePolicy& policy, std::int64_t n) {
    policy.retention.max_tasks = n;
  });
  refuse_policy_numbers(rows, "retention.max_bytes", {-1}, [](QueuePolicy& policy, std::int64_t n) {
    policy.retention.max_bytes = n;
  });
  refuse_retry(rows, "retry.", [](const Retry& retry) {
    return PutQueue{.queue = "of-queued", .policy = {.retry = retry}};
  });
}

void refuse_patch(BadInputs& rows) {
  for (const char* text : {"", "{", "[]", "7", "null", R"({"rate":{"limit":"many","per_ms":1}})",
                           R"({"rate":7})", R"({"paused":1})", R"({"aging_ms":"never"})"}) {
    rows.push_back({"patch", text, PatchQueue{"of-queued", text}, kInvalid});
  }
  rows.push_back(
      {"patch", "an unknown field", PatchQueue{"of-queued", R"({"lease":1})"}, kUnknownField});
  rows.push_back({"patch", "an unknown field within",
                  PatchQueue{"of-queued", R"({"retry":{"base":1}})"}, kUnknownField});
}

void refuse_users(BadInputs& rows) {
  refuse_each(rows, "queue", bad_queue_names_or_none(),
              [](const std::string& value) { return ListUsers{.queue = value}; });
  refuse_page<ListUsers>(rows);
  refuse_each(rows, "user", bad_ids(), [](const std::string& value) {
    return PutUser{.user = value, .settings = {.weight = 1}};
  });
  refuse_each(rows, "queue", bad_queue_names_or_none(), [](const std::string& value) {
    return PutUser{.user = "anonymous", .queue = value};
  });
  const auto number = [&](const char* field, std::optional<std::int64_t> UserSettings::*member,
                          const std::vector<std::int64_t>& values) {
    refuse_numbers(rows, field, values, [&](std::int64_t value) {
      PutUser put{.user = "anonymous"};
      put.settings.*member = value;
      return put;
    });
  };
  number("weight", &UserSettings::weight, {-1, 0, 1'001});
  number("max_running", &UserSettings::max_running, {-1, 0});
  number("max_waiting", &UserSettings::max_waiting, {-1});
  number("max_waiting_bytes", &UserSettings::max_waiting_bytes, {-1});
}

void refuse_xcom(BadInputs& rows) {
  refuse_each(rows, "key", bad_ids(), [](const std::string& value) { return GetXcom{value}; });
  rows.push_back({"key", "unknown", GetXcom{"nobody"}, kNotFound});
  refuse_each(rows, "key", bad_ids(),
              [](const std::string& value) { return PutXcom{.key = value, .value = "1"}; });
  refuse_each(rows, "key", bad_ids(), [](const std::string& value) { return DeleteXcom{value}; });
  refuse_json(rows, "value", kSmallLimits.xcom_bytes, false,
              [](const Json& value) { return PutXcom{.key = "k", .value = value}; });
  refuse_numbers(rows, "ttl_ms", {-1, 0, 365 * kDay + 1}, [](std::int64_t value) {
    return PutXcom{.key = "k", .value = "1", .ttl_ms = value};
  });
}

void refuse_schedules(BadInputs& rows) {
  refuse_page<ListSchedules>(rows);
  const auto put = [](ScheduleSpec spec) {
    return PutSchedule{.name = "s", .schedule = std::move(spec)};
  };
  refuse_each(rows, "name", bad_queue_names(), [](const std::string& value) {
    return PutSchedule{.name = value, .schedule = {.cron = "@daily"}};
  });
  for (const char* cron :
       {"* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *",
        "* * * * 8", "*/0 * * * *", "5-1 * * * *", "a * * * *", "@sometimes", " "}) {
    rows.push_back({"cron", cron, put({.cron = cron}), kInvalid});
  }
  rows.push_back({"cron", "neither this nor every_ms", put({}), kInvalid});
  rows.push_back(
      {"cron", "this and every_ms", put({.cron = "@daily", .every_ms = 60'000}), kInvalid});
  refuse_numbers(rows, "every_ms", {-1, 0, 999, 365 * kDay + 1},
                 [&](std::int64_t value) { return put({.every_ms = value}); });
  for (const char* zone : {"", "Europe/Atlantis", "../etc/passwd", "localtime", "+09:00"}) {
    rows.push_back({"time_zone", zone, put({.cron = "@daily", .time_zone = zone}), kInvalid});
  }
  const auto with = [&](const NewTask& task) { return put({.cron = "@daily", .task = task}); };
  refuse_new_task(rows, "task.", with);
  rows.push_back({"task.id", "given", with({.id = "a"}), kInvalid});
  rows.push_back({"task.run_at", "given", with({.run_at = kStart + 1h}), kInvalid});
  rows.push_back({"task.expires_at", "given", with({.expires_at = kStart + 1h}), kInvalid});
  rows.push_back({"task.depends_on", "given", with({.depends_on = {{"queued"}}}), kInvalid});

  refuse_each(rows, "name", bad_queue_names(),
              [](const std::string& value) { return DeleteSchedule{value}; });
  refuse_each(rows, "name", bad_queue_names(),
              [](const std::string& value) { return RunSchedule{.name = value}; });
  rows.push_back({"name", "unknown", RunSchedule{.name = "nothing"}, kNotFound});
  refuse_each(rows, "id", bad_ids_or_none(),
              [](const std::string& value) { return RunSchedule{.name = "hourly", .id = value}; });
}

}  // namespace

BadInputs bad_queue_operations() {
  BadInputs rows;
  refuse_page<ListQueues>(rows);
  refuse_queue<GetQueue>(rows);
  rows.push_back({"queue", "unknown", GetQueue{"nowhere"}, kNotFound});
  refuse_queue<PutQueue>(rows);
  refuse_queue<PatchQueue>(rows);
  refuse_queue<DeleteQueue>(rows);
  for (const char* id : {"queued", "scheduled", "deferred", "started"}) {
    rows.push_back({"queue", id, DeleteQueue{std::string("of-") + id}, kConflict});
  }
  refuse_queue<PauseQueue>(rows);
  refuse_queue<ResumeQueue>(rows);
  refuse_queue<PurgeQueue>(rows);
  refuse_policy(rows);
  refuse_patch(rows);
  refuse_users(rows);
  refuse_xcom(rows);
  refuse_schedules(rows);
  return rows;
}

}  // namespace retsu::conformance
