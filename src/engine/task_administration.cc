#include <fmt/format.h>

#include <algorithm>

#include "engine/administration.h"
#include "engine/lifecycle.h"
#include "engine/queries.h"

namespace retsu::engine {
namespace {

bool can_redrive(const TaskNode& task) {
  return next_state(task.row.state, Event::kRedrive).has_value();
}

bool is_dead(const TaskNode& task) { return task.row.state == State::kFailed; }

// Finds, counts, and does: one task after the other, oldest first. `act` says whether it changed
// the task.
template <class Bulk, class Can, class Act>
Result<BulkReply> each(Tables& tables, const Bulk& command, Can can, Act act) {
  std::vector<TaskNode*> found;
  tables.tasks().for_each([&](TaskNode& task) {
    if (can(task) && matches(tables, task, command.filter)) found.push_back(&task);
  });
  BulkReply reply{std::ssize(found), 0};
  if (command.expect && *command.expect != reply.matched) {
    return refuse(ErrorCode::kConflict,
                  fmt::format("{} tasks match, {} were expected: look again with a dry run",
                              reply.matched, *command.expect),
                  fmt::format(R"({{"matched":{}}})", reply.matched));
  }
  if (command.dry_run) return reply;
  std::ranges::sort(found, OlderSequence());
  for (TaskNode* task : found) reply.changed += act(*task) ? 1 : 0;
  return reply;
}

Error no_value(std::string_view key) {
  return {ErrorCode::kNotFound, fmt::format("there is no value {}, or it has expired", key)};
}

}  // namespace

Result<Task> cancel_task(Tables& tables, const CancelTask& command) {
  const auto task = require(tables, command.id);
  if (!task) return tl::unexpected(task.error());
  if (auto allowed = allow(**task, Event::kCancel, "cancel"); !allowed) {
    return tl::unexpected(std::move(allowed.error()));
  }
  cancel(tables, **task, Event::kCancel, Reason::kCanceled);
  return view(tables, **task);
}

Result<Task> retry_task(Tables& tables, const RetryTask& command) {
  const auto task = require(tables, command.id);
  if (!task) return tl::unexpected(task.error());
  if (auto done = redrive(tables, **task); !done) return tl::unexpected(std::move(done.error()));
  return view(tables, **task);
}

Result<Task> front_task(Tables& tables, const FrontTask& command) {
  const auto task = require(tables, command.id);
  if (!task) return tl::unexpected(task.error());
  if (!is_waiting((*task)->row.state)) {
    return refuse(ErrorCode::kInvalidTransition,
                  fmt::format("cannot bring task {} to the front: it is {}", (*task)->row.id.view(),
                              name_of((*task)->row.state)));
  }
  bring_to_front(tables, **task);
  return view(tables, **task);
}

Result<Removed> remove_task(Tables& tables, const RemoveTask& command) {
  const auto task = require(tables, command.id);
  if (!task) return tl::unexpected(task.error());
  if (is_live((*task)->row.state)) {
    return refuse(ErrorCode::kInvalidTransition,
                  fmt::format("cannot remove task {}: it is {}; cancel it first",
                              (*task)->row.id.view(), name_of((*task)->row.state)));
  }
  if (is_needed(tables, **task)) {
    return refuse(ErrorCode::kConflict,
                  fmt::format("cannot remove task {}: a live task still needs its result",
                              (*task)->row.id.view()));
  }
  remove(tables, **task);
  return Removed{1};
}

Result<BulkReply> cancel_tasks(Tables& tables, const CancelTasks& command) {
  return each(
      tables, command, [](const TaskNode& task) { return is_live(task.row.state); },
      [&](TaskNode& task) {
        cancel(tables, task, Event::kCancel, Reason::kCanceled);
        return true;
      });
}

Result<BulkReply> retry_tasks(Tables& tables, const RetryTasks& command) {
  return each(tables, command, can_redrive,
              [&](TaskNode& task) { return redrive(tables, task).has_value(); });
}

Result<BulkReply> redrive_dead(Tables& tables, const RedriveDead& command) {
  return each(tables, command, is_dead,
              [&](TaskNode& task) { return redrive(tables, task).has_value(); });
}

Result<BulkReply> purge_dead(Tables& tables, const PurgeDead& command) {
  return each(tables, command, is_dead, [&](TaskNode& task) {
    if (is_needed(tables, task)) return false;
    remove(tables, task);
    return true;
  });
}

Result<BulkReply> purge_queue(Tables& tables, const PurgeQueue& command) {
  if (tables.find_queue(command.queue) == nullptr) {
    return refuse(ErrorCode::kNotFound, fmt::format("there is no queue {}", command.queue));
  }
  CancelTasks all;
  all.filter.queue = command.queue;
  return each(
      tables, all, [](const TaskNode& task) { return is_waiting(task.row.state); },
      [&](TaskNode& task) {
        cancel(tables, task, Event::kCancel, Reason::kCanceled);
        return true;
      });
}

Result<XcomValue> get_xcom(const Tables& tables, const GetXcom& command) {
  const auto found = tables.xcom().find(command.key);
  if (found == tables.xcom().end() || found->second.expires_at <= tables.now()) {
    return tl::unexpected(no_value(command.key));
  }
  return XcomValue{found->second.key, found->second.value, found->second.expires_at};
}

Result<XcomValue> put_xcom(Tables& tables, const PutXcom& command) {
  if (!tables.xcom().contains(command.key) &&
      std::ssize(tables.xcom()) >= tables.limits.xcom_entries) {
    return refuse(ErrorCode::kOverloaded, fmt::format("{} values are stored, the most allowed",
                                                      tables.limits.xcom_entries));
  }
  XcomRow row{command.key, command.value, tables.now() + Millis(command.ttl_ms)};
  XcomValue reply{row.key, row.value, row.expires_at};
  tables.set_xcom(std::move(row));
  return reply;
}

Result<Removed> delete_xcom(Tables& tables, const DeleteXcom& command) {
  if (auto value = get_xcom(tables, {command.key}); !value) {
    return tl::unexpected(std::move(value.error()));
  }
  tables.drop_xcom(command.key);
  return Removed{1};
}

}  // namespace retsu::engine
