#include "cli/push.h"

#include <fmt/format.h>

#include <charconv>

#include "base/json.h"
#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/json_lines.h"
#include "cli/options.h"
#include "cli/times.h"

namespace retsu::cli {
namespace {

// As they were typed.
struct Options {
  NewTask task;
  std::string priority;
  std::vector<std::string> after;
  std::string when;
  std::string on_failure;
  std::string on_cancel;
  std::string delay;
  std::string run_at;
  std::string expires;
  std::string timeout;
  bool front = false;
  bool text = false;
  std::optional<std::string> payload;
  std::string file;
  bool partial = false;
  std::optional<std::string> key;
};

Result<Priority> read_priority(const std::string& text) {
  for (const auto& word : kPriorityWords) {
    if (word.name == text) return Priority{word.value};
  }
  Priority priority;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, priority.value);
  if (failure == std::errc() && rest == end && priority.value >= 1 && priority.value <= kCritical) {
    return priority;
  }
  return refuse(ErrorCode::kInvalid,
                "--priority: must be 1 to 6, or very_low, low, normal, high, very_high, critical");
}

template <class Enum>
Status read_word(std::string_view option, const std::string& text, Enum& value) {
  if (text.empty()) return {};
  std::string names;
  for (const auto& row : names_of(std::type_identity<Enum>{})) {
    if (row.name == text) {
      value = row.value;
      return {};
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  return refuse(ErrorCode::kInvalid, fmt::format("{}: must be one of {}", option, names));
}

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
  if (!options.timeout.empty()) {
    const auto timeout = read_duration("--timeout", options.timeout);
    if (!timeout) return tl::unexpected(timeout.error());
    task.timeout_ms = timeout->count();
  }
  return {};
}

Result<Json> read_payload(const Options& options) {
  std::string text = options.payload.value_or("null");
  if (options.payload == "-") {
    auto read = read_whole("-");
    if (!read) return tl::unexpected(std::move(read.error()));
    text = std::move(*read);
  }
  if (options.text && options.payload) {
    if (!is_utf8(text)) return refuse(ErrorCode::kInvalid, "PAYLOAD: is not UTF-8");
    std::string quoted;
    JsonWriter(quoted).string(text);
    return Json(quoted);
  }
  auto json = compact_json(text);
  if (json) return *std::move(json);
  return refuse(
      ErrorCode::kInvalid,
      fmt::format("PAYLOAD: is not JSON ({}); with --text it is taken as it stands", json.error()));
}

Result<NewTask> read_task(const Options& options) {
  NewTask task = options.task;
  if (!options.priority.empty()) {
    const auto priority = read_priority(options.priority);
    if (!priority) return tl::unexpected(priority.error());
    task.priority = *priority;
  }
  When when = When::kFinished;
  const Status words[] = {read_word("--when", options.when, when),
                          read_word("--on-failure", options.on_failure, task.on_dependency_failure),
                          read_word("--on-cancel", options.on_cancel, task.on_dependency_cancel)};
  for (const Status& word : words) {
    if (!word) return tl::unexpected(word.error());
  }
  for (const std::string& id : options.after) task.depends_on.push_back({id, when});
  if (options.front) task.placement = Placement::kFront;
  if (auto done = read_times(options, task); !done) return tl::unexpected(std::move(done.error()));
  auto payload = read_payload(options);
  if (!payload) return tl::unexpected(std::move(payload.error()));
  task.payload = std::move(*payload);
  return task;
}

// A number that may be absent: CLI11 leaves it alone unless it is given.
void add_number(CLI::App& app, const std::string& name, std::optional<std::int64_t>& value,
                const std::string& help) {
  app.add_option(name, value, help)->type_name("N");
}

void add_options(CLI::App& app, Options& options) {
  NewTask& task = options.task;
  auto* payload = app.add_option("PAYLOAD", options.payload,
                                 "JSON, or with --text any text; - is standard input [null]");
  auto* file = app.add_option("--file", options.file,
                              "Push each line of this file, a JSON object; - is standard input. "
                              "The other options say what a line leaves open")
                   ->type_name("FILE")
                   ->excludes(payload);
  app.add_option("--queue", task.queue, "Into this queue")
      ->type_name("QUEUE")
      ->capture_default_str();
  app.add_option("--user", task.user, "For this user")->type_name("USER")->capture_default_str();
  app.add_option("--type", task.type, "Which handler runs it")->type_name("TYPE");
  app.add_option("--priority", options.priority, "1 to 6, or a word such as high [3]")
      ->type_name("P");
  app.add_option("--id", task.id, "Its id; one that exists changes nothing [a new one]")
      ->type_name("ID")
      ->excludes(file);
  add_list(app, "--after", options.after, "Not before this task has finished; may be repeated")
      ->type_name("ID");
  app.add_option("--when", options.when, "What --after waits for: finished, or settled: any end")
      ->type_name("WHEN");
  app.add_flag("--allow-missing", task.allow_missing, "--after may name tasks still to come");
  app.add_option("--on-failure", options.on_failure, "If one fails: wait, cancel or run [wait]")
      ->type_name("WORD");
  app.add_option("--on-cancel", options.on_cancel, "If one is canceled: drop or cancel [drop]")
      ->type_name("WORD");
  auto* delay = app.add_option("--delay", options.delay, "Not before this long from now")
                    ->type_name("DURATION");
  app.add_option("--run-at", options.run_at, "Not before this time")
      ->type_name("TIME")
      ->excludes(delay);
  app.add_option("--unique", task.unique_key, "At most one task with this key")->type_name("KEY");
  app.add_flag("--front", options.front, "Ahead of what waits in its user's line");
  add_list(app, "--tag", task.tags, "A word to find it by; may be repeated")->type_name("TAG");
  app.add_option("--timeout", options.timeout, "For one attempt, 0: none [the queue's]")
      ->type_name("DURATION");
  add_number(app, "--max-attempts", task.max_attempts, "How often it is tried [the queue's]");
  app.add_option("--expires", options.expires, "Not worth running after this")
      ->type_name("DURATION|TIME");
  app.add_option("--trace", task.trace, "A traceparent, passed on to the worker")
      ->type_name("TEXT");
  app.add_flag("--text", options.text, "PAYLOAD is a text, not JSON")->excludes(file);
  app.add_flag("--partial", options.partial, "Push what can be pushed, of a file")->needs(file);
  app.add_option("--key", options.key,
                 "An idempotency key: the same push again is answered as the first time")
      ->type_name("KEY");
}

}  // namespace

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

Action add_push(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_options(app, *options);
  return [options](Session& session) -> Result<int> {
    auto task = read_task(*options);
    if (!task) return tl::unexpected(std::move(task.error()));
    if (!options->file.empty()) {
      return push_file(session, {options->file, *task, options->partial, options->key});
    }
    auto reply = push_batch(session, Push{.tasks = {std::move(*task)}}, options->key);
    if (!reply) {
      Error& error = reply.error();  // there is but one task
      if (error.message.starts_with("tasks[0]")) error.message.erase(0, 9);
      return tl::unexpected(std::move(error));
    }
    for (const Pushed& pushed : reply->tasks) show_pushed(session.screen(), pushed);
    return 0;
  };
}

}  // namespace retsu::cli
