// The public structs as JSON: one table each, as the library's own have. tables_test.cc holds them
// against those.
#pragma once

#include "api/json_text.h"
#include "base/json.h"
#include "model/operations.h"
#include "retsu/error.h"
#include "retsu/operations.h"

namespace retsu {

// A duration is written as the number of its milliseconds.
inline bool read_json(JsonReader& in, Millis& value) {
  std::int64_t count = 0;
  if (!in.read_integer(count)) return false;
  value = Millis(count);
  return true;
}
inline void write_json(JsonWriter& to, const Millis& value) { to.integer(value.count()); }

}  // namespace retsu

namespace retsu_api {

using retsu::Field;
using retsu::kRequired;
using retsu::List;

Error to_public(const retsu::Error& error);

// An Error has no default, so it is read where it may be absent.
bool read_json(retsu::JsonReader& in, std::optional<Error>& value);
void write_json(retsu::JsonWriter& to, const std::optional<Error>& value);

bool read_json(retsu::JsonReader& in, Dependency& value);
void write_json(retsu::JsonWriter& to, const Dependency& value);

bool read_json(retsu::JsonReader& in, Aging& value);
void write_json(retsu::JsonWriter& to, const Aging& value);

// The names of the library's enum, for a public one with the same values.
template <class Public, class Own>
constexpr auto names_as_in() {
  constexpr auto kOwn = names_of(std::type_identity<Own>{});
  std::array<retsu::Named<Public>, kOwn.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = {kOwn[i].name, static_cast<Public>(kOwn[i].value)};
  }
  return names;
}
constexpr auto names_of(std::type_identity<State>) { return names_as_in<State, retsu::State>(); }
constexpr auto names_of(std::type_identity<When>) { return names_as_in<When, retsu::When>(); }
constexpr auto names_of(std::type_identity<OnDependencyFailure>) {
  return names_as_in<OnDependencyFailure, retsu::OnDependencyFailure>();
}
constexpr auto names_of(std::type_identity<OnDependencyCancel>) {
  return names_as_in<OnDependencyCancel, retsu::OnDependencyCancel>();
}
constexpr auto names_of(std::type_identity<Placement>) {
  return names_as_in<Placement, retsu::Placement>();
}
constexpr auto names_of(std::type_identity<RetryKind>) {
  return names_as_in<RetryKind, retsu::RetryKind>();
}
constexpr auto names_of(std::type_identity<OutcomeKind>) {
  return names_as_in<OutcomeKind, retsu::Outcome>();
}

// Policies.
constexpr auto fields_of(std::type_identity<Retry>) {
  return List{Field{"kind", &Retry::kind},     Field{"base_ms", &Retry::base},
              Field{"factor", &Retry::factor}, Field{"max_ms", &Retry::max},
              Field{"jitter", &Retry::jitter}, Field{"max_attempts", &Retry::max_attempts}};
}
constexpr auto fields_of(std::type_identity<Rate>) {
  return List{Field{"limit", &Rate::limit}, Field{"per_ms", &Rate::per},
              Field{"burst", &Rate::burst}};
}
constexpr auto fields_of(std::type_identity<Breaker>) {
  return List{Field{"after", &Breaker::after}};
}
constexpr auto fields_of(std::type_identity<Retention>) {
  return List{Field{"finished_ms", &Retention::finished},
              Field{"canceled_ms", &Retention::canceled}, Field{"failed_ms", &Retention::failed},
              Field{"max_tasks", &Retention::max_tasks}, Field{"max_bytes", &Retention::max_bytes}};
}
constexpr auto fields_of(std::type_identity<QueuePolicy>) {
  return List{Field{"concurrency", &QueuePolicy::concurrency},
              Field{"interval_ms", &QueuePolicy::interval},
              Field{"rate", &QueuePolicy::rate},
              Field{"throttle_ms", &QueuePolicy::throttle},
              Field{"max_hold_ms", &QueuePolicy::max_hold},
              Field{"retry", &QueuePolicy::retry},
              Field{"breaker", &QueuePolicy::breaker},
              Field{"lease_ms", &QueuePolicy::lease},
              Field{"timeout_ms", &QueuePolicy::timeout},
              Field{"aging_ms", &QueuePolicy::aging},
              Field{"paused", &QueuePolicy::paused},
              Field{"await_keeps_permit", &QueuePolicy::await_keeps_permit},
              Field{"retention", &QueuePolicy::retention}};
}
constexpr auto fields_of(std::type_identity<QueueInfo>) {
  return List{Field{"queue", &QueueInfo::queue},
              Field{"", &QueueInfo::policy},
              Field{"tasks", &QueueInfo::tasks},
              Field{"running", &QueueInfo::running},
              Field{"waiting_bytes", &QueueInfo::waiting_bytes},
              Field{"users", &QueueInfo::users},
              Field{"oldest_age_ms", &QueueInfo::oldest_age},
              Field{"hold_until", &QueueInfo::hold_until},
              Field{"per_minute", &QueueInfo::per_minute},
              Field{"counters", &QueueInfo::counters}};
}
struct PutQueueBody {
  std::string queue;
  QueuePolicy policy;
};
constexpr auto fields_of(std::type_identity<PutQueueBody>) {
  return List{Field{"queue", &PutQueueBody::queue, kRequired}, Field{"", &PutQueueBody::policy}};
}

