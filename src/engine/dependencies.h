#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/tables.h"

// What tasks wait for, in both directions.
namespace retsu::engine {

// What the end of a dependency means for the one that waits for it.
enum class Effect { kOpen, kMet, kDrop, kCancel, kFail };
Effect effect_of(When when, const Options& dependent, State ended, bool gone);

// The way from `from` along open references back to `to`: the ids, from first to last. None: no
// cycle. Iterative: chains of any depth.
std::optional<std::vector<Text>> find_way(const Tables& tables, const std::vector<Text>& from,
                                          std::string_view to);
Error cycle_error(std::string_view first, const std::vector<Text>& way);

// The task has ended, or is being removed: its dependents are to be told.
void begin_cascade(Tables& tables, const TaskNode& task, bool removed);
// Tells at most `steps` dependents and counts them off; false if more are left.
bool work_off_cascades(Tables& tables, std::int64_t& steps);

// Drops the task's own references.
void drop_edges(Tables& tables, const TaskNode& task);

// What its dependencies and children ended with.
std::map<std::string, Input> inputs_of(const Tables& tables, const TaskNode& task);

}  // namespace retsu::engine
