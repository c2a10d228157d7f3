#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <sstream>
#include <stop_token>
#include <thread>

#include "base/file_limit.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "cli/times.h"
#include "model/json.h"
#include "worker/command_run.h"
#include "worker/http_run.h"

namespace retsu::cli {
namespace {

using Steady = std::chrono::steady_clock;

constexpr Millis kMostPatience = std::chrono::days(7);

struct Options {
  std::vector<std::string> queues;
  std::vector<std::string> users;
  std::vector<std::string> steal;
  int concurrency = 1;
  std::string lease = "60s";
  std::string grace = "5s";
  std::string patience = "30s";
  std::string name;
  bool until_empty = false;
  bool http = false;
  bool quiet = false;
  std::vector<std::string> command;
};

// What is printed of a run that is over.
struct Line {
  std::string id;
  std::string queue;
  std::string user;
  Outcome outcome = Outcome::kFinish;
  std::optional<State> state;
  std::int64_t took_ms = 0;
  std::optional<Error> error;  // why the outcome was not taken
};
constexpr auto fields_of(std::type_identity<Line>) {
  return List{Field{"id", &Line::id},       Field{"queue", &Line::queue},
              Field{"user", &Line::user},   Field{"outcome", &Line::outcome, kAlwaysShown},
              Field{"state", &Line::state}, Field{"took_ms", &Line::took_ms, kAlwaysShown},
              Field{"error", &Line::error}};
}

// Runs end on many threads.
class Report {
 public:
  Report(Screen& screen, bool quiet) : screen_(screen), quiet_(quiet) {}

  void add(const worker::Ended& end) {
    const std::lock_guard lock(mutex_);
    ++counts_[static_cast<std::size_t>(end.outcome)];
    if (quiet_) return;
    screen_.line(screen_.json() ? json_of(end) : text_of(end));
    screen_.flush();
  }

  void close() {
    if (screen_.json() || quiet_) return;
    std::string text;
    for (const auto& named : names_of(std::type_identity<Outcome>{})) {
      const auto count = counts_[static_cast<std::size_t>(named.value)];
      if (count > 0) text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", named.name, count);
    }
    screen_.note(text.empty() ? "nothing was done" : text);
  }

 private:
  static std::string json_of(const worker::Ended& end) {
    Line line{end.task.id,  end.task.queue,   end.task.user, end.outcome,
              std::nullopt, end.took.count(), std::nullopt};
    end.state ? void(line.state = *end.state) : void(line.error = end.state.error());
    std::string json;
    append_json(json, line);
    return json;
  }
  [[nodiscard]] std::string text_of(const worker::Ended& end) const {
    const std::string how =
        end.state ? screen_.styled(style_of(*end.state), fmt::format("{:9}", name_of(*end.state)))
                  : screen_.styled(Style::kYellow, fmt::format("{:9}", "lost"));
    return fmt::format("{} {}  {}  {}  {}{}", how, end.task.id, end.task.queue, end.task.user,
                       format_duration(end.took),
                       end.state ? "" : "  " + printable(end.state.error().message));
  }

  Screen& screen_;
  const bool quiet_;
  std::mutex mutex_;
  std::array<std::int64_t, names_of(std::type_identity<Outcome>{}).size()> counts_{};
};

// The first signal lets runs finish, a second one, or the end of patience, gives them back.
class Stopper {
 public:
  Stopper(const sigset_t& signals, Screen& screen, Millis patience)
      : thread_([this, signals, &screen, patience](const std::stop_token& over) {
          std::optional<Steady::time_point> deadline;
          const timespec moment{0, 100'000'000};
          while (!over.stop_requested() && !now.stop_requested()) {
            const int signal = sigtimedwait(&signals, nullptr, &moment);
            const bool is_late = deadline && Steady::now() >= *deadline;
            if (signal <= 0 && !is_late) continue;
            if (deadline) {
              now.request_stop();
            } else {
              deadline = Steady::now() + patience;
              screen.note("finishing what runs; once more, and it is given back");
              finish.request_stop();
            }
          }
        }) {}

  std::stop_source finish;
  std::stop_source now;

