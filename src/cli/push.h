#pragma once

#include <optional>
#include <string>

#include "cli/session.h"
#include "model/task_operations.h"

namespace retsu::cli {

// Pushes, and says so if the key was answered before. Makes a store where there is none.
Result<PushReply> push_batch(Session& session, Push push, std::optional<std::string> key);
void show_pushed(Screen& screen, const Pushed& pushed);

// What went into a spool instead.
void show_spooled(Screen& screen, const std::string& id);
void note_spooled(Screen& screen, const Error& error, const std::string& file, std::int64_t count);

}  // namespace retsu::cli
