#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/text.h"
#include "base/time.h"
#include "model/policy.h"
#include "model/state.h"

namespace retsu {

inline constexpr int kNormalPriority = 3;
inline constexpr int kCritical = 6;

// In JSON a number from 1 to 6 or a word.
struct Priority {
  int value = kNormalPriority;
  bool operator==(const Priority&) const = default;
};
inline constexpr auto kPriorityWords = std::to_array<Named<int>>(
    {{"very_low", 1}, {"low", 2}, {"normal", 3}, {"high", 4}, {"very_high", 5}, {"critical", 6}});

enum class When : std::uint8_t { kFinished, kSettled };
constexpr auto names_of(std::type_identity<When>) {
  return std::to_array<Named<When>>({{"finished", When::kFinished}, {"settled", When::kSettled}});
}

enum class OnDependencyFailure : std::uint8_t { kWait, kCancel, kRun };
constexpr auto names_of(std::type_identity<OnDependencyFailure>) {
  using enum OnDependencyFailure;
  return std::to_array<Named<OnDependencyFailure>>(
      {{"wait", kWait}, {"cancel", kCancel}, {"run", kRun}});
}

enum class OnDependencyCancel : std::uint8_t { kDrop, kCancel };
constexpr auto names_of(std::type_identity<OnDependencyCancel>) {
  using enum OnDependencyCancel;
  return std::to_array<Named<OnDependencyCancel>>({{"drop", kDrop}, {"cancel", kCancel}});
}

enum class Placement : std::uint8_t { kBack, kFront };
constexpr auto names_of(std::type_identity<Placement>) {
  return std::to_array<Named<Placement>>(
      {{"back", Placement::kBack}, {"front", Placement::kFront}});
}

// Why a task ended other than by finishing.
enum class Reason : std::uint8_t {
  kNone,
  kFailed,
  kRejected,
  kExpired,
  kTimeout,
  kPoisoned,
  kDependencyFailed,
  kDependency,  // canceled because a dependency was canceled or failed
  kCanceled,    // canceled by a person
};
constexpr auto names_of(std::type_identity<Reason>) {
  using enum Reason;
  return std::to_array<Named<Reason>>({{"", kNone},
                                       {"failed", kFailed},
                                       {"rejected", kRejected},
                                       {"expired", kExpired},
                                       {"timeout", kTimeout},
                                       {"poisoned", kPoisoned},
                                       {"dependency_failed", kDependencyFailed},
                                       {"dependency", kDependency},
                                       {"canceled", kCanceled}});
}

// In JSON an id, or {"id", "when"}.
struct Dependency {
  std::string id;
  When when = When::kFinished;
  bool operator==(const Dependency&) const = default;
};

// A task as its pusher describes it.
struct NewTask {
  std::string id;  // empty: the broker chooses one
  std::string queue = "default";
  std::string user = "anonymous";
  std::string type;
  Priority priority;
  Json payload = "null";
  std::optional<TimePoint> run_at;
  std::vector<Dependency> depends_on;
  OnDependencyFailure on_dependency_failure = OnDependencyFailure::kWait;
  OnDependencyCancel on_dependency_cancel = OnDependencyCancel::kDrop;
  bool allow_missing = false;
  std::string unique_key;
  Placement placement = Placement::kBack;
  std::optional<std::int64_t> timeout_ms;
  std::optional<std::int64_t> max_attempts;
  std::optional<Retry> retry;
  std::optional<TimePoint> expires_at;
  std::vector<std::string> tags;
  std::string trace;

  bool id_generated = false;  // set by the broker, not by callers: such an id leaves no tombstone

  bool operator==(const NewTask&) const = default;
};

constexpr auto fields_of(std::type_identity<NewTask>) {
  return List{Field{"id", &NewTask::id},
              Field{"queue", &NewTask::queue},
              Field{"user", &NewTask::user},
              Field{"type", &NewTask::type},
              Field{"priority", &NewTask::priority},
              Field{"payload", &NewTask::payload},
              Field{"run_at", &NewTask::run_at},
              Field{"depends_on", &NewTask::depends_on},
              Field{"on_dependency_failure", &NewTask::on_dependency_failure},
              Field{"on_dependency_cancel", &NewTask::on_dependency_cancel},
              Field{"allow_missing", &NewTask::allow_missing},
              Field{"unique_key", &NewTask::unique_key},
              Field{"placement", &NewTask::placement},
              Field{"timeout_ms", &NewTask::timeout_ms},
              Field{"max_attempts", &NewTask::max_attempts},
              Field{"retry", &NewTask::retry},
              Field{"expires_at", &NewTask::expires_at},
              Field{"tags", &NewTask::tags},
              Field{"trace", &NewTask::trace}};
}

// One earlier run that did not finish, or a redrive.
struct Attempt {
  std::int64_t attempt = 0;
  std::string outcome;  // fail, timeout, throttle, release, lease_expired, await, cancel, redrive
  std::optional<TimePoint> started_at;
  TimePoint ended_at;
  std::string worker;
  Text error;

