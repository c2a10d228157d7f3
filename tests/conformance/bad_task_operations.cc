#include "conformance/bad_input.h"

namespace retsu::conformance {
namespace {

// An operation that names one task.
template <class Op>
void refuse_id(BadInputs& rows) {
  refuse_each(rows, "id", bad_ids(), [](const std::string& value) {
    Op operation;
    operation.id = value;
    return operation;
  });
  Op unknown;
  unknown.id = "nobody";
  rows.push_back({"id", "unknown", unknown, kNotFound});
}

// An operation on all that match.
template <class Op>
void refuse_bulk(BadInputs& rows) {
  refuse_filter(rows, "filter.",
                [](const Filter& filter) { return Op{.filter = filter, .dry_run = true}; });
  rows.push_back({"expect", "-1", Op{.expect = -1}, kInvalid});
  rows.push_back({"expect", "absent", Op{}, kInvalid});
  rows.push_back({"expect", "another number", Op{.expect = 100'000}, kConflict});
}

template <class Op>
void refuse_in_states(BadInputs& rows, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    Op operation;
    operation.id = id;
    rows.push_back({"id", id, operation, kInvalidTransition});
  }
}

void refuse_push(BadInputs& rows) {
  rows.push_back({"tasks", "none", Push{}, kInvalid});
  rows.push_back({"tasks", "too many", Push{.tasks = std::vector<NewTask>(11)}, kTooLarge});
  const auto one = [](const NewTask& task) { return Push{.tasks = {NewTask{}, task}}; };
  refuse_new_task(rows, "tasks.", one);
  rows.push_back(
      {"tasks.depends_on", "unknown", one({.depends_on = {{"nobody"}}}), kUnknownDependency});
  rows.push_back(
      {"tasks.depends_on", "itself", one({.id = "a", .depends_on = {{"a"}}}), kDependencyCycle});
  rows.push_back(
      {"tasks.depends_on", "a cycle in the batch",
       Push{.tasks = {{.id = "a", .depends_on = {{"b"}}}, {.id = "b", .depends_on = {{"a"}}}}},
       kDependencyCycle});
  rows.push_back({"tasks.depends_on", "a cycle with what is stored",
                  one({.id = "missing-deferred", .depends_on = {{"deferred"}}}), kDependencyCycle});
  rows.push_back({"tasks.expires_at", "over", one({.expires_at = kStart}), kInvalid});
}

}  // namespace

BadInputs bad_task_operations() {
  BadInputs rows;
  refuse_push(rows);

  refuse_id<GetTask>(rows);
  refuse_numbers(rows, "wait_ms", {-1, 5 * kMinute + 1},
                 [](std::int64_t value) { return GetTask{.id = "finished", .wait_ms = value}; });

  refuse_filter(rows, "filter.", [](const Filter& filter) { return ListTasks{.filter = filter}; });
  refuse_numbers(rows, "limit", {-1, 0, 101},
                 [](std::int64_t value) { return ListTasks{.limit = value}; });
  refuse_each(rows, "cursor", bad_number_cursors(),
              [](const std::string& value) { return ListTasks{.cursor = value}; });

  refuse_id<Why>(rows);
  refuse_id<CancelTask>(rows);
  refuse_in_states<CancelTask>(rows, {"finished", "failed", "canceled"});
  refuse_id<RetryTask>(rows);
  refuse_in_states<RetryTask>(rows, {"queued", "scheduled", "deferred", "finished", "started"});
  rows.push_back({"id", "its unique key is held", RetryTask{"dead"}, kConflict});
  refuse_id<FrontTask>(rows);
  refuse_in_states<FrontTask>(rows, {"finished", "failed", "canceled", "started"});
  refuse_id<RemoveTask>(rows);
  refuse_in_states<RemoveTask>(rows, {"queued", "scheduled", "deferred", "started"});
  rows.push_back({"id", "its result is needed", RemoveTask{"needed"}, kConflict});

  refuse_bulk<CancelTasks>(rows);
  refuse_bulk<RetryTasks>(rows);
  refuse_bulk<RedriveDead>(rows);
  refuse_bulk<PurgeDead>(rows);
  refuse_filter(rows, "filter.", [](const Filter& filter) { return ListDead{.filter = filter}; });
  refuse_numbers(rows, "limit", {-1, 0, 101},
                 [](std::int64_t value) { return ListDead{.limit = value}; });
  refuse_each(rows, "cursor", bad_number_cursors(),
              [](const std::string& value) { return ListDead{.cursor = value}; });
  refuse_id<Graph>(rows);
  return rows;
}

}  // namespace retsu::conformance
