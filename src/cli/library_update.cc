#include <fmt/format.h>
#include <unistd.h>

#include <thread>

#include "apps/library/updater.h"
#include "base/file_limit.h"
#include "base/sha256.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/library.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/times.h"

namespace retsu::cli {
namespace {

using namespace retsu::library;

struct Options {
  std::string url = "https://api.hardcover.app/v1/graphql";
  std::string name;
  std::string state;
  std::string lease = "45s";
  int at_once = 5;
  std::int64_t batch = kClaimSize;
  bool follow = false;
};

constexpr Millis kPatience{300'000};  // with a server that is away

struct Summary {
  std::int64_t matched = 0;
  std::int64_t unmatched = 0;
  std::int64_t failed = 0;
  std::int64_t lost = 0;
  std::int64_t left = 0;
};
constexpr auto fields_of(std::type_identity<Summary>) {
  return List{Field{"matched", &Summary::matched, kAlwaysShown},
              Field{"unmatched", &Summary::unmatched, kAlwaysShown},
              Field{"failed", &Summary::failed, kAlwaysShown},
              Field{"lost", &Summary::lost, kAlwaysShown},
              Field{"left", &Summary::left, kAlwaysShown}};
}

// Of this machine's clients of one library.
std::string default_state(const std::string& library) {
  std::string base = variable("XDG_STATE_HOME");
  if (base.empty()) base = variable("HOME") + "/.local/state";
  return fmt::format("{}/retsu/library-{}", base, sha256_hex(library).substr(0, 12));
}

std::string shown_progress(const UpdateProgress& progress) {
  return fmt::format(
      "{} done: {} matched, {} unmatched{}; {} left{}", progress.done(), progress.matched,
      progress.unmatched, progress.failed > 0 ? fmt::format(", {} failed", progress.failed) : "",
      progress.left,
      progress.to_go && progress.left > 0 ? fmt::format(", {} to go", rough(*progress.to_go)) : "");
}

// On a terminal a line that changes, elsewhere one now and then.
class ProgressLine {
 public:
  explicit ProgressLine(Screen& screen) : screen_(screen), is_terminal_(::isatty(STDERR_FILENO)) {}
  ~ProgressLine() {
    if (is_terminal_ && shown_) std::fputs("\r\x1b[K", stderr);
  }
  void show(const UpdateProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    const auto every = is_terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(30);
    if (now - last_ < every) return;
    last_ = now;
    const std::int64_t whole = progress.done() + progress.left;
    const std::string text = shown_progress(progress);
    if (!is_terminal_) return screen_.note(text);
    const double share =
        whole > 0 ? static_cast<double>(progress.done()) / static_cast<double>(whole) : 1;
    shown_ = true;
    fmt::print(stderr, "\r\x1b[K{} {}", bar(share, 20), text);
    std::fflush(stderr);
  }

 private:
  Screen& screen_;
  const bool is_terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Told to stop by a signal, from its beginning to its end.
class Stopper {
 public:
  Stopper(const sigset_t& signals, Screen& screen)
      : thread_([this, signals, &screen](const std::stop_token& over) {
          const timespec moment{0, 100'000'000};
          while (!over.stop_requested() && !stop.stop_requested()) {
            if (sigtimedwait(&signals, nullptr, &moment) <= 0) continue;
            screen.note("finishing what is under way, and giving back the rest");
            stop.request_stop();
          }
        }) {}

  std::stop_source stop;

 private:
  std::jthread thread_;  // after what it uses
};

Result<UpdateSettings> settings_of(const Options& options) {
  const auto lease = read_duration("--lease", options.lease);
  if (!lease) return tl::unexpected(lease.error());
  if (*lease < Millis(1'000)) return refuse(ErrorCode::kInvalid, "--lease: must be 1s or more");
  const std::string token = variable("RETSU_HARDCOVER_KEY");
  if (token.empty()) {
    return refuse(ErrorCode::kInvalid,
                  "which account? export RETSU_HARDCOVER_KEY=TOKEN; Hardcover shows it under "
                  "Settings, Hardcover API");
  }
  return UpdateSettings{
      .hardcover = {.url = options.url,
                    .token = token,
                    .client = options.name.empty() ? process_name() : options.name},
      .at_once = options.at_once,
      .lease = *lease,
      .batch = options.batch,
      .follow = options.follow};
}

void add_to(Summary& sum, const UpdateProgress& done) {
  sum.matched += done.matched;
  sum.unmatched += done.unmatched;
  sum.failed += done.failed;
  sum.lost += done.lost;
  sum.left = done.left;
}

Result<int> update(Session& session, const Options& options) {
  const auto settings = settings_of(options);
  if (!settings) return tl::unexpected(settings.error());
  const sigset_t signals = hold_signals();
  raise_file_limit();
  const auto door = open_library(session, kPatience);
  if (!door) return tl::unexpected(door.error());
  const auto broker = session.broker();
  if (!broker) return tl::unexpected(broker.error());
  const auto where = session.where();
  if (!where) return tl::unexpected(where.error());
  const std::string folder = options.state.empty() ? default_state(where->text) : options.state;
  auto taken = ResumePlace::take(folder);
  if (!taken) return tl::unexpected(taken.error());
  Screen& screen = session.screen();
  Stopper stopper(signals, screen);
  Summary sum;
  // What other clients of this machine left is gone on with too.
  for (auto place = *std::move(taken); place != nullptr; place = ResumePlace::take_left(folder)) {
    if (!place->processing_id().empty()) {
      screen.note(
          fmt::format("going on with claim {}, which a client left", place->processing_id()));
    }
    ProgressLine line(screen);
    Updater updater(**door, **broker, *place, *settings,
                    [&](const UpdateProgress& progress) { line.show(progress); });
    const auto done = updater.run(stopper.stop.get_token());
    if (!done) return tl::unexpected(done.error());
    add_to(sum, *done);
    if (stopper.stop.stop_requested()) break;
  }
  if (screen.json()) {
    std::string json;
    append_json(json, sum);
    screen.line(json);
  } else {
    screen.line(shown_progress({.matched = sum.matched,
                                .unmatched = sum.unmatched,
                                .failed = sum.failed,
                                .lost = sum.lost,
                                .left = sum.left}));
  }
  return 0;
}

}  // namespace

Action add_library_update(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments
      .option("--url", options->url,
              "The service (or RETSU_HARDCOVER_URL); its token is RETSU_HARDCOVER_KEY")
      .type_name("URL")
      .variable("RETSU_HARDCOVER_URL")
      .shows_default();
  arguments.option("--at-once", options->at_once, "Books looked up at a time, as the pace allows")
      .type_name("N")
      .between(1, 100)
      .shows_default();
  arguments.option("--batch", options->batch, "Books claimed at a time")
      .type_name("N")
      .between(1, kBatch)
      .shows_default();
  arguments
      .option("--lease", options->lease,
              "If this client dies, the lookups that it had begun are begun anew after so long")
      .type_name("DURATION")
      .shows_default();
  arguments
      .option("--state", options->state,
              "Where clients of this machine remember their claims, to go on with them after "
              "they were killed [~/.local/state/retsu]")
      .type_name("DIR");
  arguments.flag("--follow", options->follow, "Wait for more books when all are done");
  arguments.option("--name", options->name, "Who works, for people who look [host:pid]")
      .type_name("NAME");
  return [options](Session& session) { return update(session, *options); };
}

}  // namespace retsu::cli
