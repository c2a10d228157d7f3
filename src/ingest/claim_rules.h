// What the operations of workers may say.
#pragma once

#include "ingest/task_rules.h"
#include "model/claim_operations.h"

namespace retsu::rules {

constexpr auto rules_of(For<Claim>) {
  return List{Rule{"queues", &Claim::queues, EachDistinct{kQueueName, &Limits::claim_names}},
              Rule{"users", &Claim::users, Each{kId, &Limits::claim_names}},
              Rule{"steal", &Claim::steal, Each{kId, &Limits::claim_names}},
              Rule{"max", &Claim::max, UpTo{&Limits::claim}},
              Rule{"lease_ms", &Claim::lease_ms, Maybe{kLeaseDuration}},
              Rule{"wait_ms", &Claim::wait_ms, kWait},
              Rule{"worker", &Claim::worker, kShortLine},
              Rule{"claim_id", &Claim::claim_id, IfGiven{kId}}};
}
inline bool relations_hold(Checking& run, const Claim& claim) {
  return !claim.queues.empty() || run.fail_at("queues", "there must be at least one");
}

constexpr auto rules_of(For<SettleOne>) {
  return List{Rule{"id", &SettleOne::id, kId},
              Rule{"fence", &SettleOne::fence, Maybe{Between{0, kAnyNumber}}},
              Rule{"outcome", &SettleOne::outcome, Anything{}},
              Rule{"result", &SettleOne::result, IfGiven{JsonValue{&Limits::result_bytes}}},
              Rule{"error", &SettleOne::error, Prose{&Limits::error_bytes}},
              Rule{"retryable", &SettleOne::retryable, Anything{}},
              Rule{"retry_after_ms", &SettleOne::retry_after_ms, Maybe{kAnyDuration}},
              Rule{"children", &SettleOne::children, Each{Nested{}, &Limits::dependencies}}};
}

// Which fields go with which outcome.
inline bool relations_hold(Checking& run, const SettleOne& one) {
  const bool finishes = one.outcome == Outcome::kFinish;
  const bool fails = one.outcome == Outcome::kFail || one.outcome == Outcome::kThrottle;
  const bool awaits = one.outcome == Outcome::kAwait;
  struct Relation {
    std::string_view field;
    bool given;
    bool allowed;
    std::string_view outcomes;
  };
  for (const Relation& row : {
           Relation{"result", !one.result.empty(), finishes, "finish"},
           Relation{"error", !one.error.empty(), fails, "fail or throttle"},
           Relation{"retryable", !one.retryable, fails, "fail or throttle"},
           Relation{"retry_after_ms", one.retry_after_ms.has_value(), fails, "fail or throttle"},
           Relation{"children", !one.children.empty(), awaits, "await"},
       }) {
    if (!row.given || row.allowed) continue;
    return run.fail_at(row.field, "only goes with the outcome " + std::string(row.outcomes));
  }
  return !awaits || !one.children.empty() ||
         run.fail_at("children", "the outcome await needs at least one");
}

constexpr auto rules_of(For<Settle>) {
  return List{Rule{"claim_id", &Settle::claim_id, kId},
              Rule{"results", &Settle::results, Each{Nested{}, &Limits::batch}},
              Rule{"all", &Settle::all, Anything{}}};
}
inline bool relations_hold(Checking& run, const Settle& settle) {
  if (settle.results.empty() != settle.all.has_value())
    return run.fail("give either results, at least one, or all");
  return settle.all != Outcome::kAwait ||
         run.fail_at("all", "await cannot be said of all; give each task its children in results");
}

constexpr auto rules_of(For<Extend>) {
  return List{Rule{"claim_id", &Extend::claim_id, kId},
              Rule{"lease_ms", &Extend::lease_ms, Maybe{kLeaseDuration}},
              Rule{"progress", &Extend::progress,
                   EachById{JsonValue{&Limits::progress_bytes}, &Limits::claim}}};
}

constexpr auto rules_of(For<ReleaseClaim>) {
  return List{Rule{"claim_id", &ReleaseClaim::claim_id, kId}};
}

constexpr auto rules_of(For<ReleaseOlder>) {
  return List{Rule{"older_than_ms", &ReleaseOlder::older_than_ms, kAnyDuration}};
}

constexpr auto rules_of(For<ListClaims>) {
  return List{Rule{"limit", &ListClaims::limit, UpTo{&Limits::page}},
              Rule{"cursor", &ListClaims::cursor, NumberCursor{}}};
}

}  // namespace retsu::rules
