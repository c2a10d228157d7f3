#pragma once

#include <array>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "engine/short_lived.h"
#include "model/operations.h"

// What the queue remembers, as rows: everything else in the engine is derived from these. A
// command's effect is a list of changes, each a row before and a row after, so a store writes the
// afters and a failed commit is undone with the befores.
namespace retsu::engine {

using Sequence = std::uint64_t;

template <class T>
using Counted = boost::intrusive_ref_counter<T, boost::thread_unsafe_counter>;

class Queue;
class Tables;
class Line;

// The rare wishes of a pusher. Shared and never changed in place.
struct Options : Counted<Options> {
  std::string unique_key;
  std::optional<std::int64_t> timeout_ms;
  std::optional<std::int64_t> max_attempts;
  std::optional<Retry> retry;
  TimePoint expires_at = kNever;
  std::vector<std::string> tags;
  std::string trace;
  OnDependencyFailure on_dependency_failure = OnDependencyFailure::kWait;
  OnDependencyCancel on_dependency_cancel = OnDependencyCancel::kDrop;
};

// What time and workers have done to a task. Shared and never changed in place.
struct Run : Counted<Run> {
  std::int64_t attempts = 0;
  std::int64_t expired_leases = 0;
  std::int64_t fence = 0;
  Text claim_id;
  Text worker;
  TimePoint run_at = kNever;
  TimePoint started_at = kNever;
  TimePoint timeout_at = kNever;
  TimePoint ended_at = kNever;
  Json result;
  Json progress;
  Text error;
  Reason reason = Reason::kNone;
  bool retryable = true;
  std::shared_ptr<const std::vector<Attempt>> history;
};

// Where a QUEUED task stands in its user's line; smaller comes first.
enum class Band : std::uint8_t { kFront, kCritical, kRest };

// What a task is, for all of its life.
struct TaskIdentity {
  Text id;
  Text type;
  Json payload;
};
// What becomes of it.
struct TaskState {
  Sequence sequence = 0;
  boost::intrusive_ptr<Line> line;
  boost::intrusive_ptr<const Options> options;  // null: all defaults
  boost::intrusive_ptr<const Run> run;          // null: never scheduled, never started
  TimePoint created_at;
  TimePoint queued_at = kNever;
  // The place in the order that the state has: the line (QUEUED), run_at (SCHEDULED), timeout_at
  // (STARTED), ended_at (ended).
  std::int64_t key = 0;
  State state = State::kQueued;
  Band band = Band::kRest;
  std::uint8_t priority = kNormalPriority;
  bool pushed_front = false;  // as its pusher wished
  bool to_front = false;      // when it is queued next
  bool id_generated = false;  // leaves no tombstone
  bool keeps_permit = false;  // awaits, or is queued again after that, with its permit
  bool overdue = false;       // retention would have removed it, but a live task needs its result
};
// Where a row has changed, the one before has no identity: the one after has it.
struct TaskRow : TaskIdentity, TaskState {};

// A dependent's reference to what it waits for, or waited for.
struct EdgeRow {
  Text dependent;
  Sequence sequence = 0;  // of the dependent
  Text target;
  std::uint32_t position = 0;  // among the references of the dependent
  When when = When::kFinished;
  std::optional<State> met;  // the state that the target ended in; none: still open
  bool missing = false;      // the target has never been pushed
  bool gone = false;         // the target has been removed; another task may have its id by now
};

struct ClaimRow {
  std::uint64_t number = 0;
  Text id;
  Text worker;
  TimePoint claimed_at;
  std::int64_t lease_ms = 0;
  TimePoint lease_until = kNever;
  TimePoint closed_at = kNever;  // when its last task went; then it is only remembered
};

enum class Hold : std::uint8_t {
  kHeld,
  kCanceled,  // a ghost: the task is canceled, its worker may still run it
  kTimedOut,  // a ghost likewise
  kSettled,
  kLost,
  kClosed,  // a ghost that has gone
};

constexpr bool is_ghost(Hold hold) { return hold == Hold::kCanceled || hold == Hold::kTimedOut; }

// One task in a claim. While it is held, or a ghost, it has a permit.
struct MemberRow {
  std::uint64_t claim = 0;
  std::int64_t fence = 0;
  Text task;
  boost::intrusive_ptr<Line> line;
  Hold hold = Hold::kHeld;
  Outcome outcome = Outcome::kFinish;  // of a settled one, and
  State state = State::kStarted;       // what it came to
};

inline constexpr int kPerMinute =
    4;  // the first counters that are also counted by the minute, see below
inline constexpr std::array<Counter, kPerMinute> kMinuteCounters = {
    Counter::kPushed, Counter::kStarted, Counter::kFinished, Counter::kFailed};

using Counters = std::array<std::int64_t, kCounters>;

struct QueueRow {
  bool exists = false;
  std::shared_ptr<const QueuePolicy> policy;
  std::uint64_t served = 0;     // the running number of its last start
  std::int64_t level = 0;       // of the token bucket, in tokens × per_ms
  TimePoint level_at = kNever;  // when that was so; never: the bucket is full
  TimePoint hold_until = TimePoint::min();
  std::int64_t throttles = 0;          // in a row
  std::int64_t longest_named_ms = -1;  // of that row; -1: none was named
  TimePoint last_end = TimePoint::min();
  std::int64_t minute = 0;
  std::array<std::int64_t, kPerMinute> this_minute{};
  std::array<std::int64_t, kPerMinute> last_minute{};
  Counters counters{};
  bool operator==(const QueueRow&) const = default;
};

// Waits before a start, in half octaves of milliseconds; halved now and then, so that the latest
// count.
struct Waits {
  static constexpr int kBuckets = 48;
  std::array<std::uint16_t, kBuckets> buckets{};
  std::uint16_t total = 0;

