#include "cli/push.h"

#include <fmt/format.h>

#include "base/uuid.h"
#include "base/wall_clock.h"
#include "broker/remote/spooled_push.h"
#include "cli/commands.h"
#include "cli/json_lines.h"
#include "cli/options.h"
#include "cli/push_lines.h"
#include "cli/spool.h"
#include "cli/task_options.h"
#include "cli/times.h"
#include "model/json.h"

namespace retsu::cli {
namespace {

// As they were typed.
struct Options {
  TaskOptions task;
  std::vector<std::string> after;
  std::string when;
  std::string on_failure;
  std::string on_cancel;
  std::string delay;
  std::string run_at;
  std::string expires;
  std::string file;
  bool partial = false;
  std::optional<std::string> key;
  std::string spool;
};

Status read_times(const Options& options, NewTask& task) {
  const TimePoint base = wall_clock();
  if (!options.delay.empty()) {
    const auto delay = read_moment("--delay", options.delay, base, Direction::kAfter);
    if (!delay) return tl::unexpected(delay.error());
    task.run_at = *delay;
  }
  if (!options.run_at.empty()) {
    const auto time = read_time("--run-at", options.run_at);
    if (!time) return tl::unexpected(time.error());
    task.run_at = *time;
  }
  if (!options.expires.empty()) {
    const auto time = read_moment("--expires", options.expires, base, Direction::kAfter);
    if (!time) return tl::unexpected(time.error());
    task.expires_at = *time;
  }
  return {};
}

Result<NewTask> read_task(const Options& options) {
  auto task = options.task.read();
  if (!task) return task;
  When when = When::kFinished;
  const Status read[] = {read_word("--when", options.when, when),
                         read_word("--on-failure", options.on_failure, task->on_dependency_failure),
                         read_word("--on-cancel", options.on_cancel, task->on_dependency_cancel),
                         read_times(options, *task)};
  for (const Status& each : read) {
    if (!each) return tl::unexpected(each.error());
  }
  for (const std::string& id : options.after) task->depends_on.push_back({id, when});
  return task;
}

void add_options(Arguments& arguments, Options& options) {
  options.task.add_to(arguments);
  NewTask& task = options.task.task;
  const Argument file =
      arguments
          .option("--file", options.file,
                  "Push each line of this file, a JSON object; - is standard input. "
                  "The other options say what a line leaves open")
          .type_name("FILE")
          .excludes("PAYLOAD")
          .excludes("--text");
  arguments.option("--id", task.id, "Its id; one that exists changes nothing [a new one]")
      .type_name("ID")
      .excludes(file);
  arguments.list("--after", options.after, "Not before this task has finished; may be repeated")
      .type_name("ID");
  arguments.option("--when", options.when, "What --after waits for: finished, or settled: any end")
      .type_name("WHEN");
  arguments.flag("--allow-missing", task.allow_missing, "--after may name tasks still to come");
  arguments.option("--on-failure", options.on_failure, "If one fails: wait, cancel or run [wait]")
      .type_name("WORD");
  arguments.option("--on-cancel", options.on_cancel, "If one is canceled: drop or cancel [drop]")
      .type_name("WORD");
  const Argument delay = arguments.option("--delay", options.delay, "Not before this long from now")
                             .type_name("DURATION");
  arguments.option("--run-at", options.run_at, "Not before this time")
      .type_name("TIME")
      .excludes(delay);
  arguments.option("--expires", options.expires, "Not worth running after this")
      .type_name("DURATION|TIME");
  arguments.flag("--partial", options.partial, "Push what can be pushed, of a file").needs(file);
  arguments
      .option("--key", options.key,
              "An idempotency key: the same push again is answered as the first time")
      .type_name("KEY");
  arguments
      .option("--spool", options.spool,
              "If the server cannot be reached, or cannot take it now, keep it in this file; "
              "retsu spool send sends it")
      .type_name("FILE");
}

Result<int> push_file(Session& session, const Options& options, const NewTask& base) {
  const auto read = [&](std::string_view line) -> Result<std::optional<NewTask>> {
    NewTask task = base;
    if (auto done = read_into(line, task); !done) {
      return tl::unexpected(to_error(std::move(done.error())));
    }
    return task;
  };
  const auto done = push_lines(
      session, {.file = options.file,
                .read = read,
                .on_pushed = [&](const Pushed& each) { show_pushed(session.screen(), each); },
                .partial = options.partial,
                .key = options.key,
                .spool = options.spool});
  if (!done) return tl::unexpected(done.error());
  return done->status;
}

int show_all(Screen& screen, const PushReply& reply) {
  for (const Pushed& pushed : reply.tasks) show_pushed(screen, pushed);
  return 0;
}

// There is but one task: its number says nothing.
Error about_one(Error error) {
  if (error.message.starts_with("tasks[0]")) error.message.erase(0, 9);
  return error;
}

Result<int> push_one(Session& session, const Options& options, NewTask task) {
  const auto reply = push_batch(session, Push{.tasks = {std::move(task)}}, options.key);
  if (!reply) return tl::unexpected(about_one(reply.error()));
  return show_all(session.screen(), *reply);
}

struct SpooledLine {
  std::string id;
  bool spooled = true;
};
constexpr auto fields_of(std::type_identity<SpooledLine>) {
  return List{Field{"id", &SpooledLine::id, kAlwaysShown},
              Field{"spooled", &SpooledLine::spooled, kAlwaysShown}};
}

// To the server, or into the spool.
Result<int> push_or_spool(Session& session, const Options& options, NewTask task) {
  const SpoolablePush push(std::move(task), options.key, UuidSource().next(wall_clock()));
  if (auto valid = push.check(); !valid) return tl::unexpected(std::move(valid.error()));
  session.try_once();
  const auto reply = push_batch(session, Push{.tasks = {push.task}}, push.key);
  if (reply) return show_all(session.screen(), *reply);
  if (!may_be_spooled(reply.error())) return tl::unexpected(about_one(reply.error()));
  spool::Spool spool(options.spool);
  const auto added = spool.add(push.entry(wall_clock(), reply.error()));
  if (!added) return tl::unexpected(added.error());
  show_added(session.screen(), *added);
  note_spooled(session.screen(), reply.error(), options.spool, 1);
  show_spooled(session.screen(), push.task.id.empty() ? push.key : push.task.id);
  return 0;
}

Result<int> offering_spool(Result<int> result, const Options& options) {
  if (result || !options.spool.empty() || result.error().code != ErrorCode::kUnavailable) {
    return result;
  }
  result.error().message += "; with --spool FILE it is kept, to be sent later";
  return result;
}

}  // namespace

void show_spooled(Screen& screen, const std::string& id) {
  if (!screen.json()) return screen.line(printable(id));
  std::string json;
  append_json(json, SpooledLine{id});
  screen.line(json);
}

void note_spooled(Screen& screen, const Error& error, const std::string& file, std::int64_t count) {
  screen.note(fmt::format("{}; {} in {}: retsu spool send --file {}", printable(error.message),
                          count == 1 ? "it is kept" : fmt::format("{} are kept", count),
                          printable(file), printable(file)));
}

Result<PushReply> push_batch(Session& session, Push push, std::optional<std::string> key) {
  const auto broker = session.broker(Session::Missing::kMake);
  if (!broker) return tl::unexpected(broker.error());
  Context context;
  context.idempotency_key = std::move(key);
  const std::string name = context.idempotency_key.value_or("");
  Answer answer = call_any(**broker, std::move(push), std::move(context));
  if (!answer) return tl::unexpected(std::move(answer.error()));
  if (answer.replayed) {
    session.screen().note(fmt::format("key {} was used before: nothing new was pushed", name));
  }
  return std::get<PushReply>(*std::move(answer));
}

void show_pushed(Screen& screen, const Pushed& pushed) {
  screen.line(screen.json() ? json_of(pushed) : printable(pushed.id));
}

Action add_push(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  add_options(arguments, *options);
  return [options](Session& session) -> Result<int> {
    auto task = read_task(*options);
    if (!task) return tl::unexpected(std::move(task.error()));
    if (!options->file.empty())
      return offering_spool(push_file(session, *options, *task), *options);
    return options->spool.empty()
               ? offering_spool(push_one(session, *options, *std::move(task)), *options)
               : push_or_spool(session, *options, *std::move(task));
  };
}

}  // namespace retsu::cli
