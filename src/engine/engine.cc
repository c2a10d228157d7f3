#include "engine/engine.h"

#include "engine/administration.h"
#include "engine/claims.h"
#include "engine/lifecycle.h"
#include "engine/pace.h"
#include "engine/push.h"
#include "engine/queries.h"
#include "engine/schedules.h"
#include "engine/tables.h"
#include "engine/timers.h"

namespace retsu {
namespace engine {
namespace {

// One row an operation.
struct Apply {
  Tables& tables;

  auto operator()(const Push& op) { return push(tables, op); }
  Result<Task> operator()(const GetTask& op) {
    const auto task = require(tables, op.id);
    if (!task) return tl::unexpected(task.error());
    return view(tables, **task);
  }
  auto operator()(const ListTasks& op) { return list_tasks(tables, op); }
  auto operator()(const Why& op) { return why(tables, op); }
  auto operator()(const CancelTask& op) { return cancel_task(tables, op); }
  auto operator()(const RetryTask& op) { return retry_task(tables, op); }
  auto operator()(const FrontTask& op) { return front_task(tables, op); }
  auto operator()(const RemoveTask& op) { return remove_task(tables, op); }
  auto operator()(const CancelTasks& op) { return cancel_tasks(tables, op); }
  auto operator()(const RetryTasks& op) { return retry_tasks(tables, op); }
  auto operator()(const RedriveDead& op) { return redrive_dead(tables, op); }
  auto operator()(const PurgeDead& op) { return purge_dead(tables, op); }
  auto operator()(const ListDead& op) { return list_dead(tables, op); }
  auto operator()(const Graph& op) { return graph(tables, op); }
  auto operator()(const Claim& op) { return claim(tables, op); }
  auto operator()(const Settle& op) { return settle(tables, op); }
  auto operator()(const Extend& op) { return extend(tables, op); }
  auto operator()(const ReleaseClaim& op) { return release_claim(tables, op); }
  auto operator()(const ReleaseOlder& op) { return release_older(tables, op); }
  auto operator()(const ListClaims& op) { return list_claims(tables, op); }
  auto operator()(const ListQueues& op) { return list_queues(tables, op); }
  auto operator()(const GetQueue& op) { return get_queue(tables, op); }
  auto operator()(const PutQueue& op) { return put_queue(tables, op.queue, op.policy); }
  auto operator()(const PatchQueue& op) { return patch_queue(tables, op); }
  auto operator()(const DeleteQueue& op) { return delete_queue(tables, op); }
  auto operator()(const PauseQueue& op) { return set_paused(tables, op.queue, true); }
  auto operator()(const ResumeQueue& op) { return set_paused(tables, op.queue, false); }
  auto operator()(const PurgeQueue& op) { return purge_queue(tables, op); }
  auto operator()(const ListUsers& op) { return list_users(tables, op); }
  auto operator()(const PutUser& op) { return put_user(tables, op); }
  auto operator()(const GetXcom& op) { return get_xcom(tables, op); }
  auto operator()(const PutXcom& op) { return put_xcom(tables, op); }
  auto operator()(const DeleteXcom& op) { return delete_xcom(tables, op); }
  auto operator()(const ListSchedules& op) { return list_schedules(tables, op); }
  auto operator()(const PutSchedule& op) { return put_schedule(tables, op); }
  auto operator()(const DeleteSchedule& op) { return delete_schedule(tables, op); }
  auto operator()(const RunSchedule& op) { return run_schedule(tables, op); }
  auto operator()(const Stats&) { return stats(tables); }
  auto operator()(const StartDrain&) { return set_draining(tables, true); }
  auto operator()(const EndDrain&) {
    set_draining(tables, false);
    advance(tables, tables.now());  // schedules stood still
    return set_draining(tables, false);
  }
};

template <class T>
Result<Reply> as_reply(Result<T> result) {
  if (!result) return tl::unexpected(std::move(result.error()));
  return Reply(std::move(*result));
}
template <class T>
Result<Reply> as_reply(T reply) {
  return Reply(std::move(reply));
}

}  // namespace
}  // namespace engine

Engine::Engine(Limits limits) : tables_(std::make_unique<engine::Tables>(limits)) {}
Engine::~Engine() = default;

Result<Reply> Engine::apply(const Command& command, TimePoint clock) {
  engine::advance(*tables_, clock);
  const auto before = tables_->mark();
  Result<Reply> reply = std::visit(
      [&](const auto& op) { return engine::as_reply(engine::Apply{*tables_}(op)); }, command);
  if (reply) {
    engine::settle_down(*tables_);
  } else {
    tables_->roll_back(before);
    tables_->unsettled = {};
  }
  return reply;
}

void Engine::advance(TimePoint clock) { engine::advance(*tables_, clock); }
TimePoint Engine::next_event() const { return engine::next_event(*tables_); }
TimePoint Engine::now() const { return tables_->now(); }

TimePoint Engine::claimable_at(std::string_view name) const {
  const engine::Queue* queue = tables_->find_queue(name);
  if (queue == nullptr || tables_->meta().draining) return kNever;
  const bool can_give =
      !queue->kept.empty() || (!queue->ring.empty() && engine::has_free_permit(*queue));
  if (!can_give) return kNever;
  const auto blocked = engine::obstacle(*queue, tables_->now());
  return blocked ? blocked->until : tables_->now();
}

bool Engine::has_ended(std::string_view id) const {
  const engine::TaskNode* task = engine::resolve(*tables_, id);
  return task != nullptr && is_ended(task->row.state);
}

std::size_t Engine::size() const { return tables_->tasks().size(); }
std::vector<Task> Engine::view_matching(std::span<const std::string> ids,
                                        const Filter& filter) const {
  return engine::view_matching(*tables_, ids, filter);
}

void Engine::set_payload_source(std::function<Json(engine::Sequence)> source) {
  tables_->set_payload_source(std::move(source));
}
std::int64_t Engine::payload_bytes() const { return tables_->payload_bytes(); }
void Engine::park_payload(std::string_view id, engine::Sequence sequence) {
  tables_->park_payload(id, sequence);
}

const engine::KeyRow* Engine::answer_to(std::string_view caller, std::string_view operation,
                                        std::string_view key) const {
  const auto found = tables_->keys().find(engine::KeyId{caller, operation, key});
  if (found == tables_->keys().end() || found->expires_at <= tables_->now()) return nullptr;
  return &*found;
}

bool Engine::can_remember() const {
  return std::ssize(tables_->keys()) < tables_->limits.idempotency_keys;
}

void Engine::remember(engine::KeyRow row) {
  const auto old = tables_->keys().find(engine::id_of(row));
  if (old != tables_->keys().end()) tables_->drop_key(*old);
  row.number = ++tables_->edit_meta().key;
  tables_->add_key(std::move(row));
}

engine::Changes Engine::take_changes() { return tables_->take(); }
void Engine::undo(engine::Changes changes) { tables_->undo(std::move(changes)); }
void Engine::restore(const engine::Changes& changes) { tables_->restore(changes); }
void Engine::expect(std::size_t tasks) { tables_->expect(tasks); }
boost::intrusive_ptr<engine::Queue> Engine::queue(std::string_view name) {
  return &tables_->queue(name);
}
boost::intrusive_ptr<engine::Line> Engine::line(std::string_view queue, std::string_view user) {
  return tables_->line(tables_->queue(queue), user);
}
std::string Engine::dump() const { return tables_->dump(); }

}  // namespace retsu
