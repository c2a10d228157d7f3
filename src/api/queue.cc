#include "retsu/queue.h"

#include <utility>

#include "api/door.h"
#include "api/tables.h"

namespace retsu_api {
namespace {

// For operations on one task.
std::string of_id(const std::string& id) { return Json::object({{"id", id}}).text(); }
std::string of_queue(const std::string& queue) { return Json::object({{"queue", queue}}).text(); }

retsu::Context with_key(const std::string& idempotency_key) {
  retsu::Context context;
  if (!idempotency_key.empty()) context.idempotency_key = idempotency_key;
  return context;
}

}  // namespace

Queue::Queue(std::unique_ptr<Door> door) : door_(std::move(door)) {}
Queue::Queue(Queue&& other) noexcept = default;
Queue& Queue::operator=(Queue&& other) noexcept = default;
Queue::~Queue() = default;

Queue::Door& Queue::door() const {
  if (door_) return *door_;
  throw Error("invalid", "this queue was moved to another handle");
}

Json Queue::call(std::string_view operation, const Json& body, const std::string& idempotency_key) {
  return Json::parse(door().call(operation, body.text(), with_key(idempotency_key)).body);
}

Pushed Queue::push(NewTask task, const PushOptions& options) {
  std::vector<NewTask> tasks;
  tasks.push_back(std::move(task));
  Pushed pushed = std::move(push_all(std::move(tasks), options).at(0));
  if (pushed.error) throw *pushed.error;
  return pushed;
}

std::vector<Pushed> Queue::push_all(std::vector<NewTask> tasks, const PushOptions& options) {
  const auto answer = door().call("push", to_text(PushBody{std::move(tasks), options.partial}),
                                  with_key(options.idempotency_key));
  auto pushed = from_text<PushAnswer>(answer.body).tasks;
  for (Pushed& each : pushed) each.replayed = answer.replayed;
  return pushed;
}

Claim Queue::claim(const ClaimRequest& request, const std::stop_token& stop) {
  retsu::Context context;
  context.stop = stop;
  std::string body;
  try {
    body = door().call("claim", to_text(request), std::move(context)).body;
  } catch (const Error& error) {
    if (stop.stop_requested() && error.code() == "shutdown") return {};  // nothing was claimed
    throw;
  }
  auto claim = from_text<Claim>(body);
  for (ClaimedTask& task : claim.tasks) task.claim_id = claim.claim_id;
  return claim;
}

State Queue::settle_one(const ClaimedTask& task, Outcome outcome) {
  outcome.id = task.id;
  outcome.fence = task.fence;
  SettleBody body{task.claim_id, {}, {}};
  body.results.push_back(std::move(outcome));
  const auto answer = from_text<SettleAnswer>(door().call("settle", to_text(body)).body);
  const Settled& settled = answer.results.at(0);
  if (settled.error) throw *settled.error;
  return settled.state.value_or(State::kQueued);
}

State Queue::finish(const ClaimedTask& task, Json result) {
  return settle_one(task, retsu_api::finish(std::move(result)));
}
State Queue::fail(const ClaimedTask& task, std::string error, const FailOptions& options) {
  return settle_one(task, retsu_api::fail(std::move(error), options));
}
State Queue::release(const ClaimedTask& task) { return settle_one(task, retsu_api::release()); }
State Queue::throttle(const ClaimedTask& task, std::optional<Duration> retry_after) {
  return settle_one(task, retsu_api::throttle(retry_after));
}
State Queue::await(const ClaimedTask& task, std::vector<NewTask> children) {
  return settle_one(task, retsu_api::await(std::move(children)));
}

std::vector<Settled> Queue::settle(const Claim& claim, std::vector<Outcome> outcomes) {
  const SettleBody body{claim.claim_id, std::move(outcomes), {}};
  return from_text<SettleAnswer>(door().call("settle", to_text(body)).body).results;
}

std::vector<Settled> Queue::settle_all(const Claim& claim, OutcomeKind kind) {
  const SettleBody body{claim.claim_id, {}, kind};
  return from_text<SettleAnswer>(door().call("settle", to_text(body)).body).results;
}

Extended Queue::extend(const Claim& claim, const ExtendOptions& options) {
  return from_text<Extended>(
      door().call("extend", to_text(ExtendBody{claim.claim_id, options})).body);
}

std::int64_t Queue::release(const Claim& claim) {
  return call("release_claim", {{"claim_id", claim.claim_id}}).at("released").as_int();
}

Task Queue::get_task(const std::string& id, Duration wait) {
  const Json body = {{"id", id}, {"wait_ms", wait.count()}};
  return from_text<Task>(door().call("get_task", body.text()).body);
}

Why Queue::why(const std::string& id) { return from_text<Why>(door().call("why", of_id(id)).body); }

Task Queue::cancel_task(const std::string& id) {
  return from_text<Task>(door().call("cancel_task", of_id(id)).body);
}

Task Queue::retry_task(const std::string& id) {
  return from_text<Task>(door().call("retry_task", of_id(id)).body);
}

QueueInfo Queue::get_queue(const std::string& queue) {
  return from_text<QueueInfo>(door().call("get_queue", of_queue(queue)).body);
}

QueueInfo Queue::put_queue(const std::string& queue, const QueuePolicy& policy) {
  return from_text<QueueInfo>(door().call("put_queue", to_text(PutQueueBody{queue, policy})).body);
}

Stats Queue::stats() { return from_text<Stats>(door().call("stats", "{}").body); }

}  // namespace retsu_api
