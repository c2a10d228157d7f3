// The whole contract of the queue once more, slowly: the judge of the real engine in random runs.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/broker.h"
#include "ingest/idempotency.h"
#include "model/operations.h"
#include "reference/records.h"

namespace retsu {

// Keys of different callers, or for different operations, have nothing to do with each other.
struct IdempotencyKey {
  std::string caller;
  std::string operation;
  std::string key;
  std::strong_ordering operator<=>(const IdempotencyKey&) const = default;
};

// A queue as obvious as possible. Everything is found by looking at everything; there is no index,
// and long work is always done at once (`limits.steps` is ignored). Not thread-safe. Commands come
// as the broker hands them to an engine: valid by themselves, and with all ids filled in. `wait_ms`
// is ignored.
class ReferenceQueue {
 public:
  using Taken = std::map<std::pair<State, Event>, std::int64_t>;

  explicit ReferenceQueue(Limits limits = {}) : limits_(limits) {}

  // Everything due up to the clock happens first. A refused command changes nothing.
  Result<Reply> apply(const Command& command, TimePoint clock);

  // The same for a caller who has a key for what was said.
  Answer apply_once(const Command& command, TimePoint clock, const IdempotencyKey& key,
                    const std::string& said);

  // Everything due up to the clock happens. A clock that runs backwards stands still.
  void advance(TimePoint clock);

  [[nodiscard]] TimePoint now() const { return now_; }

  // How often each row of kTransitions was taken.
  [[nodiscard]] const Taken& taken() const { return taken_; }

  // What happened since the last call.
  std::vector<TaskEvent> take_events() { return std::exchange(events_, {}); }

 private:
  using TaskRecord = reference::TaskRecord;
  using QueueRecord = reference::QueueRecord;
  using ClaimRecord = reference::ClaimRecord;
  using GivenTask = reference::GivenTask;
  using ScheduleRecord = reference::ScheduleRecord;
  using Given = reference::Given;
  using Edge = reference::Edge;
  using LineName = reference::LineName;
  using Names = std::vector<std::string>;

  // ------------------------------------------------------------------ operations, one of each

  Result<PushReply> run(const Push& push);
  Result<Task> run(const GetTask& get);
  Result<TaskPage> run(const ListTasks& list);
  Result<WhyReply> run(const Why& why);
  Result<Task> run(const CancelTask& cancel);
  Result<Task> run(const RetryTask& retry);
  Result<Task> run(const FrontTask& front);
  Result<Removed> run(const RemoveTask& remove);
  Result<BulkReply> run(const CancelTasks& cancel);
  Result<BulkReply> run(const RetryTasks& retry);
  Result<BulkReply> run(const RedriveDead& redrive);
  Result<BulkReply> run(const PurgeDead& purge);
  Result<DeadPage> run(const ListDead& list);
  Result<GraphReply> run(const Graph& graph);
  Result<ClaimReply> run(const Claim& claim);
  Result<SettleReply> run(const Settle& settle);
  Result<ExtendReply> run(const Extend& extend);
  Result<Released> run(const ReleaseClaim& release);
  Result<Released> run(const ReleaseOlder& release);
  Result<ClaimPage> run(const ListClaims& list);
  Result<QueueList> run(const ListQueues& list);
  Result<QueueInfo> run(const GetQueue& get);
  Result<QueueInfo> run(const PutQueue& put);
  Result<QueueInfo> run(const PatchQueue& patch);
  Result<Removed> run(const DeleteQueue& remove);
  Result<QueueInfo> run(const PauseQueue& pause);
  Result<QueueInfo> run(const ResumeQueue& resume);
  Result<BulkReply> run(const PurgeQueue& purge);
  Result<UserList> run(const ListUsers& list);
  Result<PutUserReply> run(const PutUser& put);
  Result<XcomValue> run(const GetXcom& get);
  Result<XcomValue> run(const PutXcom& put);
  Result<Removed> run(const DeleteXcom& remove);
  Result<ScheduleList> run(const ListSchedules& list);
  Result<ScheduleInfo> run(const PutSchedule& put);
  Result<Removed> run(const DeleteSchedule& remove);
  Result<Pushed> run(const RunSchedule& run_now);
  Result<StatsReply> run(const Stats& stats);
  Result<DrainReply> run(const StartDrain& start);
  Result<DrainReply> run(const EndDrain& end);

  // ------------------------------------------------------------------ time (reference.cc)

  struct Timer;
  std::vector<Timer> due_timers();
  void begin_step() { batch_ = ++batches_, front_places_ = 0; }
  void end_step();

