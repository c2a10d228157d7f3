#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/error.h"
#include "model/task.h"

// Operations of workers. Each struct is a request; its Reply is the answer.
namespace retsu {

struct ClaimReply {
  std::string claim_id;
  std::vector<ClaimedTask> tasks;
  std::optional<TimePoint> lease_until;  // absent: until released
  std::int64_t remaining = 0;            // QUEUED for these queues and users, pace aside
  std::optional<TimePoint> next_at;      // when pace next lets one start

  bool operator==(const ClaimReply&) const = default;
};
struct Claim {
  using Reply = ClaimReply;
  std::vector<std::string> queues = {"default"};
  std::vector<std::string> users;  // empty: all
  std::vector<std::string> steal;  // served only when none of `users` has a task
  std::int64_t max = 1;
  std::optional<std::int64_t>
      lease_ms;  // absent: the queue's; of several queues the longest. 0: until released
  std::int64_t wait_ms = 0;
  std::string worker;
  std::string claim_id;  // empty: the broker chooses one
};

enum class Outcome : std::uint8_t { kFinish, kFail, kThrottle, kRelease, kAwait };
constexpr auto names_of(std::type_identity<Outcome>) {
  using enum Outcome;
  return std::to_array<Named<Outcome>>({{"finish", kFinish},
                                        {"fail", kFail},
                                        {"throttle", kThrottle},
                                        {"release", kRelease},
                                        {"await", kAwait}});
}

struct SettleOne {
  std::string id;
  std::optional<std::int64_t> fence;  // absent: the one of this claim
  Outcome outcome = Outcome::kFinish;
  Json result;
  std::string error;
  bool retryable = true;
  std::optional<std::int64_t> retry_after_ms;
  std::vector<NewTask> children;
};
struct Settled {
  std::string id;
  bool ok = false;
  std::optional<State> state;
  std::optional<Error> error;
  bool operator==(const Settled&) const = default;
};
struct SettleReply {
  std::vector<Settled> results;
  bool operator==(const SettleReply&) const = default;
};
struct Settle {
  using Reply = SettleReply;
  std::string claim_id;
  std::vector<SettleOne> results;
  std::optional<Outcome> all;  // instead of results: everything that the claim holds
};

struct ExtendReply {
  std::optional<TimePoint> lease_until;
  std::vector<std::string> canceled;
  std::vector<std::string> lost;
  bool operator==(const ExtendReply&) const = default;
};
struct Extend {
  using Reply = ExtendReply;
  std::string claim_id;
  std::optional<std::int64_t> lease_ms;  // absent: as long as it was claimed for
  std::map<std::string, Json> progress;
};

struct Released {
  std::int64_t released = 0;
  bool operator==(const Released&) const = default;
};
struct ReleaseClaim {
  using Reply = Released;
  std::string claim_id;
};
struct ReleaseOlder {
  using Reply = Released;
  std::int64_t older_than_ms = 0;
};

struct ClaimInfo {
  std::string claim_id;
  std::string worker;
  TimePoint claimed_at;
  std::optional<TimePoint> lease_until;
  std::vector<std::string> tasks;  // the ids that it holds
  bool operator==(const ClaimInfo&) const = default;
};
struct ClaimPage {
  std::vector<ClaimInfo> claims;
  std::optional<std::string> next_cursor;
  bool operator==(const ClaimPage&) const = default;
};
struct ListClaims {
  using Reply = ClaimPage;
  std::int64_t limit = 100;
  std::string cursor;
};

constexpr auto fields_of(std::type_identity<ClaimReply>) {
  return List{Field{"claim_id", &ClaimReply::claim_id},
              Field{"tasks", &ClaimReply::tasks, kAlwaysShown},
              Field{"lease_until", &ClaimReply::lease_until},
              Field{"remaining", &ClaimReply::remaining, kAlwaysShown},
              Field{"next_at", &ClaimReply::next_at}};
}
constexpr auto fields_of(std::type_identity<Claim>) {
  return List{Field{"queues", &Claim::queues},     Field{"users", &Claim::users},
              Field{"steal", &Claim::steal},       Field{"max", &Claim::max},
              Field{"lease_ms", &Claim::lease_ms}, Field{"wait_ms", &Claim::wait_ms},
              Field{"worker", &Claim::worker},     Field{"claim_id", &Claim::claim_id}};
}
constexpr auto fields_of(std::type_identity<SettleOne>) {
  return List{Field{"id", &SettleOne::id, kRequired},
              Field{"fence", &SettleOne::fence},
              Field{"outcome", &SettleOne::outcome, kRequired},
              Field{"result", &SettleOne::result},
              Field{"error", &SettleOne::error},
              Field{"retryable", &SettleOne::retryable},
              Field{"retry_after_ms", &SettleOne::retry_after_ms},
              Field{"children", &SettleOne::children}};
}
constexpr auto fields_of(std::type_identity<Settled>) {
  return List{Field{"id", &Settled::id}, Field{"ok", &Settled::ok, kAlwaysShown},
              Field{"state", &Settled::state}, Field{"error", &Settled::error}};
}
constexpr auto fields_of(std::type_identity<SettleReply>) {
  return List{Field{"results", &SettleReply::results, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<Settle>) {
  return List{Field{"claim_id", &Settle::claim_id, kRequired}, Field{"results", &Settle::results},
              Field{"all", &Settle::all}};
}
constexpr auto fields_of(std::type_identity<ExtendReply>) {
  return List{Field{"lease_until", &ExtendReply::lease_until, kAlwaysShown},
              Field{"canceled", &ExtendReply::canceled, kAlwaysShown},
              Field{"lost", &ExtendReply::lost, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<Extend>) {
  return List{Field{"claim_id", &Extend::claim_id, kRequired}, Field{"lease_ms", &Extend::lease_ms},
              Field{"progress", &Extend::progress}};
}
constexpr auto fields_of(std::type_identity<Released>) {
  return List{Field{"released", &Released::released, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<ReleaseClaim>) {
  return List{Field{"claim_id", &ReleaseClaim::claim_id, kRequired}};
}
constexpr auto fields_of(std::type_identity<ReleaseOlder>) {
  return List{Field{"older_than_ms", &ReleaseOlder::older_than_ms, kRequired}};
}
constexpr auto fields_of(std::type_identity<ClaimInfo>) {
  return List{Field{"claim_id", &ClaimInfo::claim_id}, Field{"worker", &ClaimInfo::worker},
              Field{"claimed_at", &ClaimInfo::claimed_at},
              Field{"lease_until", &ClaimInfo::lease_until},
              Field{"tasks", &ClaimInfo::tasks, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<ClaimPage>) {
  return List{Field{"claims", &ClaimPage::claims, kAlwaysShown},
              Field{"next_cursor", &ClaimPage::next_cursor, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<ListClaims>) {
  return List{Field{"limit", &ListClaims::limit}, Field{"cursor", &ListClaims::cursor}};
}

}  // namespace retsu
