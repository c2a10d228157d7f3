#pragma once

#include <optional>
#include <string>

#include "cli/arguments.h"
#include "model/task_operations.h"

namespace retsu::cli {

// A new task, as it is described on a command line.
struct TaskOptions {
  NewTask task;
  std::string priority;
  std::string timeout;
  bool front = false;
  bool text = false;
  std::optional<std::string> payload;

  void add_to(Arguments& arguments);
  // Reads standard input, if that is named.
  [[nodiscard]] Result<NewTask> read() const;
};

// A JSON value, or any text if `is_text`; - is standard input. Errors name the operand.
Result<Json> read_value(std::string_view operand, const std::string& typed, bool is_text);

}  // namespace retsu::cli
