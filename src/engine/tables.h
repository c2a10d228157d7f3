#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered_map.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/cron.h"
#include "engine/id_index.h"
#include "engine/nodes.h"
#include "engine/rows.h"
#include "engine/slab.h"

namespace retsu::engine {

struct ScheduleNode {
  ScheduleRow row;
  std::optional<Cron> cron;
  TimeZone zone = TimeZone::utc();
};

using KeyId = std::tuple<std::string_view, std::string_view, std::string_view>;
inline KeyId id_of(const KeyRow& row) { return {row.caller, row.operation, row.key}; }
struct LowerKeyId {
  using is_transparent = void;
  bool operator()(const KeyRow& a, const KeyRow& b) const { return id_of(a) < id_of(b); }
  bool operator()(const KeyRow& a, const KeyId& b) const { return id_of(a) < b; }
  bool operator()(const KeyId& a, const KeyRow& b) const { return a < id_of(b); }
};

// All rows, and everything derived from them. A row changes only through the functions here, which
// keep orders, counts and indexes in step and write down the change. Undoing puts rows back through
// the same code, so what is derived comes back with them. What a change *means* is decided
// elsewhere.
class Tables {
 public:
  explicit Tables(Limits the_limits) : limits(the_limits) {}
  ~Tables();
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  const Limits limits;

  // The log of changes since the last take().
  using Mark = std::size_t;
  Mark mark();                // begins a part that can be rolled back by itself
  void roll_back(Mark mark);  // as if nothing had happened since
  Changes take();
  void undo(Changes changes);  // the latest taken first
  void expect(std::size_t tasks) { ids_.reserve(tasks); }
  void restore(const Changes& changes);  // makes them again, without a log: rows that a store kept

  [[nodiscard]] const MetaRow& meta() const { return meta_; }
  [[nodiscard]] TimePoint now() const { return meta_.now; }
  MetaRow& edit_meta();
  std::int64_t next_front(
      std::int64_t keys = 1);  // the first of so many keys, all before any in use

  // Queues and lines.
  Queue& queue(std::string_view name);                           // makes the object, not the row
  [[nodiscard]] Queue* find_queue(std::string_view name) const;  // only one that exists
  [[nodiscard]] const auto& queues() const { return queues_; }
  QueueRow& edit(Queue& queue);
  void set_policy(Queue& queue, std::shared_ptr<const QueuePolicy> policy);
  void count(Queue& queue, Counter counter, std::int64_t by = 1);
  boost::intrusive_ptr<Line> line(Queue& queue, std::string_view user);
  LineRow& edit(Line& line);
  void set_place(Line& line, std::uint64_t place, std::int64_t turns);
  void refresh_ring(Line& line);  // joins or leaves as its counts say
  void set_settings(SettingsRow row);
  [[nodiscard]] const UserSettings* settings(std::string_view queue, std::string_view user) const;

  // Tasks.
  [[nodiscard]] TaskNode* find_task(std::string_view id) const { return ids_.find(id); }
  [[nodiscard]] TaskNode* unique_holder(const Queue& queue, std::string_view key) const;
  [[nodiscard]] const IdIndex& tasks() const { return ids_; }
  [[nodiscard]] std::int64_t tasks_in(State state) const {
    return states_[static_cast<int>(state)];
  }
  TaskNode& add_task(TaskRow row);
  // `edit` changes the row, not who the task is; orders and counts do not have it meanwhile.
  template <class Edit>
  void change_task(TaskNode& task, const Edit& edit) {
    TaskRow before;
    static_cast<TaskState&>(before) = task.row;
    edit_indexed(task, edit);
    log<TaskRow>(std::move(before), task.row);
    refresh_ring(task.line());
  }
  void remove_task(TaskNode& task);
  Text shared_type(std::string_view type);  // the same bytes for the same type

  // Payloads that are in memory, and those that are not. A task whose payload has been parked
  // behaves as before; whoever needs the payload gets it from the source.
  using PayloadSource = std::function<Json(Sequence)>;
  void set_payload_source(PayloadSource source) { payload_source_ = std::move(source); }
  [[nodiscard]] Json payload(const TaskNode& task) const {
    return task.row.payload.is_parked() ? payload_source_(task.row.sequence) : task.row.payload;
  }
  [[nodiscard]] std::int64_t payload_bytes() const { return payload_bytes_; }  // in memory
  void park_payload(std::string_view id, Sequence sequence);

