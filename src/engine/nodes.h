#pragma once

#include <boost/intrusive/set.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/prefetch.h"
#include "engine/rows.h"

// Rows in memory, with what is derived from them: orders, counts, sums. Only Tables changes any of
// it.
namespace retsu::engine {

using OrderHook =
    boost::intrusive::set_member_hook<boost::intrusive::optimize_size<true>,
                                      boost::intrusive::link_mode<boost::intrusive::normal_link>>;

struct TaskNode {
  TaskRow row;
  OrderHook order;  // in the one order that its state has

  [[nodiscard]] const Options& options() const;
  [[nodiscard]] const Run& run() const;
  [[nodiscard]] Line& line() const { return *row.line; }
  [[nodiscard]] Queue& queue() const;
  [[nodiscard]] std::int64_t bytes() const;  // payload, result and error
};

struct Earlier {
  bool operator()(const TaskNode& a, const TaskNode& b) const {
    if (a.row.band != b.row.band) return a.row.band < b.row.band;
    if (a.row.key != b.row.key) return a.row.key < b.row.key;
    return a.row.sequence < b.row.sequence;
  }
};
struct OlderSequence {
  using is_transparent = void;
  bool operator()(const TaskNode* a, const TaskNode* b) const {
    return a->row.sequence < b->row.sequence;
  }
  bool operator()(Sequence a, const TaskNode* b) const { return a < b->row.sequence; }
  bool operator()(const TaskNode* a, Sequence b) const { return a->row.sequence < b; }
};
struct QueuedEarlier {
  bool operator()(const TaskNode* a, const TaskNode* b) const {
    if (a->row.queued_at != b->row.queued_at) return a->row.queued_at < b->row.queued_at;
    return a->row.sequence < b->row.sequence;
  }
};
struct QueuedEarlierInLine {
  using is_transparent = void;
  bool operator()(const TaskNode* a, const TaskNode* b) const {
    if (a->row.line != b->row.line) return std::less<>{}(a->row.line, b->row.line);
    return QueuedEarlier{}(a, b);
  }
  bool operator()(const TaskNode* a, const Line* b) const {
    return std::less<const Line*>{}(a->row.line.get(), b);
  }
};
using TaskSet = boost::intrusive::set<
    TaskNode, boost::intrusive::member_hook<TaskNode, OrderHook, &TaskNode::order>,
    boost::intrusive::compare<Earlier>, boost::intrusive::constant_time_size<false>>;

// Tasks that come one after the other, a batch, mostly stand next to each other: each looks for its
// place behind the one before.
class TaskOrder : private TaskSet {
 public:
  using TaskSet::iterator;

  using TaskSet::begin;
  using TaskSet::empty;
  using TaskSet::end;

  void add(TaskNode& task) {
    if (empty() || Earlier()(*rbegin(), task)) {  // as most are
      push_back(task);
    } else {
      insert(last_ == nullptr ? end() : std::next(iterator_to(*last_)), task);
    }
    last_ = &task;
  }
  void remove(TaskNode& task) {
    if (last_ == &task) last_ = nullptr;
    erase(iterator_to(task));
  }
  void clear() {
    TaskSet::clear();
    last_ = nullptr;
  }
  // The first, which is in a cache, will be removed soon: that takes its neighbour too.
  void expect_removal() const { prefetch(node_traits::get_parent(begin().pointed_node())); }

 private:
  TaskNode* last_ = nullptr;  // that was added
};

// What a user gets in a queue, defaults filled in.
struct Entitlement {
  std::int64_t weight = 1;
  std::int64_t max_running = INT64_MAX;
  std::int64_t max_waiting = INT64_MAX;
  std::int64_t max_waiting_bytes = INT64_MAX;
};

// One user's tasks in one queue. Lives as long as a task or a change refers to it.
class Line : public Counted<Line> {
 public:
  Line(boost::intrusive_ptr<Queue> queue, Text user);
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  boost::intrusive_ptr<Queue> queue;
  Text user;
  LineRow row;
  std::uint32_t stamp = 0;
  // Whoever keeps lines may write here where it has noted this one; 0: nowhere.
  struct {
    std::uint32_t generation = 0;
    std::uint32_t place = 0;
  } noted;

  Entitlement due;
  TaskOrder ready;  // the QUEUED
  std::int64_t stored = 0;
  std::int64_t queued = 0;
  std::int64_t waiting = 0;
  std::int64_t waiting_bytes = 0;
  std::int64_t permits = 0;

  [[nodiscard]] bool belongs_in_ring() const { return queued > 0 && permits < due.max_running; }
};

struct LowerPlace {
  bool operator()(const Line* a, const Line* b) const { return a->row.place < b->row.place; }
};

using Ring = std::set<Line*, LowerPlace>;

// The ended tasks of a queue in one state, oldest first.
struct Retained {
  TaskOrder order;
  std::int64_t tasks = 0;
  std::int64_t bytes = 0;
  TimePoint due = kNever;  // when the first has been kept long enough
  Sequence first = 0;
};
inline constexpr int kEndStates = 3;
constexpr int end_index(State state) {
  return static_cast<int>(state) - static_cast<int>(State::kFinished);
}

class Queue : public Counted<Queue> {
 public:
  explicit Queue(std::string_view queue_name) : name(queue_name) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Text name;
  QueueRow row;
  std::uint32_t stamp = 0;

  boost::unordered_flat_map<std::string_view, Line*> lines;  // by user
  Ring ring;
  std::set<TaskNode*, QueuedEarlier> kept;  // QUEUED with a permit
  std::set<TaskNode*, QueuedEarlierInLine> kept_by_line;
  std::array<std::int64_t, kStates> tasks{};
  std::int64_t waiting_bytes = 0;
  std::int64_t permits = 0;  // of runs, ghosts and suspended tasks
  std::int64_t runs = 0;     // of runs and ghosts
  std::array<Retained, kEndStates> retained;
  std::map<std::int64_t, std::int64_t> queued_seconds;  // how many QUEUED since each second
  TimePoint asked_at =
      TimePoint::min();  // last claim, not stored: it is about workers, not about tasks

  [[nodiscard]] const QueuePolicy& policy() const;
  [[nodiscard]] std::int64_t waiting() const {
    return tasks[static_cast<int>(State::kScheduled)] + tasks[static_cast<int>(State::kDeferred)] +
           tasks[static_cast<int>(State::kQueued)];
  }
};

inline Queue& TaskNode::queue() const { return *row.line->queue; }

struct Member : MemberRow {
  TaskNode* node = nullptr;  // of its task, if it is known; only while it is held
};

struct ClaimNode {
  ClaimRow row;
  std::vector<Member> members;  // by fence
  std::int64_t held = 0;
  std::int64_t open = 0;  // held and ghosts

  [[nodiscard]] const MemberRow* member(std::int64_t fence) const;
};

// Who refers to one task id.
struct Dependents {
  std::set<TaskNode*, OlderSequence> open;  // wait for it
  std::set<TaskNode*, OlderSequence> met;   // waited for it
  std::int64_t pins = 0;                    // of the latter, live ones: they still need its result

  [[nodiscard]] bool empty() const { return open.empty() && met.empty(); }
};

using Edges = std::vector<EdgeRow>;

}  // namespace retsu::engine
