#pragma once

#include <optional>
#include <string>

#include "cli/session.h"
#include "model/task_operations.h"

namespace retsu::cli {

// The lines of a file, each a task that says what it does not take from `base`. A thousand at a
// time are pushed all or none, or with `partial` as many as can be; with a key, each such batch has
// one of its own.
struct FilePush {
  std::string file;
  NewTask base;
  bool partial = false;
  std::optional<std::string> key;
};
Result<int> push_file(Session& session, const FilePush& push);

// Pushes, says so if the key was answered before, and prints the ids.
Result<PushReply> push_batch(Session& session, Push push, std::optional<std::string> key);
void show_pushed(Screen& screen, const Pushed& pushed);

}  // namespace retsu::cli