  bool operator==(const Attempt&) const = default;
};

constexpr auto fields_of(std::type_identity<Attempt>) {
  return List{Field{"attempt", &Attempt::attempt, kAlwaysShown},
              Field{"outcome", &Attempt::outcome},
              Field{"started_at", &Attempt::started_at},
              Field{"ended_at", &Attempt::ended_at},
              Field{"worker", &Attempt::worker},
              Field{"error", &Attempt::error}};
}

// All that is known of a task.
struct Task {
  std::string id;
  State state = State::kQueued;
  bool retrying = false;
  std::string queue;
  std::string user;
  std::string type;
  Priority priority;
  Json payload;
  std::int64_t attempts = 0;
  std::int64_t max_attempts = 0;
  TimePoint created_at;
  std::optional<TimePoint> run_at;
  std::optional<TimePoint> queued_at;
  std::optional<TimePoint> started_at;
  std::optional<TimePoint> ended_at;
  std::vector<Dependency>
      depends_on;  // as they are now: a dropped reference is gone, children are added
  std::vector<std::string> blocked_by;  // those of depends_on that it still waits for
  OnDependencyFailure on_dependency_failure = OnDependencyFailure::kWait;
  OnDependencyCancel on_dependency_cancel = OnDependencyCancel::kDrop;
  std::string unique_key;
  Placement placement = Placement::kBack;
  std::optional<std::int64_t> timeout_ms;
  std::optional<Retry> retry;
  std::optional<TimePoint> expires_at;
  std::vector<std::string> tags;
  std::string trace;
  std::string claim_id;
  std::string worker;
  std::optional<std::int64_t> fence;
  std::optional<TimePoint> lease_until;
  Text error;
  Reason reason = Reason::kNone;
  std::optional<bool> retryable;
  Json result;
  Json progress;
  std::vector<Attempt> history;

  bool operator==(const Task&) const = default;
};

constexpr auto fields_of(std::type_identity<Task>) {
  return List{Field{"id", &Task::id},
              Field{"state", &Task::state},
              Field{"retrying", &Task::retrying},
              Field{"queue", &Task::queue},
              Field{"user", &Task::user},
              Field{"type", &Task::type, kAlwaysShown},
              Field{"priority", &Task::priority},
              Field{"payload", &Task::payload},
              Field{"attempts", &Task::attempts, kAlwaysShown},
              Field{"max_attempts", &Task::max_attempts},
              Field{"created_at", &Task::created_at},
              Field{"run_at", &Task::run_at},
              Field{"queued_at", &Task::queued_at},
              Field{"started_at", &Task::started_at},
              Field{"ended_at", &Task::ended_at},
              Field{"depends_on", &Task::depends_on},
              Field{"blocked_by", &Task::blocked_by},
              Field{"on_dependency_failure", &Task::on_dependency_failure},
              Field{"on_dependency_cancel", &Task::on_dependency_cancel},
              Field{"unique_key", &Task::unique_key},
              Field{"placement", &Task::placement},
              Field{"timeout_ms", &Task::timeout_ms},
              Field{"retry", &Task::retry},
              Field{"expires_at", &Task::expires_at},
              Field{"tags", &Task::tags},
              Field{"trace", &Task::trace},
              Field{"claim_id", &Task::claim_id},
              Field{"worker", &Task::worker},
              Field{"fence", &Task::fence},
              Field{"lease_until", &Task::lease_until},
              Field{"error", &Task::error},
              Field{"reason", &Task::reason},
              Field{"retryable", &Task::retryable},
              Field{"result", &Task::result},
              Field{"progress", &Task::progress},
              Field{"history", &Task::history}};
}

// What a dependency or a child ended with.
struct Input {
  State state = State::kFinished;
  Json result;
  bool operator==(const Input&) const = default;
};

constexpr auto fields_of(std::type_identity<Input>) {
  return List{Field{"state", &Input::state}, Field{"result", &Input::result}};
}

// A task as its worker gets it.
struct ClaimedTask {
  std::string id;
  std::string queue;
  std::string user;
  std::string type;
  Priority priority;
  Json payload;
  std::int64_t fence = 0;
  std::int64_t attempt = 0;
  std::int64_t max_attempts = 0;
  TimePoint created_at;
  std::optional<TimePoint> timeout_at;
  std::map<std::string, Input> inputs;
  std::string unique_key;
  std::vector<std::string> tags;
  std::string trace;
  Json progress;  // what an earlier attempt reported

  bool operator==(const ClaimedTask&) const = default;
};

constexpr auto fields_of(std::type_identity<ClaimedTask>) {
  return List{Field{"id", &ClaimedTask::id},
              Field{"queue", &ClaimedTask::queue},
              Field{"user", &ClaimedTask::user},
              Field{"type", &ClaimedTask::type, kAlwaysShown},
              Field{"priority", &ClaimedTask::priority},
              Field{"payload", &ClaimedTask::payload},
              Field{"fence", &ClaimedTask::fence, kAlwaysShown},
              Field{"attempt", &ClaimedTask::attempt, kAlwaysShown},
              Field{"max_attempts", &ClaimedTask::max_attempts},
              Field{"created_at", &ClaimedTask::created_at},
              Field{"timeout_at", &ClaimedTask::timeout_at},
              Field{"inputs", &ClaimedTask::inputs},
              Field{"unique_key", &ClaimedTask::unique_key},
              Field{"tags", &ClaimedTask::tags},
              Field{"trace", &ClaimedTask::trace},
              Field{"progress", &ClaimedTask::progress}};
}

}  // namespace retsu
