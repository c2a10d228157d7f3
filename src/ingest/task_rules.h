// What tasks and the operations on them may say.
#pragma once

#include "ingest/rules.h"
#include "model/task_operations.h"

namespace retsu::rules {

struct DependencyId {
  bool operator()(Checking& run, const Dependency& dependency) const {
    return kId(run, dependency.id);
  }
};

constexpr auto rules_of(For<NewTask>) {
  return List{Rule{"id", &NewTask::id, IfGiven{kId}},
              Rule{"queue", &NewTask::queue, kQueueName},
              Rule{"user", &NewTask::user, kId},
              Rule{"type", &NewTask::type, kShortLine},
              Rule{"priority", &NewTask::priority, PriorityStep{}},
              Rule{"payload", &NewTask::payload, JsonValue{&Limits::payload_bytes}},
              Rule{"run_at", &NewTask::run_at, Maybe{Moment{}}},
              Rule{"depends_on", &NewTask::depends_on, Each{DependencyId{}, &Limits::dependencies}},
              Rule{"on_dependency_failure", &NewTask::on_dependency_failure, Anything{}},
              Rule{"on_dependency_cancel", &NewTask::on_dependency_cancel, Anything{}},
              Rule{"allow_missing", &NewTask::allow_missing, Anything{}},
              Rule{"unique_key", &NewTask::unique_key, kKeyLine},
              Rule{"placement", &NewTask::placement, Anything{}},
              Rule{"timeout_ms", &NewTask::timeout_ms, Maybe{kAnyDuration}},
              Rule{"max_attempts", &NewTask::max_attempts, Maybe{kAttempts}},
              Rule{"retry", &NewTask::retry, Maybe{Nested{}}},
              Rule{"expires_at", &NewTask::expires_at, Maybe{Moment{}}},
              Rule{"tags", &NewTask::tags, EachDistinct{Tag{}, &Limits::tags}},
              Rule{"trace", &NewTask::trace, kShortLine}};
}

constexpr auto rules_of(For<Filter>) {
  return List{Rule{"state", &Filter::state, Anything{}},
              Rule{"queue", &Filter::queue, IfGiven{kQueueName}},
              Rule{"user", &Filter::user, IfGiven{kId}},
              Rule{"type", &Filter::type, kShortLine},
              Rule{"tag", &Filter::tag, IfGiven{Tag{}}},
              Rule{"unique_key", &Filter::unique_key, kKeyLine},
              Rule{"waits_for", &Filter::waits_for, IfGiven{kId}},
              Rule{"q", &Filter::q, kKeyLine},
              Rule{"since", &Filter::since, Maybe{Moment{}}},
              Rule{"until", &Filter::until, Maybe{Moment{}}}};
}

constexpr auto rules_of(For<Push>) {
  return List{Rule{"tasks", &Push::tasks, Each{Nested{}, &Limits::batch}},
              Rule{"partial", &Push::partial, Anything{}}};
}
inline bool relations_hold(Checking& run, const Push& push) {
  return !push.tasks.empty() || run.fail_at("tasks", "there must be at least one");
}

inline constexpr Duration kWait{0, 5 * kMinute};

constexpr auto rules_of(For<GetTask>) {
  return List{Rule{"id", &GetTask::id, kId}, Rule{"wait_ms", &GetTask::wait_ms, kWait}};
}

constexpr auto rules_of(For<ListTasks>) {
  return List{Rule{"filter", &ListTasks::filter, Nested{}},
              Rule{"limit", &ListTasks::limit, UpTo{&Limits::page}},
              Rule{"cursor", &ListTasks::cursor, NumberCursor{}}};
}

template <class Op>
constexpr auto id_rules() {
  return List{Rule{"id", &Op::id, kId}};
}
constexpr auto rules_of(For<Why>) { return id_rules<Why>(); }
constexpr auto rules_of(For<CancelTask>) { return id_rules<CancelTask>(); }
constexpr auto rules_of(For<RetryTask>) { return id_rules<RetryTask>(); }
constexpr auto rules_of(For<FrontTask>) { return id_rules<FrontTask>(); }
constexpr auto rules_of(For<RemoveTask>) { return id_rules<RemoveTask>(); }
constexpr auto rules_of(For<Graph>) { return id_rules<Graph>(); }

template <class Op>
constexpr auto bulk_rules() {
  return List{Rule{"filter", &Op::filter, Nested{}},
              Rule{"expect", &Op::expect, Maybe{Between{0, kAnyNumber}}},
              Rule{"dry_run", &Op::dry_run, Anything{}}};
}
constexpr auto rules_of(For<CancelTasks>) { return bulk_rules<CancelTasks>(); }
constexpr auto rules_of(For<RetryTasks>) { return bulk_rules<RetryTasks>(); }
constexpr auto rules_of(For<RedriveDead>) { return bulk_rules<RedriveDead>(); }
constexpr auto rules_of(For<PurgeDead>) { return bulk_rules<PurgeDead>(); }

// A filter with a typing error may match everything: the caller must know how many it means.
template <class Op>
requires requires(Op op) { op.dry_run; }
bool relations_hold(Checking& run, const Op& bulk) {
  return bulk.expect || bulk.dry_run ||
         run.fail(
             "say how many tasks you expect (\"expect\": n); \"dry_run\": true tells the number");
}

constexpr auto rules_of(For<ListDead>) {
  return List{Rule{"filter", &ListDead::filter, Nested{}},
              Rule{"group", &ListDead::group, Anything{}},
              Rule{"limit", &ListDead::limit, UpTo{&Limits::page}},
              Rule{"cursor", &ListDead::cursor, NumberCursor{}}};
}

}  // namespace retsu::rules