 private:
  std::jthread thread_;  // after what it uses
};

bool is_program(const std::string& path) {
  std::error_code ignored;
  return ::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, ignored);
}

// Whether it can be run: a path, or a name that is found in PATH.
bool is_command(const std::string& word) {
  if (word.find('/') != std::string::npos) return is_program(word);
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (is_program(folder + "/" + word)) return true;
  }
  return false;
}

struct Times {
  Millis lease;
  Millis grace;
  Millis patience;
};
Result<Times> read_times(const Options& options) {
  const auto lease = read_duration("--lease", options.lease);
  if (!lease) return tl::unexpected(lease.error());
  if (*lease < Millis(1'000)) return refuse(ErrorCode::kInvalid, "--lease: must be 1s or more");
  const auto grace = read_duration("--grace", options.grace);
  if (!grace) return tl::unexpected(grace.error());
  const auto patience = read_duration("--patience", options.patience);
  if (!patience) return tl::unexpected(patience.error());
  if (std::max(*grace, *patience) > kMostPatience) {
    return refuse(ErrorCode::kInvalid, "--grace and --patience: 7d at most");
  }
  return Times{*lease, *grace, *patience};
}

Result<int> work(Session& session, const Options& options) {
  if (options.http == !options.command.empty()) {
    return refuse(ErrorCode::kInvalid,
                  "what runs a task? A command after --, or --http if each task is a request");
  }
  const auto times = read_times(options);
  if (!times) return tl::unexpected(times.error());
  if (!options.http && !is_command(options.command[0])) {
    return refuse(ErrorCode::kInvalid,
                  fmt::format("{}: there is no such command", options.command[0]));
  }
  std::signal(SIGCHLD, SIG_DFL);  // or nobody could tell how a command ended
  raise_file_limit();
  const sigset_t signals = hold_signals();
  const auto broker = session.broker();
  if (!broker) return tl::unexpected(broker.error());

  Report report(session.screen(), options.quiet);
  worker::Settings settings;
  if (!options.queues.empty()) settings.queues = options.queues;
  settings.users = options.users;
  settings.steal = options.steal;
  settings.concurrency = options.concurrency;
  settings.lease = times->lease;
  settings.name = options.name.empty() ? process_name() : options.name;
  settings.until_empty = options.until_empty;
  settings.on_end = [&](const worker::Ended& end) { report.add(end); };
  worker::Worker worker(**broker, std::move(settings));
  worker.handle("", options.http
                        ? worker::run_http(std::make_shared<HttpClient>())
                        : worker::run_command({.command = options.command, .grace = times->grace}));
  Stopper stopper(signals, session.screen(), times->patience);
  const Status ran = worker.run(stopper.finish.get_token(), stopper.now.get_token());
  if (!ran) return tl::unexpected(ran.error());
  report.close();
  return 0;
}

}  // namespace

Action add_work(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.list("--queue", options->queues, "From these queues [default]").type_name("QUEUE");
  arguments.list("--users,--user", options->users, "Of these users only")
      .type_name("USER")
      .split_at(',');
  arguments.list("--steal", options->steal, "And of these, when none of those has a task")
      .type_name("USER")
      .split_at(',');
  arguments.option("--concurrency", options->concurrency, "So many at once")
      .type_name("N")
      .between(1, worker::kMostAtOnce)
      .shows_default();
  arguments.flag("--http", options->http,
                 "Each task is a request: {\"method\",\"url\",\"headers\",\"body\"}");
  arguments.flag("--until-empty", options->until_empty, "End when nothing is left to claim");
  arguments
      .option("--lease", options->lease, "If this worker dies, its tasks come back after so long")
      .type_name("DURATION")
      .shows_default();
  arguments
      .option("--grace", options->grace,
              "What a command that must stop has between SIGTERM and SIGKILL")
      .type_name("DURATION")
      .shows_default();
  arguments
      .option("--patience", options->patience,
              "When told to stop, let tasks run on for so long, then give them back")
      .type_name("DURATION")
      .shows_default();
  arguments.option("--name", options->name, "Who works, for people who look [host:pid]")
      .type_name("NAME");
  arguments.flag("--quiet", options->quiet, "Print nothing of each run");
  arguments.option(
      "COMMAND", options->command,
      "Run for each task, after --: payload on stdin, result on stdout. Exit 0 finishes "
      "it, 65 fails it for good, 69 throttles its queue, others are tried again");
  return [options](Session& session) { return work(session, *options); };
}

}  // namespace retsu::cli
