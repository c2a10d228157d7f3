// Tasks as commands.
#pragma once

#include <string>
#include <vector>

#include "worker/worker.h"

namespace retsu::worker {

struct CommandSettings {
  std::vector<std::string> command;  // looked for in PATH
  Millis grace{5'000};               // between SIGTERM and SIGKILL
  std::size_t result_bytes = std::size_t{1} << 20;
};

// Each task runs the command in a process group of its own. It reads the payload on standard input,
// and from RETSU_TASK_ID, RETSU_QUEUE, RETSU_USER, RETSU_TYPE, RETSU_ATTEMPT, RETSU_MAX_ATTEMPTS,
// RETSU_INPUTS (JSON; left out beyond 100 KiB) and RETSU_TRACE what it is about. What it prints is
// the result, JSON or a text; each line that it writes to file descriptor 3 is its progress.
//
// Exit 0 finishes the task, 65 fails it for good, 69 throttles its queue, anything else fails it;
// the end of standard error stands in its history. When the run is to stop, the group gets SIGTERM,
// then SIGKILL, and exit 0 does not finish it any more. If this process cannot start it for want of
// files or memory, the task is given back. Whoever is left of the group when the command has ended
// is killed.
Handler run_command(CommandSettings settings);

}  // namespace retsu::worker
