#include "cli/commands.h"

namespace retsu::cli {
namespace {

using enum Group;

constexpr CommandRow kCommands[] = {
    {"serve", kServe, "Serve a queue over HTTP",
     "retsu serve --store ./queue\n"
     "retsu serve --config retsu.toml",
     add_serve},
    {"config check", kServe, "Check a file of settings", "retsu config check retsu.toml",
     add_config_check},
    {"token create", kServe, "Make a token for a client",
     "retsu token create --scope push --queue mail --user ann", add_token_create},
    {"token list", kServe, "List tokens", "retsu token list", add_token_list},
    {"token revoke", kServe, "Revoke a token", "retsu token revoke 5f2c9a0d41be", add_token_revoke},
    {"simulate", kServe, "Stand in for services that others run, with their limits and faults",
     "retsu simulate --hardcover 7390 --speed 300", add_simulate},

    {"push", kWork, "Put tasks into the queue",
     "retsu push --queue mail --user ann '{\"to\":\"bob\"}'\n"
     "retsu push --file tasks.ndjson",
     add_push},
    {"work", kWork, "Run tasks, each by a command or as an HTTP request",
     "retsu work --queue mail --concurrency 4 -- ./send-mail\n"
     "retsu work --queue hooks --http",
     add_work},
    {"claim", kWork, "Take tasks, for a script that runs them",
     "retsu claim --queue mail --max 10 --lease 5m --json", add_claim},
    {"settle", kWork, "Say how the tasks of a claim ended",
     "retsu settle CLAIM --all --outcome finish\n"
     "retsu settle CLAIM TASK --outcome fail --error 'no answer' --retry-after 30s",
     add_settle},
    {"claims", kWork, "List the claims that hold tasks", "retsu claims", add_claims},
    {"release", kWork, "Put back the tasks of claims",
     "retsu release CLAIM\n"
     "retsu release --older-than 1h",
     add_release},
    {"schedules", kWork, "List schedules, with when they make their next task", "retsu schedules",
     add_schedules},
    {"schedule set", kWork, "Push a task again and again, by a clock",
     "retsu schedule set nightly --cron '0 3 * * *' --time-zone Asia/Tokyo --queue reports\n"
     "retsu schedule set ping --every 5m --type ping '{\"to\":\"bob\"}'",
     add_schedule_set},
    {"schedule rm", kWork, "Remove schedules", "retsu schedule rm nightly", add_schedule_rm},
    {"schedule run", kWork, "Push the task of a schedule now, beside its occurrences",
     "retsu schedule run nightly", add_schedule_run},
    {"xcom get", kWork, "Print a value that tasks share", "retsu xcom get cursor", add_xcom_get},
    {"xcom set", kWork, "Keep a value for other tasks, for a time",
     "retsu xcom set cursor '{\"page\":7}' --ttl 1d", add_xcom_set},
    {"xcom rm", kWork, "Remove shared values", "retsu xcom rm cursor", add_xcom_rm},

    {"spool add", kSpool, "Put a task into a file, to be sent when there is a network",
     "retsu spool add --file queue.jsonl --type upload '{\"filePath\":\"/doc.pdf\"}'\n"
     "retsu spool add --file queue.jsonl --task "
     "'{\"queue\":\"mail\",\"payload\":{\"to\":\"bob\"}}'",
     add_spool_add},
    {"spool list", kSpool, "List what waits in a spool, in the order of sending",
     "retsu spool list --file queue.jsonl", add_spool_list},
    {"spool peek", kSpool, "Print what would be sent first", "retsu spool peek --file queue.jsonl",
     add_spool_peek},
    {"spool take", kSpool, "Print what is first, and hide it for a minute, for a script",
     "retsu spool take --file queue.jsonl", add_spool_take},
    {"spool done", kSpool, "Remove what a script has dealt with",
     "retsu spool done --file queue.jsonl ID", add_spool_done},
    {"spool fail", kSpool, "Say that it went wrong: again later, or a dead letter after 5 retries",
     "retsu spool fail --file queue.jsonl ID 'no answer'", add_spool_fail},
    {"spool send", kSpool, "Send what waits to a server",
     "retsu spool send --file queue.jsonl\n"
     "retsu spool send --file queue.jsonl --watch",
     add_spool_send},
    {"spool dead", kSpool,
     "List what will not be sent, with the reasons; put it back, or remove it",
     "retsu spool dead --file queue.jsonl\n"
     "retsu spool dead --file queue.jsonl --redrive ID",
     add_spool_dead},
    {"spool check", kSpool, "Look for damaged lines, and count",
     "retsu spool check --file queue.jsonl", add_spool_check},

    {"tasks", kLook, "List tasks, the newest first", "retsu tasks --state FAILED --queue mail",
     add_tasks},
    {"show", kLook, "Tell all about a task", "retsu show TASK --wait 30s", add_show},
    {"why", kLook, "Tell why a task is not running", "retsu why TASK", add_why},
    {"graph", kLook, "Draw what a task waits for, and what waits for it", "retsu graph TASK",
     add_graph},
    {"queues", kLook, "List queues, or tell all about one", "retsu queues\nretsu queues mail",
     add_queues},
    {"users", kLook, "List users with their shares and waits", "retsu users --queue mail",
     add_users},
    {"stats", kLook, "Count everything", "retsu stats", add_stats},
    {"events", kLook, "Tell what happens to tasks, as it happens, at a server",
     "retsu events --follow --queue mail\n"
     "retsu events --state FAILED --count 1 --for 1h --json",
     add_events},

    {"cancel", kRepair, "Cancel tasks, by id or by filter",
     "retsu cancel TASK\n"
     "retsu cancel --queue mail --state QUEUED --dry-run",
     add_cancel},
    {"retry", kRepair, "Run FAILED or CANCELED tasks again",
     "retsu retry TASK\n"
     "retsu retry --queue mail --expect 12",
     add_retry},
    {"front", kRepair, "Move waiting tasks to the front of their user's line", "retsu front TASK",
     add_front},
    {"remove", kRepair, "Remove ended tasks for good", "retsu remove TASK", add_remove},
    {"dead", kRepair, "List dead letters, or count them by error",
     "retsu dead --queue mail\n"
     "retsu dead --group error",
     add_dead},
    {"dead redrive", kRepair, "Run dead letters again",
     "retsu dead redrive --queue mail --expect 12", add_dead_redrive},
    {"dead purge", kRepair, "Remove dead letters for good",
     "retsu dead purge --q timeout --dry-run", add_dead_purge},
    {"queue purge", kRepair, "Cancel all that waits in a queue", "retsu queue purge mail",
     add_queue_purge},
    {"queue rm", kRepair, "Remove queues in which nothing waits or runs", "retsu queue rm mail",
     add_queue_rm},

    {"queue set", kPace, "Change the policy of a queue",
     "retsu queue set mail concurrency=4 retry.base_ms=500 rate.limit=10 rate.per_ms=1s",
     add_queue_set},
    {"pause", kPace, "Stop handing out tasks of queues", "retsu pause mail", add_pause},
    {"resume", kPace, "Go on handing them out", "retsu resume mail", add_resume},
    {"drain", kPace, "Take and hand out no tasks, and let those that run end",
     "retsu drain\nretsu drain --off", add_drain},
    {"user set", kPace, "Set the weight and the limits of a user",
     "retsu user set ann weight=2 max_running=4 --queue mail", add_user_set},

    {"backup", kKeep, "Copy the store, also while it is in use", "retsu backup /backups/monday",
     add_backup},
    {"restore", kKeep, "Put back a backup", "retsu restore /backups/monday --at ./queue --force",
     add_restore},
    {"verify", kKeep, "Check every page, group and row of the store", "retsu verify", add_verify},
    {"export", kKeep, "Write all tasks to a file, a JSON object a line, the oldest first",
     "retsu export tasks.ndjson\n"
     "retsu export --queue mail --state FAILED | wc -l",
     add_export},
    {"import", kKeep, "Push the tasks of such a file again", "retsu import tasks.ndjson",
     add_import},

    {"library import", kLibrary, "Add the books of a file, JSON or CSV",
     "retsu library import books.csv --report rejected.ndjson", add_library_import},
    {"library export", kLibrary, "Write all books to a file, JSON or CSV",
     "retsu library export books.csv", add_library_export},
    {"library add", kLibrary, "Add a book",
     "retsu library add 'Beautiful Code' --isbn 9780596510046 --author 'Andy Oram'",
     add_library_add},
    {"library set", kLibrary, "Change a book; one that gets its Hardcover id leaves the queue",
     "retsu library set BOOK --hardcover-id 379631", add_library_set},
    {"library show", kLibrary, "Tell all about a book", "retsu library show BOOK",
     add_library_show},
    {"library list", kLibrary, "List books, the oldest first",
     "retsu library list --missing\n"
     "retsu library list --isbn 978-4-87311-394-4",
     add_library_list},
    {"library rm", kLibrary, "Remove a book", "retsu library rm BOOK", add_library_rm},
    {"library status", kLibrary, "Count books: with an id, waiting, with clients, without a match",
     "retsu library status", add_library_status},
    {"library update", kLibrary, "Look up the Hardcover ids of books, beside other such clients",
     "retsu library update\n"
     "retsu library update --follow --name shelf-3",
     add_library_update},
    {"library reset", kLibrary, "Let books wait again that clients claimed and did not finish",
     "retsu library reset --older-than 30m\n"
     "retsu library reset CLAIM",
     add_library_reset},
    {"library cleanup", kLibrary, "Take books out of the queue that have their id",
     "retsu library cleanup", add_library_cleanup},
    {"library requeue", kLibrary, "Look up books again that had no match",
     "retsu library requeue --older-than 30d", add_library_requeue},

    {"bench", kProgram, "Measure whole lifecycles on a store of its own",
     "retsu bench --tasks 100000 --batch 100", add_bench},
    {"completion", kProgram, "Print a completion script for a shell",
     "retsu completion bash > /etc/bash_completion.d/retsu", add_completion},
    {"help", kProgram, "Explain a command", "retsu help push", add_help},
    {"version", kProgram, "Print the version", "retsu version", add_version},
};

}  // namespace

std::span<const CommandRow> commands() { return kCommands; }

}  // namespace retsu::cli
