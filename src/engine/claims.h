#pragma once

#include "engine/tables.h"

// How workers get tasks, keep them and give them back.
namespace retsu::engine {

inline constexpr Millis kClosedClaimAge{kHour};

ClaimReply claim(Tables& tables, const Claim& command);
Result<SettleReply> settle(Tables& tables, const Settle& command);
Result<ExtendReply> extend(Tables& tables, const Extend& command);
Released release_claim(Tables& tables, const ReleaseClaim& command);
Released release_older(Tables& tables, const ReleaseOlder& command);
ClaimPage list_claims(const Tables& tables, const ListClaims& command);

// The lease has run out: what the claim holds goes back or counts as failed.
void expire_lease(Tables& tables, ClaimNode& claim);
// A STARTED task has run for too long.
void time_out(Tables& tables, TaskNode& task);

}  // namespace retsu::engine
