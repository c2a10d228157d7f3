// The fields of every row, for whatever stores or shows rows. Their order is part of the journal's
// format: new ones go to the end.
#pragma once

#include "base/fields.h"
#include "engine/nodes.h"

namespace retsu::engine {

constexpr auto names_of(std::type_identity<Band>) {
  using enum Band;
  return std::to_array<Named<Band>>({{"front", kFront}, {"critical", kCritical}, {"rest", kRest}});
}
constexpr auto names_of(std::type_identity<Hold>) {
  using enum Hold;
  return std::to_array<Named<Hold>>({{"held", kHeld},
                                     {"canceled", kCanceled},
                                     {"timed_out", kTimedOut},
                                     {"settled", kSettled},
                                     {"lost", kLost},
                                     {"closed", kClosed}});
}

constexpr auto fields_of(std::type_identity<Options>) {
  return List{
      Field{"unique_key", &Options::unique_key},
      Field{"timeout_ms", &Options::timeout_ms},
      Field{"max_attempts", &Options::max_attempts},
      Field{"retry", &Options::retry},
      Field{"expires_at", &Options::expires_at},
      Field{"tags", &Options::tags},
      Field{"trace", &Options::trace},
      Field{"on_dependency_failure", &Options::on_dependency_failure},
      Field{"on_dependency_cancel", &Options::on_dependency_cancel},
  };
}
constexpr auto fields_of(std::type_identity<Run>) {
  return List{
      Field{"attempts", &Run::attempts},     Field{"expired_leases", &Run::expired_leases},
      Field{"fence", &Run::fence},           Field{"claim_id", &Run::claim_id},
      Field{"worker", &Run::worker},         Field{"run_at", &Run::run_at},
      Field{"started_at", &Run::started_at}, Field{"timeout_at", &Run::timeout_at},
      Field{"ended_at", &Run::ended_at},     Field{"result", &Run::result},
      Field{"progress", &Run::progress},     Field{"error", &Run::error},
      Field{"reason", &Run::reason},         Field{"retryable", &Run::retryable},
      Field{"history", &Run::history},
  };
}
constexpr auto fields_of(std::type_identity<TaskRow>) {
  return List{
      Field{"sequence", &TaskRow::sequence},
      Field{"id", &TaskRow::id, kFixed},
      Field{"line", &TaskRow::line},
      Field{"state", &TaskRow::state},
      Field{"type", &TaskRow::type, kFixed},
      Field{"priority", &TaskRow::priority},
      Field{"payload", &TaskRow::payload, kFixed},
      Field{"created_at", &TaskRow::created_at},
      Field{"queued_at", &TaskRow::queued_at},
      Field{"run", &TaskRow::run},
      Field{"options", &TaskRow::options},
      Field{"order_key", &TaskRow::key},
      Field{"band", &TaskRow::band},
      Field{"pushed_front", &TaskRow::pushed_front},
      Field{"to_front", &TaskRow::to_front},
      Field{"id_generated", &TaskRow::id_generated},
      Field{"keeps_permit", &TaskRow::keeps_permit},
      Field{"overdue", &TaskRow::overdue},
  };
}
constexpr auto fields_of(std::type_identity<EdgeRow>) {
  return List{
      Field{"sequence", &EdgeRow::sequence}, Field{"position", &EdgeRow::position},
      Field{"task", &EdgeRow::dependent},    Field{"depends_on", &EdgeRow::target},
      Field{"condition", &EdgeRow::when},    Field{"met", &EdgeRow::met},
      Field{"missing", &EdgeRow::missing},   Field{"gone", &EdgeRow::gone},
  };
}
constexpr auto fields_of(std::type_identity<ClaimRow>) {
  return List{
      Field{"number", &ClaimRow::number},       Field{"id", &ClaimRow::id},
      Field{"worker", &ClaimRow::worker},       Field{"claimed_at", &ClaimRow::claimed_at},
      Field{"lease_ms", &ClaimRow::lease_ms},   Field{"lease_until", &ClaimRow::lease_until},
      Field{"closed_at", &ClaimRow::closed_at},
  };
}
constexpr auto fields_of(std::type_identity<MemberRow>) {
  return List{
      Field{"fence", &MemberRow::fence}, Field{"claim", &MemberRow::claim},
      Field{"task", &MemberRow::task},   Field{"line", &MemberRow::line},
      Field{"hold", &MemberRow::hold},   Field{"outcome", &MemberRow::outcome},
      Field{"state", &MemberRow::state},
  };
}
constexpr auto fields_of(std::type_identity<QueueRow>) {
  return List{
      Field{"present", &QueueRow::exists},
      Field{"policy", &QueueRow::policy},
      Field{"served", &QueueRow::served},
      Field{"level", &QueueRow::level},
      Field{"level_at", &QueueRow::level_at},
      Field{"hold_until", &QueueRow::hold_until},
      Field{"throttles", &QueueRow::throttles},
      Field{"longest_named_ms", &QueueRow::longest_named_ms},
      Field{"last_end", &QueueRow::last_end},
      Field{"minute", &QueueRow::minute},
      Field{"this_minute", &QueueRow::this_minute},
      Field{"last_minute", &QueueRow::last_minute},
      Field{"counters", &QueueRow::counters},
  };
}
constexpr auto fields_of(std::type_identity<Waits>) {
  return List{Field{"buckets", &Waits::buckets}, Field{"total", &Waits::total}};
}
constexpr auto fields_of(std::type_identity<LineRow>) {
  return List{
      Field{"place", &LineRow::place},
      Field{"turns", &LineRow::turns},
      Field{"started", &LineRow::started},
      Field{"waits", &LineRow::waits},
  };
}
constexpr auto fields_of(std::type_identity<SettingsRow>) {
  return List{Field{"queue", &SettingsRow::queue}, Field{"user", &SettingsRow::user},
              Field{"settings", &SettingsRow::settings}};
}
constexpr auto fields_of(std::type_identity<TombstoneRow>) {
  return List{Field{"sequence", &TombstoneRow::sequence}, Field{"id", &TombstoneRow::id},
              Field{"state", &TombstoneRow::state}, Field{"expires_at", &TombstoneRow::expires_at}};
}
constexpr auto fields_of(std::type_identity<AliasRow>) {
  return List{Field{"id", &AliasRow::id}, Field{"target", &AliasRow::target}};
}
constexpr auto fields_of(std::type_identity<ScheduleRow>) {
  return List{
      Field{"name", &ScheduleRow::name},           Field{"spec", &ScheduleRow::spec},
      Field{"anchor", &ScheduleRow::anchor},       Field{"next", &ScheduleRow::next},
      Field{"last_task", &ScheduleRow::last_task}, Field{"last_error", &ScheduleRow::last_error}};
}
constexpr auto fields_of(std::type_identity<XcomRow>) {
  return List{Field{"key", &XcomRow::key}, Field{"value", &XcomRow::value},
              Field{"expires_at", &XcomRow::expires_at}};
}
constexpr auto fields_of(std::type_identity<CascadeRow>) {
  return List{Field{"number", &CascadeRow::number},     Field{"target", &CascadeRow::target},
              Field{"state", &CascadeRow::state},       Field{"removed", &CascadeRow::removed},
              Field{"ended_at", &CascadeRow::ended_at}, Field{"told", &CascadeRow::told}};
}
constexpr auto fields_of(std::type_identity<KeyRow>) {
  return List{Field{"number", &KeyRow::number},           Field{"caller", &KeyRow::caller},
              Field{"operation", &KeyRow::operation},     Field{"key", &KeyRow::key},
              Field{"fingerprint", &KeyRow::fingerprint}, Field{"reply", &KeyRow::reply},
              Field{"expires_at", &KeyRow::expires_at}};
}
constexpr auto fields_of(std::type_identity<MetaRow>) {
  return List{
      Field{"now", &MetaRow::now},
      Field{"sequence", &MetaRow::sequence},
      Field{"fence", &MetaRow::fence},
      Field{"place", &MetaRow::place},
      Field{"served", &MetaRow::served},
      Field{"front", &MetaRow::front},
      Field{"claim", &MetaRow::claim},
      Field{"cascade", &MetaRow::cascade},
      Field{"draining", &MetaRow::draining},
      Field{"former", &MetaRow::former},
      Field{"idempotency_key", &MetaRow::key},
  };
}

}  // namespace retsu::engine
