#pragma once

#include "engine/tables.h"

// Tasks that make themselves at their times.
namespace retsu::engine {

// An occurrence that comes up to this late is still on time.
inline constexpr Millis kScheduleGrace{kMinute};

Result<ScheduleInfo> put_schedule(Tables& tables, const PutSchedule& command);
Result<Removed> delete_schedule(Tables& tables, const DeleteSchedule& command);
Result<Pushed> run_schedule(Tables& tables, const RunSchedule& command);
ScheduleList list_schedules(const Tables& tables, const ListSchedules& command);

// The occurrence that is due now; `clock` says how late it is.
void run_occurrence(Tables& tables, std::string_view name, TimePoint clock);

}  // namespace retsu::engine
