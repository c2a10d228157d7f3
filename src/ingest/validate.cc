#include "ingest/validate.h"

#include <string>
#include <string_view>
#include <variant>

#include "base/cron.h"
#include "ingest/claim_rules.h"
#include "ingest/queue_rules.h"
#include "ingest/task_rules.h"
#include "model/json.h"

namespace retsu {
namespace rules {

bool PolicyPatch::operator()(Checking& run, const Json& patch) const {
  // Has all that a patch may presuppose, and bounds that leave every single value possible.
  QueuePolicy any;
  any.rate = Rate{.limit = 1};
  any.breaker = Breaker{.after = 1};
  any.retry.base_ms = 0;
  any.retry.max_ms = 30 * kDay;
  const auto outcome = patched(any, patch.view());
  return outcome || run.fail(outcome.error().message, outcome.error().code);
}

bool CronText::operator()(Checking& run, std::string_view cron) const {
  const auto parsed = Cron::parse(cron);
  return parsed || run.fail(parsed.error());
}

bool ZoneName::operator()(Checking& run, std::string_view zone) const {
  if (zone == "UTC") return true;  // needs no database
  const auto found = TimeZone::find(zone);
  return found || run.fail(found.error());
}

bool relations_hold(Checking& run, const ScheduleSpec& schedule) {
  if (schedule.cron.empty() != schedule.every_ms.has_value())
    return run.fail("give either cron or every_ms");
  const NewTask& task = schedule.task;
  struct Own {
    std::string_view field;
    bool given;
  };
  for (const Own& row : {Own{"id", !task.id.empty()}, Own{"run_at", task.run_at.has_value()},
                         Own{"expires_at", task.expires_at.has_value()},
                         Own{"depends_on", !task.depends_on.empty()}}) {
    if (!row.given) continue;
    run.fail_at(row.field, "the task of a schedule cannot have it: leave it out");
    return run.under("task");
  }
  return true;
}

}  // namespace rules

Status validate(const Command& command, const Limits& limits, JsonOrigin origin) {
  rules::Checking run(limits, origin == JsonOrigin::kCodec);
  if (std::visit([&](const auto& op) { return rules::check(run, op); }, command)) return {};
  return tl::unexpected(run.error());
}

}  // namespace retsu