  // ------------------------------------------------------------------ tasks (reference_tasks.cc)

  // An alias stands for its holder wherever an id is named.
  [[nodiscard]] std::string resolve(const std::string& id) const;
  TaskRecord* find(const std::string& id);
  [[nodiscard]] const TaskRecord* find(const std::string& id) const;
  [[nodiscard]] bool is_known(const std::string& id) const;  // stored, an alias or a tombstone
  [[nodiscard]] Task view(const TaskRecord& task) const;
  [[nodiscard]] bool matches(const TaskRecord& task, const Filter& filter) const;
  [[nodiscard]] const Retry& retry_of(const TaskRecord& task) const;
  [[nodiscard]] std::int64_t max_attempts_of(const TaskRecord& task) const;
  template <class Bulk>
  Result<BulkReply> bulk(const Bulk& request, const std::function<bool(const TaskRecord&)>& fits,
                         const std::function<bool(TaskRecord&)>& change);
  void cancel(TaskRecord& task, Event event, Reason reason);
  Status redrive(TaskRecord& task);
  void move_to_front(TaskRecord& task);

  void move(TaskRecord& task, Event event);
  void tell(const TaskRecord& task, std::optional<State> from, std::optional<State> to);
  void count(const std::string& queue, Counter counter, std::int64_t by = 1);
  void remember_attempt(TaskRecord& task, std::string_view outcome, Text error = {});
  void end(TaskRecord& task, Event event, Reason reason);

  // ------------------------------------------------------------------ push (reference_push.cc)

  struct Plan;
  struct Batch;
  enum class Limited : std::uint8_t { kYes, kNo };
  Batch plan(const std::vector<NewTask>& tasks, const std::map<std::size_t, Error>& refused) const;
  using Waits = std::map<std::string, Names>;  // id: the ids that it waits for
  [[nodiscard]] std::optional<Error> check(const Batch& batch, const Waits& waits,
                                           std::size_t index, Limited limited) const;
  [[nodiscard]] std::vector<Dependency> resolved(const Batch& batch, const NewTask& task) const;
  [[nodiscard]] std::optional<State> fate(const Batch& batch, const Plan& plan) const;
  [[nodiscard]] bool remembers_enough(const Batch& batch, std::size_t index) const;
  [[nodiscard]] std::optional<Error> check_limits(const Batch& batch, std::size_t index) const;
  [[nodiscard]] Waits waits_with(const Batch& batch, std::size_t count, bool parent_waits) const;
  [[nodiscard]] std::optional<Error> first_error(const Batch& batch, Limited limited,
                                                 std::size_t& index) const;
  std::vector<Pushed> carry_out(const Batch& batch);
  Result<Pushed> push_unlimited(NewTask task);
  void insert(const NewTask& pushed, const std::vector<Dependency>& depends_on);
  void absorb(const NewTask& pushed, TaskRecord& holder);
  [[nodiscard]] const TaskRecord* holder_of(const std::string& queue, const std::string& key) const;

  // ------------------------------------------------------ dependencies (reference_dependencies.cc)

  // How a task ends because of its dependencies.
  struct Doom {
    Event event;
    Reason reason;
  };
  enum class Verdict : std::uint8_t { kMet, kDropped, kCancels, kWaits };
  static Verdict verdict_on(State ended, When when, const NewTask& dependent);
  [[nodiscard]] Edge link(const Dependency& dependency) const;
  [[nodiscard]] bool is_gone(const Edge& edge) const;
  std::optional<Doom> judge_edges(TaskRecord& task);
  void dependency_ended(TaskRecord& task, std::int64_t target, State ended);
  void dependency_gone(const TaskRecord& gone);
  void free_if_ready(TaskRecord& task);
  void spread_ends();
  [[nodiscard]] bool is_needed(const TaskRecord& task) const;

  // --------------------------------------------------------------- retention
  // (reference_retention.cc)

  [[nodiscard]] std::optional<TimePoint> kept_until(const TaskRecord& task) const;
  void remove(std::int64_t sequence);
  bool remove_one_above_limits();
  void remove_or_park(std::int64_t sequence);
  void forget_tombstone(const std::string& id);
  [[nodiscard]] std::int64_t remembered_ids() const;

  // ------------------------------------------------------------------ order (reference_order.cc)

  void take_place(TaskRecord& task, bool front);
  void enqueue(TaskRecord& task, Event event, bool front);
  void refresh_line(const LineName& name);
  [[nodiscard]] UserSettings settings_of(const LineName& name) const;
  TaskRecord* best_of(const LineName& name);
  TaskRecord* best_kept(const std::string& queue, const Names* users);
  std::optional<LineName> next_in_ring(const std::string& queue, const Names* users) const;

