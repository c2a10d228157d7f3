#include "engine/timers.h"

#include <algorithm>
#include <array>

#include "engine/claims.h"
#include "engine/lifecycle.h"
#include "engine/schedules.h"

namespace retsu::engine {
namespace {

// One kind of thing that time brings. Of things due at the same moment, the earlier row goes first.
struct Kind {
  bool housekeeping;  // nobody waits for it: may be done a few at a time
  TimePoint (*due)(const Tables&);
  void (*happen)(Tables&, TimePoint clock);
};

template <class Order>
TimePoint first_time(const Order& order) {
  return order.empty() ? kNever : std::get<0>(*order.begin());
}

void task_timer(Tables& tables, TimePoint) {
  auto& task = const_cast<TaskNode&>(*tables.timers().begin());
  if (task.row.state == State::kStarted) {
    time_out(tables, task);
  } else if (tables.open_edges(task) == 0) {
    enqueue(tables, task, Event::kDue);
  } else {
    tables.change_task(
        task, [](TaskRow& row) { row.state = *next_state(row.state, Event::kDueBlocked); });
  }
}

void expire(Tables& tables, TimePoint) {
  TaskNode& task = *tables.expiries().begin()->second;
  Queue& queue = task.queue();
  fail(tables, task, Event::kExpire, Reason::kExpired, "expired before it could run");
  tables.count(queue, Counter::kExpired);
}

void forget_claim(Tables& tables, TimePoint) {
  tables.remove_claim(*tables.claims().find(tables.closed_claims().begin()->second)->second);
}

void remove_retained(Tables& tables, TimePoint) {
  const auto [due, sequence, name, end] = *tables.retention_due().begin();
  Queue& queue = tables.queue(name);
  remove_or_park(tables, *queue.retained[static_cast<std::size_t>(end)].order.begin());
}

void forget_tombstone(Tables& tables, TimePoint) {
  const Text id = tables.tombstones_due().begin()->second;
  for (const Text& alias : tables.aliases_of(id)) tables.drop_alias(alias);
  tables.drop_tombstone(id);
}

constexpr std::array kKinds = {
    Kind{false, [](const Tables& tables) { return first_time(tables.leases()); },
         [](Tables& tables, TimePoint) {
           expire_lease(tables, *tables.claims().find(tables.leases().begin()->second)->second);
         }},
    Kind{false,
         [](const Tables& tables) {
           return tables.timers().empty() ? kNever
                                          : TimePoint(Millis(tables.timers().begin()->row.key));
         },
         task_timer},
    Kind{false, [](const Tables& tables) { return first_time(tables.expiries()); }, expire},
    Kind{false,
         [](const Tables& tables) {
           return tables.meta().draining ? kNever : first_time(tables.schedules_due());
         },
         [](Tables& tables, TimePoint clock) {
           run_occurrence(tables, std::string(tables.schedules_due().begin()->second), clock);
         }},
    Kind{true,
         [](const Tables& tables) {
           const TimePoint closed = first_time(tables.closed_claims());
           return closed == kNever ? kNever : closed + kClosedClaimAge;
         },
         forget_claim},
    Kind{true, [](const Tables& tables) { return first_time(tables.xcom_due()); },
         [](Tables& tables, TimePoint) {
           tables.drop_xcom(std::string(tables.xcom_due().begin()->second));
         }},
    Kind{true, [](const Tables& tables) { return first_time(tables.keys_due()); },
         [](Tables& tables, TimePoint) {
           tables.drop_key(*tables.keys().find(tables.keys_due().begin()->second));
         }},
    Kind{true, [](const Tables& tables) { return first_time(tables.retention_due()); },
         remove_retained},
    Kind{true, [](const Tables& tables) { return first_time(tables.tombstones_due()); },
         forget_tombstone},
};

}  // namespace

void advance(Tables& tables, TimePoint clock) {
  clock = std::max(clock, tables.now());
  if (!tables.cascades().empty()) settle_down(tables);
  std::int64_t housekeeping_left = tables.limits.steps;
  for (;;) {
    const Kind* next = nullptr;
    TimePoint earliest = kNever;
    for (const Kind& kind : kKinds) {
      if (kind.housekeeping && housekeeping_left == 0) continue;
      const TimePoint due = kind.due(tables);
      if (due < earliest) {
        earliest = due;
        next = &kind;
      }
    }
    if (next == nullptr || earliest > clock) break;
    if (earliest > tables.now()) tables.edit_meta().now = earliest;
    if (next->housekeeping) --housekeeping_left;
    next->happen(tables, clock);
    settle_down(tables);
  }
  if (clock > tables.now()) tables.edit_meta().now = clock;
}

TimePoint next_event(const Tables& tables) {
  if (!tables.cascades().empty()) return tables.now();
  TimePoint earliest = kNever;
  for (const Kind& kind : kKinds) earliest = std::min(earliest, kind.due(tables));
  return earliest;
}

}  // namespace retsu::engine
