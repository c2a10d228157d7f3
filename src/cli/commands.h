// The table of commands, from which the parser, the help, the completions and the manual are made.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "cli/arguments.h"
#include "model/error.h"

namespace retsu::cli {

class Session;

// What a command does once the command line has been read. Answers the exit status.
using Action = std::function<Result<int>(Session&)>;

enum class Group : std::uint8_t {
  kServe,
  kWork,
  kSpool,
  kLook,
  kRepair,
  kPace,
  kKeep,
  kLibrary,
  kProgram
};
constexpr auto names_of(std::type_identity<Group>) {
  using enum Group;
  return std::to_array<Named<Group>>({{"Serve", kServe},
                                      {"Work", kWork},
                                      {"Without a network", kSpool},
                                      {"Look", kLook},
                                      {"Repair", kRepair},
                                      {"Pace", kPace},
                                      {"Keep safe", kKeep},
                                      {"Library", kLibrary},
                                      {"The program", kProgram}});
}

struct CommandRow {
  std::string_view name;  // as it is typed; `dead redrive` is a command of `dead`
  Group group;
  std::string_view summary;
  std::string_view example;             // command lines, one a line
  Action (*add)(Arguments& arguments);  // adds its options; the action owns what they are read into
};

std::span<const CommandRow> commands();

Action add_serve(Arguments&);
Action add_config_check(Arguments&);
Action add_token_create(Arguments&);
Action add_token_list(Arguments&);
Action add_token_revoke(Arguments&);
Action add_simulate(Arguments&);
Action add_push(Arguments&);
Action add_work(Arguments&);
Action add_claim(Arguments&);
Action add_settle(Arguments&);
Action add_claims(Arguments&);
Action add_release(Arguments&);
Action add_schedules(Arguments&);
Action add_schedule_set(Arguments&);
Action add_schedule_rm(Arguments&);
Action add_schedule_run(Arguments&);
Action add_xcom_get(Arguments&);
Action add_xcom_set(Arguments&);
Action add_xcom_rm(Arguments&);
Action add_spool_add(Arguments&);
Action add_spool_list(Arguments&);
Action add_spool_peek(Arguments&);
Action add_spool_take(Arguments&);
Action add_spool_done(Arguments&);
Action add_spool_fail(Arguments&);
Action add_spool_send(Arguments&);
Action add_spool_dead(Arguments&);
Action add_spool_check(Arguments&);
Action add_tasks(Arguments&);
Action add_show(Arguments&);
Action add_why(Arguments&);
Action add_graph(Arguments&);
Action add_queues(Arguments&);
Action add_users(Arguments&);
Action add_stats(Arguments&);
Action add_events(Arguments&);
Action add_cancel(Arguments&);
Action add_retry(Arguments&);
Action add_front(Arguments&);
Action add_remove(Arguments&);
Action add_dead(Arguments&);
Action add_dead_redrive(Arguments&);
Action add_dead_purge(Arguments&);
Action add_queue_purge(Arguments&);
Action add_queue_rm(Arguments&);
Action add_queue_set(Arguments&);
Action add_pause(Arguments&);
Action add_resume(Arguments&);
Action add_drain(Arguments&);
Action add_user_set(Arguments&);
Action add_backup(Arguments&);
Action add_restore(Arguments&);
Action add_verify(Arguments&);
Action add_export(Arguments&);
Action add_import(Arguments&);
Action add_library_import(Arguments&);
Action add_library_export(Arguments&);
Action add_library_add(Arguments&);
Action add_library_set(Arguments&);
Action add_library_show(Arguments&);
Action add_library_list(Arguments&);
Action add_library_rm(Arguments&);
Action add_library_status(Arguments&);
Action add_library_update(Arguments&);
Action add_library_reset(Arguments&);
Action add_library_cleanup(Arguments&);
Action add_library_requeue(Arguments&);
Action add_bench(Arguments&);
Action add_completion(Arguments&);
Action add_help(Arguments&);
Action add_version(Arguments&);

}  // namespace retsu::cli