  void add(Millis wait);
  [[nodiscard]] std::optional<std::int64_t> quantile(double share) const;
  bool operator==(const Waits&) const = default;
};

struct LineRow {
  std::uint64_t place = 0;  // in the ring; 0: not in it
  std::int64_t turns = 0;   // had at this place
  std::int64_t started = 0;
  Waits waits;
  bool operator==(const LineRow&) const = default;
};

struct SettingsRow {
  std::string queue;  // empty: all
  std::string user;
  UserSettings settings;
};

struct TombstoneRow {
  Sequence sequence = 0;  // of the task
  Text id;
  State state = State::kFinished;
  TimePoint expires_at;
};

struct AliasRow {
  Text id;
  Text target;
};

struct ScheduleRow {
  std::string name;
  ScheduleSpec spec;
  TimePoint anchor;  // of `every`
  TimePoint next = kNever;
  std::string last_task;
  std::string last_error;
};

struct XcomRow {
  std::string key;
  Json value;
  TimePoint expires_at;
};

// What a key was answered with.
struct KeyRow {
  std::uint64_t number = 0;
  std::string caller;
  std::string operation;
  std::string key;
  std::string fingerprint;
  Json reply;
  TimePoint expires_at;
};

// A task has ended, or is gone, and its dependents are still being told.
struct CascadeRow {
  std::uint64_t number = 0;
  Text target;
  State state = State::kFinished;
  bool removed = false;
  TimePoint ended_at;
  Sequence told = 0;  // dependents up to this one know
};

struct MetaRow {
  TimePoint now = TimePoint(Millis(0));
  Sequence sequence = 0;
  std::int64_t fence = 0;
  std::uint64_t place = 0;
  std::uint64_t served = 0;
  std::int64_t front = 0;  // the lowest key in use at the front; falls
  std::uint64_t claim = 0;
  std::uint64_t cascade = 0;
  bool draining = false;
  std::shared_ptr<const Counters> former;  // of queues that were deleted
  std::uint64_t key = 0;
  bool operator==(const MetaRow&) const = default;
};

template <class Row>
struct Change {
  std::optional<Row> before;
  std::optional<Row> after;

  static void* operator new(std::size_t bytes) { return take_short_lived(bytes); }
  static void operator delete(void* change) noexcept { give_back_short_lived(change); }
};
struct QueueChange {
  boost::intrusive_ptr<Queue> queue;
  QueueRow before;
  QueueRow after;
};
struct LineChange {
  boost::intrusive_ptr<Line> line;
  LineRow before;
  LineRow after;

  static void* operator new(std::size_t bytes) { return take_short_lived(bytes); }
  static void operator delete(void* change) noexcept { give_back_short_lived(change); }
};
struct MetaChange {
  MetaRow before;
  MetaRow after;
};

template <class... Kinds>
using OneOf = std::variant<std::unique_ptr<Kinds>...>;
using AnyChange =
    OneOf<Change<TaskRow>, Change<EdgeRow>, Change<ClaimRow>, Change<MemberRow>,
          Change<SettingsRow>, Change<TombstoneRow>, Change<AliasRow>, Change<ScheduleRow>,
          Change<XcomRow>, Change<CascadeRow>, Change<KeyRow>, QueueChange, LineChange, MetaChange>;

// In the order in which they were made. Belongs to the thread of the engine.
using Changes = std::vector<AnyChange>;

}  // namespace retsu::engine
