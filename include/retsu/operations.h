// What a Queue is asked and answers. See docs/operations.md for what each field means in detail; a
// field `…_ms` there is a duration here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "retsu/error.h"
#include "retsu/task.h"
#include "retsu/time.h"

namespace retsu_api {

struct PushOptions {
  // The same key with the same tasks, within 72 hours, is answered as the first time and pushes
  // nothing; with other tasks it is `idempotency_mismatch`. 1 to 255 characters without spaces.
  std::string idempotency_key = {};
  // Of many tasks: those that are refused do not keep the others out.
  bool partial = false;
};

struct Pushed {
  std::string id = {};  // of the task that now stands for the push: maybe one that existed
  std::optional<State> state = {};
  bool created = false;             // false: a task with this id, or this unique key, existed
  std::optional<Error> error = {};  // only in a partial push: this one was refused
  bool replayed = false;            // the answer that the same idempotency key was given before
};

struct ClaimRequest {
  std::vector<std::string> queues = {"default"};
  std::vector<std::string> users = {};  // none: all
  std::vector<std::string> steal = {};  // served only when none of `users` has a task
  std::int64_t max = 1;
  std::optional<Duration> lease = {};  // none: the queue's. 0: until released
  Duration wait = {};                  // for work, if there is none; at most 5 min
  std::string worker = {};             // a name for people to see
  std::string claim_id = {};           // none: the queue chooses one
};

// Tasks held under one lease. Not settled, extended or released until then, they go back into the
// line. May be empty.
struct Claim {
  std::string claim_id = {};
  std::vector<ClaimedTask> tasks = {};
  std::optional<TimePoint> lease_until = {};  // none: until released
  std::int64_t remaining = 0;                 // that could be claimed next, pace aside
  std::optional<TimePoint> next_at = {};      // when pace next lets one start
};

struct FailOptions {
  bool retryable = true;                     // false: a dead letter at once
  std::optional<Duration> retry_after = {};  // not before this
};

enum class OutcomeKind : std::uint8_t { kFinish, kFail, kThrottle, kRelease, kAwait };

// How the work on a task went. The functions below make one.
struct Outcome {
  std::string id = {};                     // filled in by a worker
  std::optional<std::int64_t> fence = {};  // none: the one of the claim
  OutcomeKind kind = OutcomeKind::kFinish;
  Json result = {};
  std::string error = {};
  bool retryable = true;
  std::optional<Duration> retry_after = {};
  std::vector<NewTask> children = {};  // of kAwait
};

Outcome finish(Json result = {});
Outcome fail(std::string error, const FailOptions& options = {});
Outcome release();  // back to the front of its line, no attempt lost
// The service that the queue calls asks for a pause: as release, and the whole queue holds still.
Outcome throttle(std::optional<Duration> retry_after = {});
// The children are pushed and the task is suspended until all of them have ended; then it runs
// again, with their results as inputs. Costs no attempt.
Outcome await(std::vector<NewTask> children);

struct Settled {
  std::string id = {};
  bool ok = false;
  std::optional<State> state = {};
  std::optional<Error> error = {};  // why it is not ok
};

struct ExtendOptions {
  std::optional<Duration> lease = {};         // none: as long as it was claimed for
  std::map<std::string, Json> progress = {};  // by task
};

struct Extended {
  std::optional<TimePoint> lease_until = {};
  std::vector<std::string> canceled = {};  // stop working on these: they were canceled
  std::vector<std::string> lost = {};      // and on these: they are no longer this claim's
};

struct WhyCause {
  std::string cause = {};  // `dependency`, `schedule`, `paused`, `concurrency`, `rate`…
  std::string detail = {};
  std::optional<TimePoint> until = {};
};

// Why a task does not run. No causes: it runs, or has ended.
struct Why {
  State state = State::kQueued;
  std::vector<WhyCause> causes = {};
};

struct Stats {
  TimePoint now = {};
  bool draining = false;
  std::map<std::string, std::int64_t> tasks = {};     // by state: {"QUEUED", 12}
  std::map<std::string, std::int64_t> counters = {};  // since the beginning: {"pushed", 1000}
  std::int64_t queues = 0;
  std::int64_t users = 0;
  std::int64_t claims = 0;
  std::int64_t schedules = 0;
  std::int64_t xcom = 0;
  std::int64_t edges = 0;  // open references between tasks
  std::int64_t remembered_ids = 0;
  std::int64_t idempotency_keys = 0;
};

}  // namespace retsu_api

namespace retsu {
namespace api = ::retsu_api;
using namespace ::retsu_api;
}  // namespace retsu
