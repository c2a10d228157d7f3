#include <algorithm>

#include "base/check.h"
#include "engine/tables.h"

namespace retsu::engine {
namespace {

bool is_open(Hold hold) { return hold <= Hold::kTimedOut; }

}  // namespace

const MemberRow* ClaimNode::member(std::int64_t fence) const {
  const auto place = std::ranges::lower_bound(members, fence, {}, &MemberRow::fence);
  return place != members.end() && place->fence == fence ? &*place : nullptr;
}

ClaimNode* Tables::find_claim(std::string_view id) const {
  const auto found = claim_ids_.find(id);
  return found == claim_ids_.end() ? nullptr : found->second;
}

ClaimNode& Tables::set_claim(ClaimRow row) {
  const auto found = claims_.find(row.number);
  std::optional<ClaimRow> before;
  if (found != claims_.end()) before = found->second->row;
  const std::uint64_t number = row.number;
  change<ClaimRow>(std::move(before), std::move(row));
  return *claims_.find(number)->second;
}

void Tables::remove_claim(ClaimNode& claim) {
  while (!claim.members.empty()) drop_member(claim, claim.members.back().fence);
  change<ClaimRow>(claim.row, std::nullopt);
}

void Tables::put(const std::optional<ClaimRow>& from, const std::optional<ClaimRow>& to) {
  if (!from) {
    auto claim = std::make_unique<ClaimNode>(ClaimNode{*to, {}, 0, 0});
    claim_ids_.emplace(claim->row.id.view(), claim.get());
    index_claim(*claim, +1);
    claims_.emplace(to->number, std::move(claim));
    return;
  }
  const auto found = claims_.find(from->number);
  ClaimNode& claim = *found->second;
  index_claim(claim, -1);
  if (to) {
    // The name in the index is the row's own bytes.
    claim_ids_.erase(claim.row.id.view());
    claim.row = *to;
    claim_ids_.emplace(claim.row.id.view(), &claim);
    index_claim(claim, +1);
  } else {
    RETSU_CHECK(claim.members.empty());
    claim_ids_.erase(claim.row.id.view());
    claims_.erase(found);
  }
}

void Tables::index_claim(ClaimNode& claim, int by) {
  const ClaimRow& row = claim.row;
  const auto place = [&](auto& order, TimePoint time) {
    by > 0 ? void(order.emplace(time, row.number)) : void(order.erase({time, row.number}));
  };
  if (row.closed_at != kNever) {
    place(closed_claims_, row.closed_at);
  } else if (row.lease_until != kNever) {
    place(leases_, row.lease_until);
  }
}

void Tables::set_member(ClaimNode& claim, MemberRow row, TaskNode* node) {
  Line& line = *row.line;
  std::optional<MemberRow> after(std::move(row));
  std::optional<MemberRow> before = replace_member(claim, after->fence, after, node);
  log<MemberRow>(std::move(before), std::move(after));
  refresh_ring(line);
}

void Tables::drop_member(ClaimNode& claim, std::int64_t fence) {
  std::optional<MemberRow> before = replace_member(claim, fence, std::nullopt);
  Line& line = *before->line;
  log<MemberRow>(std::move(before), std::nullopt);
  refresh_ring(line);
}

void Tables::put(const std::optional<MemberRow>& from, const std::optional<MemberRow>& to) {
  const MemberRow& row = to ? *to : *from;
  replace_member(*claims_.find(row.claim)->second, row.fence, to);
}

// What it was.
std::optional<MemberRow> Tables::replace_member(ClaimNode& claim, std::int64_t fence,
                                                const std::optional<MemberRow>& to,
                                                TaskNode* node) {
  const auto place = std::ranges::lower_bound(claim.members, fence, {}, &MemberRow::fence);
  std::optional<MemberRow> was;
  if (place != claim.members.end() && place->fence == fence) {
    index_member(claim, *place, -1);
    was = std::move(*place);
  }
  if (to) index_member(claim, *to, +1);
  if (was && to) {
    *place = {*to, node};
  } else if (was) {
    claim.members.erase(place);
  } else {
    claim.members.insert(place, {*to, node});
  }
  return was;
}

void Tables::index_member(ClaimNode& claim, const MemberRow& member, int by) {
  if (member.hold == Hold::kHeld) claim.held += by;
  if (!is_open(member.hold)) settled_tasks_ += by;
  if (!is_open(member.hold)) return;
  claim.open += by;
  member.line->permits += by;
  member.line->queue->permits += by;
  member.line->queue->runs += by;
}

}  // namespace retsu::engine
