#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/session.h"
#include "model/task_operations.h"

namespace retsu::cli {

// The lines of a file, each a task. A thousand at a time are pushed all or none, or with `partial`
// as many as can be; with a key, each such batch has one of its own.
struct LinePush {
  std::string file;
  std::function<Result<std::optional<NewTask>>(std::string_view line)> read;  // none: passed over
  std::function<void(const Pushed&)> on_pushed = [](const Pushed&) {};
  bool partial = false;
  std::optional<std::string> key = {};
  std::string spool = {};  // the file that keeps them from the first on that the server cannot take
};

struct LinesPushed {
  std::int64_t created = 0;
  std::int64_t existing = 0;
  std::int64_t refused = 0;
  std::int64_t spooled = 0;
  int status = 0;  // to exit with: that of the first refusal
};

// Tells on the screen what is refused, with the number of its line, and where it had to stop.
Result<LinesPushed> push_lines(Session& session, const LinePush& push);

}  // namespace retsu::cli