  // References between tasks.
  [[nodiscard]] const Edges& edges(const TaskNode& dependent) const;
  [[nodiscard]] std::int64_t open_edges(const TaskNode& dependent) const;
  [[nodiscard]] const Dependents* dependents(std::string_view target) const;
  [[nodiscard]] std::int64_t all_open_edges() const { return open_edges_; }
  [[nodiscard]] const EdgeRow* edge(const TaskNode& dependent, std::string_view target) const;
  void add_edge(EdgeRow row);  // behind the others of its dependent
  void change_edge(const EdgeRow& from, EdgeRow to);
  void drop_edge(const EdgeRow& row);

  // Claims.
  [[nodiscard]] ClaimNode* find_claim(std::string_view id) const;
  [[nodiscard]] const auto& claims() const { return claims_; }
  ClaimNode& set_claim(ClaimRow row);  // adds or replaces
  void remove_claim(ClaimNode& claim);
  void set_member(ClaimNode& claim, MemberRow row, TaskNode* node = nullptr);
  void drop_member(ClaimNode& claim, std::int64_t fence);

  // Ids remembered after their task.
  [[nodiscard]] const TombstoneRow* tombstone(std::string_view id) const;
  void set_tombstone(TombstoneRow row);
  void drop_tombstone(std::string_view id);
  [[nodiscard]] const Text* alias(std::string_view id) const;
  [[nodiscard]] std::vector<Text> aliases_of(std::string_view target) const;
  void set_alias(AliasRow row);
  void drop_alias(std::string_view id);
  [[nodiscard]] std::int64_t remembered_ids() const {
    return static_cast<std::int64_t>(tombstones_.size() + aliases_.size());
  }

  // Schedules and shared values.
  [[nodiscard]] const auto& schedules() const { return schedules_; }
  void set_schedule(ScheduleRow row);
  void drop_schedule(std::string_view name);
  [[nodiscard]] const auto& xcom() const { return xcom_; }
  void set_xcom(XcomRow row);
  void drop_xcom(std::string_view key);

  // Answers by idempotency key.
  [[nodiscard]] const auto& keys() const { return keys_; }
  void add_key(KeyRow row);
  void drop_key(const KeyRow& row);

  [[nodiscard]] const auto& cascades() const { return cascades_; }
  [[nodiscard]] const CascadeRow* cascade_of(std::string_view target) const;
  void set_cascade(CascadeRow row);
  void drop_cascade(std::uint64_t number);

  // Hints for settle_down, which uses them up before the command is over.
  struct Unsettled {
    std::map<std::pair<std::string_view, int>, Queue*> ended;  // where tasks ended, and how
    std::vector<Text> unpinned;  // tasks that one live task less needs
  };
  Unsettled unsettled;

  // Orders of time, earliest first.
  [[nodiscard]] const TaskOrder& timers() const { return timers_; }
  [[nodiscard]] const auto& expiries() const { return expiries_; }
  [[nodiscard]] const auto& leases() const { return leases_; }
  [[nodiscard]] const auto& closed_claims() const { return closed_claims_; }
  [[nodiscard]] std::int64_t settled_tasks() const { return settled_tasks_; }
  [[nodiscard]] const auto& retention_due() const { return retention_due_; }
  [[nodiscard]] const auto& tombstones_due() const { return tombstones_due_; }
  [[nodiscard]] const auto& schedules_due() const { return schedules_due_; }
  [[nodiscard]] const auto& xcom_due() const { return xcom_due_; }
  [[nodiscard]] const auto& keys_due() const { return keys_due_; }

  // All rows and all that is derived, as text: equal texts, equal tables.
  [[nodiscard]] std::string dump() const;

 private:
  struct SoonerTask {
    bool operator()(const std::pair<TimePoint, TaskNode*>& a,
                    const std::pair<TimePoint, TaskNode*>& b) const {
      if (a.first != b.first) return a.first < b.first;
      return a.second->row.sequence < b.second->row.sequence;
    }
  };
  struct Put;

  template <class Row>
  void log(std::optional<Row> before, std::optional<Row> after) {
    log_.emplace_back(std::unique_ptr<Change<Row>>(
        new Change<Row>{std::move(before), std::move(after)}));  // one move each
  }
  void seal();
  void undo_last();

