#pragma once

#include <optional>

#include "engine/tables.h"

// When a queue lets a task start.
namespace retsu::engine {

// What keeps a queue from starting any task now.
struct Obstacle {
  Cause cause;
  TimePoint until;  // kNever: until something happens
};
std::optional<Obstacle> obstacle(const Queue& queue, TimePoint now);
// The same without looking further after the first one: each that there is, in the order of Cause.
std::vector<Obstacle> obstacles(const Queue& queue, TimePoint now);

bool has_free_permit(const Queue& queue);

void take_token(Tables& tables, Queue& queue);
void hold(Tables& tables, Queue& queue, std::optional<std::int64_t> named_ms);
void end_throttle_row(Tables& tables, Queue& queue);

// Puts a policy in force; what is left in the token bucket is carried over.
void set_policy(Tables& tables, Queue& queue, QueuePolicy policy);

}  // namespace retsu::engine