  // ------------------------------------------------------------------- pace (reference_pace.cc)

  struct Permits {
    std::int64_t running = 0;  // STARTED tasks and ghosts
    std::int64_t kept = 0;     // through an await
    [[nodiscard]] std::int64_t all() const { return running + kept; }
  };
  [[nodiscard]] Permits permits_of(const std::string& queue,
                                   const std::string* user = nullptr) const;
  void set_policy(QueueRecord& queue, const QueuePolicy& policy);
  void refill(QueueRecord& queue) const;
  [[nodiscard]] TimePoint token_at(const QueueRecord& queue) const;
  [[nodiscard]] TimePoint interval_until(const QueueRecord& queue) const;
  void hold(QueueRecord& queue, std::optional<std::int64_t> named_ms);

  // The next task of a queue, and from when pace lets it start. None: something else is in the way.
  struct Offer {
    TaskRecord* task;
    TimePoint at;
    bool kept;
  };
  std::optional<Offer> offer_of(const std::string& queue, const Names* users);

  // ----------------------------------------------- claims (reference_claims.cc,
  // reference_settle.cc)

  const Names* group_of(const Claim& claim);
  void start(const Offer& offer, const std::string& claim_id, ClaimRecord& claim);
  [[nodiscard]] ClaimedTask claimed(const TaskRecord& task) const;
  [[nodiscard]] std::int64_t remaining(const Claim& claim) const;
  [[nodiscard]] std::int64_t lease_of(const Claim& claim) const;
  void leave_claim(TaskRecord& task, Given status, Outcome outcome = Outcome::kFinish);
  void return_permit(const std::string& queue, const std::string& user);
  void close_if_empty(ClaimRecord& claim);
  void lease_ended(const std::string& claim_id);
  void timed_out(TaskRecord& task);
  std::int64_t release(ClaimRecord& claim);
  Settled settle_one(const std::string& claim_id, const SettleOne& result);
  Status settle_started(TaskRecord& task, const SettleOne& result);
  void retry_or_fail(TaskRecord& task, Reason reason, Event last,
                     std::optional<std::int64_t> floor_ms);
  Status await(TaskRecord& task, const SettleOne& result);

  // ------------------------------------------------ queues, users, schedules (files of these
  // names)

  QueueRecord& queue_made(const std::string& name);
  [[nodiscard]] QueueInfo info_of(const std::string& name) const;
  [[nodiscard]] std::optional<TimePoint> occurrence_after(const ScheduleRecord& schedule,
                                                          TimePoint after) const;
  void occurrence_due(const std::string& name);
  [[nodiscard]] ScheduleInfo info_of(const std::string& name, const ScheduleRecord& schedule) const;
  void explain_queued(const TaskRecord& task, std::vector<WhyCause>& causes);
  bool is_behind(const TaskRecord& task);

  Limits limits_;
  TimePoint now_{};
  TimePoint target_{};  // up to where time is being advanced
  bool draining_ = false;

  std::map<std::int64_t, TaskRecord> tasks_;  // by sequence number
  std::map<std::string, reference::Tombstone> tombstones_;
  std::map<std::string, std::string> aliases_;  // id: the id of the holder
  std::map<std::string, QueueRecord> queues_;
  std::map<LineName, reference::Line> lines_;
  std::map<LineName, UserSettings> settings_;  // an empty queue: for all
  std::map<std::string, ClaimRecord> claims_;
  std::map<std::string, ScheduleRecord> schedules_;
  std::map<std::string, XcomValue> xcom_;
  struct Remembered {
    std::string said;
    Reply reply;
    TimePoint until;
  };
  std::map<IdempotencyKey, Remembered> keys_;
  reference::Counts counts_;

  std::deque<std::int64_t> ended_;  // dependents not told yet
  std::vector<TaskRecord> gone_;    // likewise
  std::set<std::pair<std::string, State>>
      touched_;  // ends of a queue to be held against its limits
  std::map<std::string, std::int64_t> occurrences_;  // made by each schedule in this call

  std::int64_t sequences_ = 0;
  std::int64_t starts_ = 0;
  std::int64_t fences_ = 0;
  std::int64_t claim_numbers_ = 0;
  std::int64_t batches_ = 0;  // of front placements: what one command or timer itself places is one
  std::int64_t batch_ = 0;
  std::int64_t front_places_ = 0;  // in this batch

  Taken taken_;
  std::vector<TaskEvent> events_;
  std::uint64_t event_numbers_ = 0;
};

}  // namespace retsu