// Tasks.
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
              Field{"timeout_ms", &NewTask::timeout},
              Field{"max_attempts", &NewTask::max_attempts},
              Field{"retry", &NewTask::retry},
              Field{"expires_at", &NewTask::expires_at},
              Field{"tags", &NewTask::tags},
              Field{"trace", &NewTask::trace}};
}
constexpr auto fields_of(std::type_identity<Attempt>) {
  return List{Field{"attempt", &Attempt::attempt},       Field{"outcome", &Attempt::outcome},
              Field{"started_at", &Attempt::started_at}, Field{"ended_at", &Attempt::ended_at},
              Field{"worker", &Attempt::worker},         Field{"error", &Attempt::error}};
}
constexpr auto fields_of(std::type_identity<Task>) {
  return List{Field{"id", &Task::id},
              Field{"state", &Task::state},
              Field{"retrying", &Task::retrying},
              Field{"queue", &Task::queue},
              Field{"user", &Task::user},
              Field{"type", &Task::type},
              Field{"priority", &Task::priority},
              Field{"payload", &Task::payload},
              Field{"attempts", &Task::attempts},
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
              Field{"timeout_ms", &Task::timeout},
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
constexpr auto fields_of(std::type_identity<Input>) {
  return List{Field{"state", &Input::state}, Field{"result", &Input::result}};
}
constexpr auto fields_of(std::type_identity<ClaimedTask>) {  // claim_id is the claim's
  return List{Field{"id", &ClaimedTask::id},
              Field{"queue", &ClaimedTask::queue},
              Field{"user", &ClaimedTask::user},
              Field{"type", &ClaimedTask::type},
              Field{"priority", &ClaimedTask::priority},
              Field{"payload", &ClaimedTask::payload},
              Field{"fence", &ClaimedTask::fence},
              Field{"attempt", &ClaimedTask::attempt},
              Field{"max_attempts", &ClaimedTask::max_attempts},
              Field{"created_at", &ClaimedTask::created_at},
              Field{"timeout_at", &ClaimedTask::timeout_at},
              Field{"inputs", &ClaimedTask::inputs},
              Field{"unique_key", &ClaimedTask::unique_key},
              Field{"tags", &ClaimedTask::tags},
              Field{"trace", &ClaimedTask::trace},
              Field{"progress", &ClaimedTask::progress}};
}

// Requests and answers.
constexpr auto fields_of(std::type_identity<Pushed>) {
  return List{Field{"id", &Pushed::id}, Field{"state", &Pushed::state},
              Field{"created", &Pushed::created}, Field{"error", &Pushed::error}};
}
struct PushBody {
  std::vector<NewTask> tasks;
  bool partial = false;
};
constexpr auto fields_of(std::type_identity<PushBody>) {
  return List{Field{"tasks", &PushBody::tasks, kRequired}, Field{"partial", &PushBody::partial}};
}
struct PushAnswer {
  std::vector<Pushed> tasks;
};
constexpr auto fields_of(std::type_identity<PushAnswer>) {
  return List{Field{"tasks", &PushAnswer::tasks}};
}
constexpr auto fields_of(std::type_identity<ClaimRequest>) {
  return List{Field{"queues", &ClaimRequest::queues},  Field{"users", &ClaimRequest::users},
              Field{"steal", &ClaimRequest::steal},    Field{"max", &ClaimRequest::max},
              Field{"lease_ms", &ClaimRequest::lease}, Field{"wait_ms", &ClaimRequest::wait},
              Field{"worker", &ClaimRequest::worker},  Field{"claim_id", &ClaimRequest::claim_id}};
}
constexpr auto fields_of(std::type_identity<Claim>) {
  return List{Field{"claim_id", &Claim::claim_id}, Field{"tasks", &Claim::tasks},
              Field{"lease_until", &Claim::lease_until}, Field{"remaining", &Claim::remaining},
              Field{"next_at", &Claim::next_at}};
}
constexpr auto fields_of(std::type_identity<Outcome>) {
  return List{Field{"id", &Outcome::id, kRequired},
              Field{"fence", &Outcome::fence},
              Field{"outcome", &Outcome::kind, kRequired},
              Field{"result", &Outcome::result},
              Field{"error", &Outcome::error},
              Field{"retryable", &Outcome::retryable},
              Field{"retry_after_ms", &Outcome::retry_after},
              Field{"children", &Outcome::children}};
}
struct SettleBody {
  std::string claim_id;
  std::vector<Outcome> results;
  std::optional<OutcomeKind> all;
};
constexpr auto fields_of(std::type_identity<SettleBody>) {
  return List{Field{"claim_id", &SettleBody::claim_id, kRequired},
              Field{"results", &SettleBody::results}, Field{"all", &SettleBody::all}};
}
constexpr auto fields_of(std::type_identity<Settled>) {
  return List{Field{"id", &Settled::id}, Field{"ok", &Settled::ok}, Field{"state", &Settled::state},
              Field{"error", &Settled::error}};
}
struct SettleAnswer {
  std::vector<Settled> results;
};
constexpr auto fields_of(std::type_identity<SettleAnswer>) {
  return List{Field{"results", &SettleAnswer::results}};
}
struct ExtendBody {
  std::string claim_id;
  ExtendOptions options;
};
constexpr auto fields_of(std::type_identity<ExtendOptions>) {
  return List{Field{"lease_ms", &ExtendOptions::lease},
              Field{"progress", &ExtendOptions::progress}};
}
constexpr auto fields_of(std::type_identity<ExtendBody>) {
  return List{Field{"claim_id", &ExtendBody::claim_id, kRequired}, Field{"", &ExtendBody::options}};
}
constexpr auto fields_of(std::type_identity<Extended>) {
  return List{Field{"lease_until", &Extended::lease_until}, Field{"canceled", &Extended::canceled},
              Field{"lost", &Extended::lost}};
}
constexpr auto fields_of(std::type_identity<WhyCause>) {
  return List{Field{"cause", &WhyCause::cause}, Field{"detail", &WhyCause::detail},
              Field{"until", &WhyCause::until}};
}
constexpr auto fields_of(std::type_identity<Why>) {
  return List{Field{"state", &Why::state}, Field{"causes", &Why::causes}};
}
constexpr auto fields_of(std::type_identity<Stats>) {
  return List{Field{"now", &Stats::now},
              Field{"draining", &Stats::draining},
              Field{"tasks", &Stats::tasks},
              Field{"counters", &Stats::counters},
              Field{"queues", &Stats::queues},
              Field{"users", &Stats::users},
              Field{"claims", &Stats::claims},
              Field{"schedules", &Stats::schedules},
              Field{"xcom", &Stats::xcom},
              Field{"edges", &Stats::edges},
              Field{"remembered_ids", &Stats::remembered_ids},
              Field{"idempotency_keys", &Stats::idempotency_keys}};
}

template <class Body>
std::string to_text(const Body& body) {
  std::string text;
  retsu::append_json(text, body);
  return text;
}

template <class Answer>
Answer from_text(std::string_view text) {
  auto answer = retsu::from_json<Answer>(text, {.skip_unknown = true});
  if (!answer) throw Error("invalid", "the answer cannot be read: " + answer.error().message);
  return *std::move(answer);
}

}  // namespace retsu_api
