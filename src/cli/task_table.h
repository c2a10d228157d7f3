#pragma once

#include <cstdint>
#include <vector>

#include "cli/table.h"
#include "model/task.h"

namespace retsu::cli {

// Tasks as rows, or as JSON lines.
class TaskTable {
 public:
  explicit TaskTable(Screen& screen);

  std::int64_t show(const std::vector<Task>& tasks);  // answers how many

 private:
  Screen& screen_;
  Table table_;
};

// The state, with what it means for this task: `SCHEDULED, retrying`, `FAILED, timeout`.
std::string state_of(const Task& task);

}  // namespace retsu::cli
