#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/tables.h"
#include "model/error.h"

// How a task goes from state to state, and what each step brings with it.
namespace retsu::engine {

inline constexpr Millis kTombstoneAge{72 * kHour};

// The task that an id stands for: its own, or an alias's holder.
TaskNode* resolve(const Tables& tables, std::string_view id);
Result<TaskNode*> require(const Tables& tables, std::string_view id);

// Refused with invalid_transition where the table of transitions has no row.
Status allow(const TaskNode& task, Event event, std::string_view verb);

// A copy of what has happened to the task so far, put in the row and open for changes.
Run& edit_run(TaskRow& row);

std::int64_t max_attempts(const TaskNode& task);
const Retry& retry_policy(const TaskNode& task);

// A place for a task that goes to the front: one key of a batch, or a key of its own.
using FrontKey = std::optional<std::int64_t>;

// Makes the row QUEUED from now on.
void place_in_line(const Tables& tables, TaskRow& row, FrontKey front);

// To QUEUED; at the front with a key, or if the row says so.
void enqueue(Tables& tables, TaskNode& task, Event event, FrontKey front = {});

// How a run ended without finishing: what its history says of it.
struct RunEnd {
  std::string_view outcome;
  Text error;
  bool costs_attempt = true;
};

// From STARTED back to QUEUED, at the front.
void give_back(Tables& tables, TaskNode& task, Event event, const RunEnd& end, std::int64_t front);
// From STARTED to SCHEDULED after a failure, to be tried again, at the earliest after `floor`.
void retry_later(Tables& tables, TaskNode& task, const RunEnd& end, Millis floor = Millis(0));
// From STARTED to DEFERRED.
void suspend(Tables& tables, TaskNode& task);

void finish(Tables& tables, TaskNode& task, Json result);
// To FAILED. A run that it ends is written into the history.
void fail(Tables& tables, TaskNode& task, Event event, Reason reason, Text error,
          std::optional<RunEnd> end = {});
// To CANCELED; references are cleaned up in both directions. Its run, if any, becomes a ghost.
void cancel(Tables& tables, TaskNode& task, Event event, Reason reason);

Status redrive(Tables& tables, TaskNode& task);
void bring_to_front(Tables& tables, TaskNode& task, FrontKey front = {});

// Whether a live task still needs what this one ended with.
bool is_needed(const Tables& tables, const TaskNode& task);
// Removes an ended task that nobody needs; leaves a tombstone where its id must be remembered.
void remove(Tables& tables, TaskNode& task);
// Removes it, or, while it is needed, lets it go as soon as it is not.
void remove_or_park(Tables& tables, TaskNode& task);

// A claim's task whose run is over, or is a ghost from now on.
void set_hold(Tables& tables, const TaskNode& task, Hold hold);
void set_hold(Tables& tables, ClaimNode& claim, MemberRow member, Hold hold);

// Applies retention by number and bytes and tells dependents, as far as one call may go. To be
// called after each command and timer; true if nothing is left to do.
bool settle_down(Tables& tables);

}  // namespace retsu::engine
