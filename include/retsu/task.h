// Tasks: as they are pushed, as they are claimed, as they are. See docs/operations.md for what each
// field means in detail; a field `…_ms` there is a duration here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retsu/json.h"
#include "retsu/policy.h"
#include "retsu/time.h"

namespace retsu_api {

enum class State : std::uint8_t {
  kScheduled,  // waits for its time
  kDeferred,   // waits for other tasks
  kQueued,     // may be claimed
  kStarted,    // claimed
  kFinished,
  kFailed,  // a dead letter
  kCanceled,
};
constexpr bool has_ended(State state) { return state >= State::kFinished; }
std::string_view to_string(State state);  // "QUEUED"

inline constexpr int kVeryLow = 1;
inline constexpr int kLow = 2;
inline constexpr int kNormal = 3;
inline constexpr int kHigh = 4;
inline constexpr int kVeryHigh = 5;
inline constexpr int kCritical = 6;

enum class When : std::uint8_t { kFinished, kSettled };
enum class OnDependencyFailure : std::uint8_t { kWait, kCancel, kRun };
enum class OnDependencyCancel : std::uint8_t { kDrop, kCancel };
enum class Placement : std::uint8_t { kBack, kFront };

// Another task to wait for. An id alone is one: `.depends_on = {"extract", "check"}`.
struct Dependency {
  Dependency() = default;
  Dependency(std::string the_id, When then = When::kFinished)  // NOLINT: an id is a Dependency
      : id(std::move(the_id)), when(then) {}
  Dependency(const char* the_id, When then = When::kFinished)  // NOLINT
      : id(the_id), when(then) {}

  std::string id;
  When when = When::kFinished;  // or when it has ended in any way
};

// A task to be pushed.
struct NewTask {
  std::string id = {};  // none: the queue chooses one. An id that exists is not pushed again
  std::string queue = "default";
  std::string user = "anonymous";  // whom it is for: users take turns
  std::string type = {};
  int priority = kNormal;
  Json payload = {};
  std::optional<TimePoint> run_at = {};  // not before this: `retsu::now() + 5min`
  std::vector<Dependency> depends_on = {};
  OnDependencyFailure on_dependency_failure = OnDependencyFailure::kWait;
  OnDependencyCancel on_dependency_cancel = OnDependencyCancel::kDrop;
  bool allow_missing = false;   // depends_on may name tasks that are not pushed yet
  std::string unique_key = {};  // at most one task of a queue holds a key, until it is forgotten
  Placement placement = Placement::kBack;
  std::optional<Duration> timeout = {};           // none: the queue's. 0: no timeout
  std::optional<std::int64_t> max_attempts = {};  // none: the queue's
  std::optional<Retry> retry = {};                // none: the queue's
  std::optional<TimePoint> expires_at = {};       // not worth running after this
  std::vector<std::string> tags = {};
  std::string trace = {};  // passed on to the worker
};

// An earlier run that did not finish, or a redrive.
struct Attempt {
  std::int64_t attempt = 0;
  std::string outcome = {};
  std::optional<TimePoint> started_at = {};
  TimePoint ended_at = {};
  std::string worker = {};
  std::string error = {};
};

// All that is known of a task.
struct Task {
  std::string id = {};
  State state = State::kQueued;
  bool retrying = false;  // SCHEDULED after a failed attempt
  std::string queue = {};
  std::string user = {};
  std::string type = {};
  int priority = kNormal;
  Json payload = {};
  std::int64_t attempts = 0;
  std::int64_t max_attempts = 0;
  TimePoint created_at = {};
  std::optional<TimePoint> run_at = {};
  std::optional<TimePoint> queued_at = {};
  std::optional<TimePoint> started_at = {};
  std::optional<TimePoint> ended_at = {};
  std::vector<Dependency> depends_on = {};
  std::vector<std::string> blocked_by = {};  // those that it still waits for
  OnDependencyFailure on_dependency_failure = OnDependencyFailure::kWait;
  OnDependencyCancel on_dependency_cancel = OnDependencyCancel::kDrop;
  std::string unique_key = {};
  Placement placement = Placement::kBack;
  std::optional<Duration> timeout = {};
  std::optional<Retry> retry = {};
  std::optional<TimePoint> expires_at = {};
  std::vector<std::string> tags = {};
  std::string trace = {};
  std::string claim_id = {};
  std::string worker = {};
  std::optional<std::int64_t> fence = {};
  std::optional<TimePoint> lease_until = {};
  std::string error = {};
  std::string reason = {};  // why it ended other than by finishing: `failed`, `timeout`…
  std::optional<bool> retryable = {};
  Json result = {};
  Json progress = {};
  std::vector<Attempt> history = {};
};

// What a dependency or a child ended with.
struct Input {
  State state = State::kFinished;
  Json result = {};
};

// A task in the hands of a worker.
struct ClaimedTask {
  std::string id = {};
  std::string queue = {};
  std::string user = {};
  std::string type = {};
  int priority = kNormal;
  Json payload = {};
  std::int64_t fence = 0;
  std::int64_t attempt = 0;  // 1 the first time
  std::int64_t max_attempts = 0;
  TimePoint created_at = {};
  std::optional<TimePoint> timeout_at = {};
  std::map<std::string, Input> inputs = {};  // by the ids of its dependencies and children
  std::string unique_key = {};
  std::vector<std::string> tags = {};
  std::string trace = {};
  Json progress = {};         // what an earlier attempt reported
  std::string claim_id = {};  // the claim that it is held by
};

}  // namespace retsu_api

namespace retsu {
namespace api = ::retsu_api;
using namespace ::retsu_api;
}  // namespace retsu
