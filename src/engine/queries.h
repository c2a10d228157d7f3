#pragma once

#include <span>

#include "engine/tables.h"

// What can be asked of tasks. Lists look at every task: brokers that keep tables answer them from
// there.
namespace retsu::engine {

// Nobody has asked a queue for a task for this long: it has no worker.
inline constexpr Millis kWorkerSilence{kMinute};

Task view(const Tables& tables, const TaskNode& task);
// Those of the named tasks that are there and match, in this order.
std::vector<Task> view_matching(const Tables& tables, std::span<const std::string> ids,
                                const Filter& filter);
bool matches(const Tables& tables, const TaskNode& task, const Filter& filter);

TaskPage list_tasks(const Tables& tables, const ListTasks& command);
Result<WhyReply> why(const Tables& tables, const Why& command);
Result<GraphReply> graph(const Tables& tables, const Graph& command);
DeadPage list_dead(const Tables& tables, const ListDead& command);

}  // namespace retsu::engine
