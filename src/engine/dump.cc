#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/queries.h"
#include "engine/tables.h"
#include "engine/times.h"
#include "model/json.h"

namespace retsu::engine {
namespace {

template <class T>
std::string json(const T& value) {
  std::string text;
  append_json(text, value);
  return text;
}

std::string ids(const TaskOrder& order) {
  std::string text;
  for (const TaskNode& task : order) text += fmt::format(" {}", task.row.id.view());
  return text;
}

template <class Tasks>
std::string ids_of(const Tasks& tasks) {
  std::string text;
  for (const TaskNode* task : tasks) text += fmt::format(" {}", task->row.id.view());
  return text;
}

template <class Map>
auto sorted(const Map& map) {
  std::vector<const typename Map::value_type*> entries;
  for (const auto& entry : map) entries.push_back(&entry);
  std::ranges::sort(entries, {}, [](const auto* entry) { return std::string_view(entry->first); });
  return entries;
}

class Dump {
 public:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void dump_line(Dump& out, const Line& line) {
  if (line.stored == 0 && line.permits == 0 && line.row == LineRow{}) return;
  out.line("  line {} place {} turns {} started {} waits {} p50 {} p95 {}", line.user.view(),
           line.row.place, line.row.turns, line.row.started, line.row.waits.total,
           line.row.waits.quantile(0.5).value_or(-1), line.row.waits.quantile(0.95).value_or(-1));
  out.line("    stored {} queued {} waiting {} bytes {} permits {} weight {} cap {} ready{}",
           line.stored, line.queued, line.waiting, line.waiting_bytes, line.permits,
           line.due.weight, line.due.max_running, ids(line.ready));
}

void dump_queue(Dump& out, const Queue& queue) {
  const QueueRow& row = queue.row;
  const bool in_use = row.exists || std::ranges::any_of(queue.tasks, [](auto n) { return n != 0; });
  if (!in_use) return;
  out.line("queue {} exists {} policy {}", queue.name.view(), row.exists, json(queue.policy()));
  out.line("  served {} level {} at {} hold {} throttles {} named {} last_end {} minute {}",
           row.served, row.level, ms(row.level_at), ms(row.hold_until), row.throttles,
           row.longest_named_ms, ms(row.last_end), row.minute);
  std::string numbers;
  for (const auto n : row.this_minute) numbers += fmt::format(" {}", n);
  for (const auto n : row.last_minute) numbers += fmt::format(" {}", n);
  for (const auto n : row.counters) numbers += fmt::format(" {}", n);
  for (const auto n : queue.tasks) numbers += fmt::format(" {}", n);
  for (const auto& [second, n] : queue.queued_seconds) numbers += fmt::format(" {}:{}", second, n);
  out.line("  counts{}", numbers);
  out.line("  bytes {} permits {} runs {} kept{}", queue.waiting_bytes, queue.permits, queue.runs,
           ids_of(queue.kept));
  for (const Retained& retained : queue.retained) {
    out.line("  retained {} bytes {} due {}:{}", retained.tasks, retained.bytes, ms(retained.due),
             ids(retained.order));
  }
  std::string ring;
  for (const Line* line : queue.ring) ring += fmt::format(" {}", line->user.view());
  out.line("  ring{}", ring);
  for (const auto* entry : sorted(queue.lines)) dump_line(out, *entry->second);
}

void dump_task(Dump& out, const Tables& tables, const TaskNode& task) {
  const TaskRow& row = task.row;
  const Run& run = task.run();
  out.line("task {} {}", row.sequence, json(view(tables, task)));
  out.line("  key {} band {} to_front {} generated {} keeps {} overdue {} leases {} timeout {}",
           row.key, static_cast<int>(row.band), row.to_front, row.id_generated, row.keeps_permit,
           row.overdue, run.expired_leases, ms(run.timeout_at));
  for (const EdgeRow& edge : tables.edges(task)) {
    out.line("  edge {} to {} {} met {} missing {} gone {}", edge.position, edge.target.view(),
             name_of(edge.when), edge.met ? name_of(*edge.met) : "no", edge.missing, edge.gone);
  }
}

void dump_claim(Dump& out, const ClaimNode& claim) {
  const ClaimRow& row = claim.row;
  out.line("claim {} {} worker {} at {} lease {} until {} closed {} held {} open {}", row.number,
           row.id.view(), row.worker.view(), ms(row.claimed_at), row.lease_ms, ms(row.lease_until),
           ms(row.closed_at), claim.held, claim.open);
  for (const MemberRow& member : claim.members) {
    out.line("  member {} {} of {}/{} hold {} outcome {} state {}", member.fence,
             member.task.view(), member.line->queue->name.view(), member.line->user.view(),
             static_cast<int>(member.hold), name_of(member.outcome), name_of(member.state));
  }
}

}  // namespace

std::string Tables::dump() const {
  Dump out;
  out.line(
      "now {} sequence {} fence {} place {} served {} front {} claim {} cascade {} draining {}",
      ms(meta_.now), meta_.sequence, meta_.fence, meta_.place, meta_.served, meta_.front,
      meta_.claim, meta_.cascade, meta_.draining);
  if (meta_.former) out.line("former {}", fmt::join(*meta_.former, " "));
  for (const auto* entry : sorted(queues_)) dump_queue(out, *entry->second);
  for (const auto& [key, settings] : settings_) {
    out.line("settings {} in {}: {}", key.first, key.second, json(settings));
  }

  std::vector<const TaskNode*> tasks;
  ids_.for_each([&](const TaskNode& task) { tasks.push_back(&task); });
  std::ranges::sort(tasks, OlderSequence());
  for (const TaskNode* task : tasks) dump_task(out, *this, *task);
  for (const auto n : states_) out.line("state {}", n);
  std::map<std::pair<std::string_view, std::string_view>, std::string_view> unique;
  for (const auto& [key, task] : unique_) unique[{key.first->name, key.second}] = task->row.id;
  for (const auto& [key, id] : unique)
    out.line("unique {} {} held by {}", key.first, key.second, id);
  out.line("open edges {}", open_edges_);
  for (const auto* entry : sorted(dependents_)) {
    out.line("dependents of {} open{} met{} pins {}", entry->first.view(),
             ids_of(entry->second.open), ids_of(entry->second.met), entry->second.pins);
  }

  const std::map<std::uint64_t, const ClaimNode*> claims = [&] {
    std::map<std::uint64_t, const ClaimNode*> all;
    for (const auto& [number, claim] : claims_) all.emplace(number, claim.get());
    return all;
  }();
  for (const auto& [number, claim] : claims) dump_claim(out, *claim);

  for (const auto* entry : sorted(tombstones_)) {
    out.line("tombstone {} {} until {}", entry->first.view(), name_of(entry->second.state),
             ms(entry->second.expires_at));
  }
  for (const auto& [target, id] : aliases_by_target_)
    out.line("alias {} of {}", id.view(), target.view());
  for (const auto& [name, schedule] : schedules_) {
    out.line("schedule {} {} anchor {} next {} last {} error {}", name, json(schedule.row.spec),
             ms(schedule.row.anchor), ms(schedule.row.next), schedule.row.last_task,
             schedule.row.last_error);
  }
  for (const auto& [key, row] : xcom_)
    out.line("xcom {} {} until {}", key, row.value.view(), ms(row.expires_at));
  for (const KeyRow& row : keys_) {
    out.line("key {} {} {} {} {} until {}", row.caller, row.operation, row.key, row.fingerprint,
             row.reply.view(), ms(row.expires_at));
  }
  for (const auto& [number, row] : cascades_) {
    out.line("cascade {} of {} {} removed {} ended {} told {}", number, row.target.view(),
             name_of(row.state), row.removed, ms(row.ended_at), row.told);
  }

  out.line("timers{}", ids(timers_));
  for (const auto& [time, task] : expiries_)
    out.line("expiry {} {}", ms(time), task->row.id.view());
  for (const auto& [time, number] : leases_) out.line("lease {} {}", ms(time), number);
  for (const auto& [time, number] : closed_claims_) out.line("closed {} {}", ms(time), number);
  for (const auto& [time, sequence, name, end] : retention_due_)
    out.line("retention {} {} {} {}", ms(time), sequence, name, end);
  for (const auto& [time, id] : tombstones_due_)
    out.line("tombstone due {} {}", ms(time), id.view());
  for (const auto& [time, name] : schedules_due_) out.line("schedule due {} {}", ms(time), name);
  for (const auto& [time, key] : xcom_due_) out.line("xcom due {} {}", ms(time), key);
  for (const auto& [time, id] : keys_due_) out.line("key due {} {}", ms(time), std::get<2>(id));
  return out.take();
}

}  // namespace retsu::engine
