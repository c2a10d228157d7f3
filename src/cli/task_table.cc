#include "cli/task_table.h"

#include <fmt/format.h>

#include "cli/json_lines.h"
#include "cli/times.h"

namespace retsu::cli {
namespace {

// What to know about a task at a glance.
std::string detail_of(const Task& task) {
  if (!task.error.empty()) return task.error.str();
  if (!task.blocked_by.empty()) {
    return fmt::format(
        "waits for {}{}", task.blocked_by.front(),
        task.blocked_by.size() > 1 ? fmt::format(" and {} more", task.blocked_by.size() - 1) : "");
  }
  return task.payload.view() == "null" ? std::string() : task.payload.str();
}

}  // namespace

std::string state_of(const Task& task) {
  std::string text(name_of(task.state));
  if (task.retrying) text += ", retrying";
  if (task.reason != Reason::kNone && task.reason != Reason::kFailed &&
      task.reason != Reason::kCanceled) {
    text += fmt::format(", {}", name_of(task.reason));
  }
  return text;
}

TaskTable::TaskTable(Screen& screen)
    : screen_(screen),
      table_(screen,
             {"ID", "STATE", "QUEUE", "USER", "TYPE", ">PRI", ">TRIES", "PUSHED", "DETAIL"}) {}

std::int64_t TaskTable::show(const std::vector<Task>& tasks) {
  for (const Task& task : tasks) {
    if (screen_.json()) {
      screen_.line(json_of(task));
      continue;
    }
    table_.add({task.id,
                {state_of(task), style_of(task.state)},
                task.queue,
                task.user,
                task.type,
                std::to_string(task.priority.value),
                fmt::format("{}/{}", task.attempts, task.max_attempts),
                shown(screen_, task.created_at),
                detail_of(task)});
  }
  table_.print();
  return std::ssize(tasks);
}

}  // namespace retsu::cli