  // The same doors for going forward and for undoing: they change a row and what is derived from
  // it.
  void put(const std::optional<TaskRow>& from, const std::optional<TaskRow>& to);
  void put(const std::optional<EdgeRow>& from, const std::optional<EdgeRow>& to);
  void put(const std::optional<ClaimRow>& from, const std::optional<ClaimRow>& to);
  void put(const std::optional<MemberRow>& from, const std::optional<MemberRow>& to);
  void put(const std::optional<SettingsRow>& from, const std::optional<SettingsRow>& to);
  void put(const std::optional<TombstoneRow>& from, const std::optional<TombstoneRow>& to);
  void put(const std::optional<AliasRow>& from, const std::optional<AliasRow>& to);
  void put(const std::optional<ScheduleRow>& from, const std::optional<ScheduleRow>& to);
  void put(const std::optional<XcomRow>& from, const std::optional<XcomRow>& to);
  void put(const std::optional<CascadeRow>& from, const std::optional<CascadeRow>& to);
  void put(const std::optional<KeyRow>& from, const std::optional<KeyRow>& to);

  // Puts and logs.
  template <class Row>
  void change(std::optional<Row> from, std::optional<Row> to) {
    put(from, to);
    log(std::move(from), std::move(to));
  }

  template <class Edit>
  void edit_indexed(TaskNode& task, const Edit& edit) {
    const bool was_live = is_live(task.row.state);
    index(task, -1);
    edit(task.row);
    index(task, +1);
    if (was_live != is_live(task.row.state)) index_pins(task, was_live ? -1 : +1);
  }
  TaskNode& insert(const TaskRow& row);
  TaskRow erase(TaskNode& task);
  void index(TaskNode& task, int by);
  void index_order(TaskNode& task, int by);
  void index_pins(const TaskNode& task, int by);
  std::optional<MemberRow> replace_member(ClaimNode& claim, std::int64_t fence,
                                          const std::optional<MemberRow>& to,
                                          TaskNode* node = nullptr);
  void index_member(ClaimNode& claim, const MemberRow& member, int by);
  void index_claim(ClaimNode& claim, int by);
  void refresh_retention(Queue& queue, int end);
  void refresh_entitlement(Line& line) const;

  Changes log_;
  std::uint32_t epoch_ = 1;
  std::vector<QueueChange*> open_queues_;  // logged in this epoch, their afters not yet filled in
  std::vector<LineChange*> open_lines_;
  MetaChange* open_meta_ = nullptr;
  MetaRow meta_;

  boost::unordered_flat_map<std::string_view, boost::intrusive_ptr<Queue>> queues_;
  std::map<std::pair<std::string, std::string>, UserSettings> settings_;  // by user, queue

  PayloadSource payload_source_;
  std::int64_t payload_bytes_ = 0;
  Slab<TaskNode> slab_;
  IdIndex ids_;
  std::array<std::int64_t, kStates> states_{};
  boost::unordered_flat_map<std::pair<const Queue*, std::string_view>, TaskNode*> unique_;
  boost::unordered_flat_map<std::string_view, Text> types_;

  boost::unordered_map<const TaskNode*, Edges> edges_;
  boost::unordered_map<Text, Dependents, std::hash<Text>> dependents_;
  std::int64_t open_edges_ = 0;

  boost::unordered_map<std::uint64_t, std::unique_ptr<ClaimNode>> claims_;
  boost::unordered_flat_map<std::string_view, ClaimNode*> claim_ids_;

  boost::unordered_map<Text, TombstoneRow, std::hash<Text>> tombstones_;
  boost::unordered_map<Text, Text, std::hash<Text>> aliases_;
  std::set<std::pair<Text, Text>> aliases_by_target_;
  std::map<std::string, ScheduleNode, std::less<>> schedules_;
  std::map<std::string, XcomRow, std::less<>> xcom_;
  std::set<KeyRow, LowerKeyId> keys_;
  std::map<std::uint64_t, CascadeRow> cascades_;
  boost::unordered_map<Text, std::uint64_t, std::hash<Text>> cascade_numbers_;

  TaskOrder timers_;  // SCHEDULED by run_at, STARTED by timeout_at
  std::set<std::pair<TimePoint, TaskNode*>, SoonerTask> expiries_;
  std::set<std::pair<TimePoint, std::uint64_t>> leases_;
  std::set<std::pair<TimePoint, std::uint64_t>> closed_claims_;
  std::int64_t settled_tasks_ = 0;  // and lost ones, that claims remember
  std::set<std::tuple<TimePoint, Sequence, std::string_view, int>> retention_due_;
  std::set<std::pair<TimePoint, Text>> tombstones_due_;
  std::set<std::pair<TimePoint, std::string>> schedules_due_;
  std::set<std::pair<TimePoint, std::string>> xcom_due_;
  std::set<std::pair<TimePoint, KeyId>> keys_due_;  // views into keys_
};

}  // namespace retsu::engine
