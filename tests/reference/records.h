// What the reference model remembers: plain structs, found by looking at all of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cron.h"
#include "model/operations.h"

namespace retsu::reference {

// A reference from a task to one that it waits for, or waited for.
struct Edge {
  std::string id;
  When when = When::kFinished;
  std::int64_t target = 0;  // the sequence number of the task meant; 0: none is stored
  bool missing = false;     // nobody has pushed it yet
  bool met = false;
  State ended_as = State::kFinished;  // once met
};

// Smaller is earlier in the line: band, two keys, sequence number.
using Position = std::array<std::int64_t, 4>;

struct TaskRecord {
  std::int64_t sequence = 0;
  NewTask pushed;  // as its pusher described it; expires_at goes when a redrive drops it
  State state = State::kQueued;
  TimePoint created_at;
  std::optional<TimePoint> run_at;
  std::optional<TimePoint> queued_at;
  std::optional<TimePoint> started_at;
  std::optional<TimePoint> ended_at;
  std::int64_t attempts = 0;
  std::int64_t leases_lost = 0;  // since the push or the last redrive
  bool retrying = false;
  bool goes_front = false;    // when it is queued next
  bool keeps_permit = false;  // awaits, or is queued again after it
  std::vector<Edge> edges;
  Position position{};
  std::string claim_id;  // of the last claim
  std::string worker;
  std::int64_t fence = 0;
  std::optional<TimePoint> timeout_at;
  Text error;
  Reason reason = Reason::kNone;
  std::optional<bool> retryable;
  Json result;
  Json progress;
  std::vector<Attempt> history;
  bool overdue = false;  // retention would have removed it, but a live task needs its result

  [[nodiscard]] const std::string& id() const { return pushed.id; }
  [[nodiscard]] const std::string& queue() const { return pushed.queue; }
  [[nodiscard]] const std::string& user() const { return pushed.user; }
  [[nodiscard]] std::int64_t payload_bytes() const {
    return static_cast<std::int64_t>(pushed.payload.size());
  }
  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(pushed.payload.size() + result.size() + error.size());
  }
  [[nodiscard]] bool is_blocked() const {
    for (const Edge& edge : edges) {
      if (!edge.met) return true;
    }
    return false;
  }
};

struct Tombstone {
  State state = State::kFinished;
  TimePoint until;
};

// One user in one queue, while that has stored tasks of the user's.
struct Line {
  std::optional<std::int64_t> place;  // in the ring; absent: not in it
  std::int64_t turns = 0;             // had at this place
  std::int64_t started = 0;
  std::vector<std::int64_t> waited_ms;  // of each start
};
using LineName = std::pair<std::string, std::string>;  // queue, user

using Counts = std::map<Counter, std::int64_t>;

struct QueueRecord {
  QueuePolicy policy;
  std::optional<TimePoint> hold_until;
  std::optional<TimePoint> last_return;          // of a permit
  std::optional<TimePoint> last_asked;           // by a claim
  std::int64_t last_start = 0;                   // a running number over all queues
  std::int64_t last_place = 0;                   // given out in the ring
  std::int64_t throttles = 0;                    // in a row
  std::optional<std::int64_t> longest_named_ms;  // in that row
  std::int64_t tokens = 0;                       // in parts: a token is rate.per_ms parts
  TimePoint tokens_at;
  Counts counts;
};

enum class Given : std::uint8_t {
  kHeld,
  kSettled,
  kCanceled,  // a ghost while it has its permit: the worker may not know yet
  kTimedOut,  // likewise
  kLost,
};

// A task that a claim was given.
struct GivenTask {
  std::string id;
  std::string queue;
  std::string user;
  std::int64_t fence = 0;
  Given status = Given::kHeld;
  bool has_permit = true;
  Outcome outcome = Outcome::kFinish;  // once settled, and
  State answered = State::kStarted;    // what was said then

  [[nodiscard]] bool is_ghost() const {
    return has_permit && (status == Given::kCanceled || status == Given::kTimedOut);
  }
};

struct ClaimRecord {
  std::int64_t number = 0;
  std::string worker;
  TimePoint claimed_at;
  std::int64_t lease_ms = 0;  // 0: until released
  std::optional<TimePoint> lease_until;
  std::vector<GivenTask> tasks;  // in the order of the claim
  std::optional<TimePoint> closed_at;

  [[nodiscard]] bool holds_tasks() const {
    for (const GivenTask& task : tasks) {
      if (task.status == Given::kHeld) return true;
    }
    return false;
  }
  // Tasks that it only remembers.
  [[nodiscard]] std::int64_t settled() const {
    return std::ranges::count_if(tasks, [](const GivenTask& task) {
      return task.status != Given::kHeld && !task.is_ghost();
    });
  }
  [[nodiscard]] bool holds_ghosts() const {
    for (const GivenTask& task : tasks) {
      if (task.is_ghost()) return true;
    }
    return false;
  }
};

struct ScheduleRecord {
  ScheduleSpec spec;
  TimePoint first_put;  // of these times
  std::optional<TimePoint> next;
  std::string last_task;
  std::string last_error;
};

}  // namespace retsu::reference
