// The table of commands, from which the parser, the help, the completions and the manual are made.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "model/error.h"

namespace CLI {
class App;
}

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
  std::string_view example;      // command lines, one a line
  Action (*add)(CLI::App& app);  // adds its options; the action owns what they are read into
};

std::span<const CommandRow> commands();

Action add_serve(CLI::App& app);
Action add_config_check(CLI::App& app);
Action add_token_create(CLI::App& app);
Action add_token_list(CLI::App& app);
Action add_token_revoke(CLI::App& app);
Action add_simulate(CLI::App& app);
Action add_push(CLI::App& app);
Action add_work(CLI::App& app);
Action add_claim(CLI::App& app);
Action add_settle(CLI::App& app);
Action add_claims(CLI::App& app);
Action add_release(CLI::App& app);
Action add_schedules(CLI::App& app);
Action add_schedule_set(CLI::App& app);
Action add_schedule_rm(CLI::App& app);
Action add_schedule_run(CLI::App& app);
Action add_xcom_get(CLI::App& app);
Action add_xcom_set(CLI::App& app);
Action add_xcom_rm(CLI::App& app);
Action add_spool_add(CLI::App& app);
Action add_spool_list(CLI::App& app);
Action add_spool_peek(CLI::App& app);
Action add_spool_take(CLI::App& app);
Action add_spool_done(CLI::App& app);
Action add_spool_fail(CLI::App& app);
Action add_spool_send(CLI::App& app);
Action add_spool_dead(CLI::App& app);
Action add_spool_check(CLI::App& app);
Action add_tasks(CLI::App& app);
Action add_show(CLI::App& app);
Action add_why(CLI::App& app);
Action add_graph(CLI::App& app);
Action add_queues(CLI::App& app);
Action add_users(CLI::App& app);
Action add_stats(CLI::App& app);
Action add_events(CLI::App& app);
Action add_cancel(CLI::App& app);
Action add_retry(CLI::App& app);
Action add_front(CLI::App& app);
Action add_remove(CLI::App& app);
Action add_dead(CLI::App& app);
Action add_dead_redrive(CLI::App& app);
Action add_dead_purge(CLI::App& app);
Action add_queue_purge(CLI::App& app);
Action add_queue_rm(CLI::App& app);
Action add_queue_set(CLI::App& app);
Action add_pause(CLI::App& app);
Action add_resume(CLI::App& app);
Action add_drain(CLI::App& app);
Action add_user_set(CLI::App& app);
Action add_backup(CLI::App& app);
Action add_restore(CLI::App& app);
Action add_verify(CLI::App& app);
Action add_export(CLI::App& app);
Action add_import(CLI::App& app);
Action add_library_import(CLI::App& app);
Action add_library_export(CLI::App& app);
Action add_library_add(CLI::App& app);
Action add_library_set(CLI::App& app);
Action add_library_show(CLI::App& app);
Action add_library_list(CLI::App& app);
Action add_library_rm(CLI::App& app);
Action add_library_status(CLI::App& app);
Action add_library_update(CLI::App& app);
Action add_library_reset(CLI::App& app);
Action add_library_cleanup(CLI::App& app);
Action add_library_requeue(CLI::App& app);
Action add_bench(CLI::App& app);
Action add_completion(CLI::App& app);
Action add_help(CLI::App& app);
Action add_version(CLI::App& app);

}  // namespace retsu::cli
