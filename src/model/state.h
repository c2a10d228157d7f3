#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/fields.h"

namespace retsu {

enum class State : std::uint8_t {
  kScheduled,  // waits for its time; after a failed attempt it is shown as retrying
  kDeferred,   // waits for other tasks
  kQueued,     // may be claimed
  kStarted,    // claimed, its lease alive
  kFinished,
  kFailed,  // a dead letter
  kCanceled,
};
inline constexpr int kStates = 7;

constexpr auto names_of(std::type_identity<State>) {
  return std::to_array<Named<State>>({{"SCHEDULED", State::kScheduled},
                                      {"DEFERRED", State::kDeferred},
                                      {"QUEUED", State::kQueued},
                                      {"STARTED", State::kStarted},
                                      {"FINISHED", State::kFinished},
                                      {"FAILED", State::kFailed},
                                      {"CANCELED", State::kCanceled}});
}

constexpr bool is_live(State state) { return state < State::kFinished; }
constexpr bool is_ended(State state) { return !is_live(state); }
constexpr bool is_waiting(State state) { return state < State::kStarted; }

// What can happen to a task that exists.
enum class Event : std::uint8_t {
  kDue,                // run_at has come, nothing else to wait for
  kDueBlocked,         // run_at has come, a dependency has not been met
  kReady,              // the last dependency was met or dropped
  kDependencyEnded,    // a dependency was canceled or failed, and the policy says cancel
  kDependencyRemoved,  // the failed dependency that it waits for is gone
  kClaim,
  kFinish,
  kRetry,  // failed or timed out, attempts left
  kFail,   // failed or timed out, none left, or not retryable
  kThrottle,
  kRelease,
  kLeaseExpired,  // the first time, attempts left
  kPoison,        // lease expired, none left
  kAwait,
  kExpire,
  kRedrive,
  kRedriveBlocked,
  kCancel,
};
inline constexpr int kEvents = 18;

constexpr auto names_of(std::type_identity<Event>) {
  return std::to_array<Named<Event>>({{"due", Event::kDue},
                                      {"due_blocked", Event::kDueBlocked},
                                      {"ready", Event::kReady},
                                      {"dependency_ended", Event::kDependencyEnded},
                                      {"dependency_removed", Event::kDependencyRemoved},
                                      {"claim", Event::kClaim},
                                      {"finish", Event::kFinish},
                                      {"retry", Event::kRetry},
                                      {"fail", Event::kFail},
                                      {"throttle", Event::kThrottle},
                                      {"release", Event::kRelease},
                                      {"lease_expired", Event::kLeaseExpired},
                                      {"poison", Event::kPoison},
                                      {"await", Event::kAwait},
                                      {"expire", Event::kExpire},
                                      {"redrive", Event::kRedrive},
                                      {"redrive_blocked", Event::kRedriveBlocked},
                                      {"cancel", Event::kCancel}});
}

struct Transition {
  State from;
  Event event;
  State to;
};

// The whole life of a task. What is not here is refused with invalid_transition.
inline constexpr auto kTransitions = std::to_array<Transition>({
    {State::kScheduled, Event::kDue, State::kQueued},
    {State::kScheduled, Event::kDueBlocked, State::kDeferred},
    {State::kDeferred, Event::kReady, State::kQueued},
    {State::kScheduled, Event::kDependencyEnded, State::kCanceled},
    {State::kDeferred, Event::kDependencyEnded, State::kCanceled},
    {State::kScheduled, Event::kDependencyRemoved, State::kFailed},
    {State::kDeferred, Event::kDependencyRemoved, State::kFailed},
    {State::kQueued, Event::kClaim, State::kStarted},
    {State::kStarted, Event::kFinish, State::kFinished},
    {State::kStarted, Event::kRetry, State::kScheduled},
    {State::kStarted, Event::kFail, State::kFailed},
    {State::kStarted, Event::kThrottle, State::kQueued},
    {State::kStarted, Event::kRelease, State::kQueued},
    {State::kStarted, Event::kLeaseExpired, State::kQueued},
    {State::kStarted, Event::kPoison, State::kFailed},
    {State::kStarted, Event::kAwait, State::kDeferred},
    {State::kScheduled, Event::kExpire, State::kFailed},
    {State::kDeferred, Event::kExpire, State::kFailed},
    {State::kQueued, Event::kExpire, State::kFailed},
    {State::kFailed, Event::kRedrive, State::kQueued},
    {State::kFailed, Event::kRedriveBlocked, State::kDeferred},
    {State::kCanceled, Event::kRedrive, State::kQueued},
    {State::kCanceled, Event::kRedriveBlocked, State::kDeferred},
    {State::kScheduled, Event::kCancel, State::kCanceled},
    {State::kDeferred, Event::kCancel, State::kCanceled},
    {State::kQueued, Event::kCancel, State::kCanceled},
    {State::kStarted, Event::kCancel, State::kCanceled},
});

constexpr std::optional<State> next_state(State from, Event event) {
  for (const Transition& row : kTransitions) {
    if (row.from == from && row.event == event) return row.to;
  }
  return std::nullopt;
}

}  // namespace retsu
