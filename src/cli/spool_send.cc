#include <fmt/format.h>

#include <thread>

#include "base/log.h"
#include "base/rest.h"
#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/spool.h"
#include "cli/times.h"
#include "model/json.h"
#include "spool/watch.h"

namespace retsu::cli {
namespace {

using spool::Sender;
using End = Sender::Pass::End;

// A server that asks for longer, or again and again, is asked another time.
constexpr Millis kLongestHold{60'000};
constexpr int kMostHolds = 10;

struct Options {
  SpoolOption spool;
  bool watch = false;
  std::string every = "30s";
  std::string timeout = "30s";
};

struct Summary {
  spool::Sent sent;
  std::int64_t left = 0;
  std::optional<TimePoint> next;  // when the first of these is due
};
constexpr auto fields_of(std::type_identity<Summary>) {
  return List{Field{"", &Summary::sent}, Field{"left", &Summary::left, kAlwaysShown},
              Field{"next", &Summary::next}};
}

// SIGINT and SIGTERM end it at once; an entry that is on its way stays, and is sent again.
class Interruption {
 public:
  explicit Interruption(const sigset_t& signals)
      : thread_([this, signals](const std::stop_token& over) {
          const timespec moment{0, 100'000'000};
          while (!over.stop_requested()) {
            if (sigtimedwait(&signals, nullptr, &moment) > 0) source_.request_stop();
          }
        }) {}
  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread thread_;
};

class Send {
 public:
  Send(Session& session, spool::Spool& spool, spool::SendSettings settings)
      : screen_(session.screen()),

        spool_(spool),
        sender_(spool, std::move(settings),
                {.on_progress = [this](std::int64_t done,
                                       std::int64_t whole) { progress_.at(done, whole); },
                 .on_dropped = [this](const spool::Dropped& each) { show_dropped(screen_, each); },
                 .on_failed =
                     [this](const spool::Entry& entry, const std::string& why) {
                       screen_.note(fmt::format("{} was not taken: {}", printable(entry.id),
                                                printable(why)));
                     }}) {}

  Result<int> once(const std::stop_token& stop) {
    std::int64_t sent_before = 0;
    for (int holds = 0;;) {
      const auto pass = sender_.send_due(stop);
      if (!pass) return tl::unexpected(pass.error());
      const bool waits = pass->end == End::kHeld && pass->wait <= kLongestHold;
      if (std::exchange(sent_before, sender_.sent().sent) < sender_.sent().sent) holds = 0;
      if (waits && ++holds <= kMostHolds) {
        screen_.note(
            fmt::format("{}; on in {}", printable(pass->why), format_duration(pass->wait)));
        if (rest(pass->wait, stop)) continue;
      }
      if (auto told = close(); !told) return tl::unexpected(std::move(told.error()));
      return status_of(*pass);
    }
  }

  Result<int> watch(Millis every, const std::stop_token& stop) {
    Log log(screen_.json() ? LogForm::kJson : LogForm::kText);
    const spool::WatchSettings settings{
        .health_interval = every,
        .on_link =
            [&](spool::Link link, const std::string& why) {
              const bool is_bad = link == spool::Link::kOffline;
              log.write(is_bad ? LogLevel::kWarning : LogLevel::kInfo, name_of(link),
                        {{"sent", sender_.sent().sent}, {"why", why}});
            },
        .on_trouble = [&](const Error& error) { log.write(LogLevel::kWarning, error.message); }};
    const auto ended = spool::watch(spool_, sender_, settings, stop);
    if (auto told = close(); !told) return tl::unexpected(std::move(told.error()));
    if (!ended) return tl::unexpected(ended.error());
    return 0;
  }

 private:
  Result<int> status_of(const Sender::Pass& pass) {
    switch (pass.end) {
      case End::kNothingDue:
      case End::kStopped:
        return sender_.sent().dead > 0 ? 1 : 0;
      case End::kTurnedAway:
        return refuse(ErrorCode::kUnauthorized, pass.why);
      case End::kOffline:
      case End::kHeld:
        break;
    }
    return refuse(ErrorCode::kUnavailable, pass.why + "; what is left stays in " + spool_.path());
  }

  Status close() {
    const auto contents = spool_.read();
    if (!contents) return tl::unexpected(contents.error());
    Summary summary{sender_.sent()};
    for (const spool::Line& line : contents->in_order()) {
      ++summary.left;
      summary.next = std::min(summary.next.value_or(TimePoint::max()), line.due);
    }
    if (summary.next == TimePoint::min()) summary.next.reset();
    if (screen_.json()) {
      std::string json;
      append_json(json, summary);
      screen_.line(json);
    } else {
      screen_.line(text_of(summary));
    }
    note_damage(screen_, *contents);
    return {};
  }

  static std::string text_of(const Summary& summary) {
    const spool::Sent& sent = summary.sent;
    std::string text = fmt::format("{} sent", sent.sent);
    if (sent.known > 0) text += fmt::format(" ({} of them had arrived before)", sent.known);
    if (sent.failed > 0) text += fmt::format(", {} not taken", sent.failed);
    if (sent.dead > 0) text += fmt::format(", {} to the dead letters", sent.dead);
    text += fmt::format(", {} left", summary.left);
    if (summary.next) text += fmt::format(", the first due {}", age(*summary.next, wall_clock()));
    return text;
  }

  Screen& screen_;

  spool::Spool& spool_;
  Progress progress_{"sending"};
  Sender sender_;
};

Result<int> send(Session& session, const Options& options) {
  const auto every = read_duration("--every", options.every);
  if (!every) return tl::unexpected(every.error());
  const auto timeout = read_duration("--timeout", options.timeout);
  if (!timeout) return tl::unexpected(timeout.error());
  if (std::min(*every, *timeout) < Millis(1)) {
    return refuse(ErrorCode::kInvalid, "--every and --timeout: must be 1ms or more");
  }
  const auto where = session.where();
  if (!where) return tl::unexpected(where.error());
  if (!where->is_url) {
    return refuse(
        ErrorCode::kInvalid,
        fmt::format("{}: a spool is sent to a server: --at http://HOST:7380", where->text));
  }
  auto spool = options.spool.open(Session::Missing::kMake);
  if (!spool) return tl::unexpected(std::move(spool.error()));
  const sigset_t signals = hold_signals();
  const Interruption interruption(signals);
  Send send(session, *spool, {.url = where->text, .token = session.token(), .timeout = *timeout});
  return options.watch ? send.watch(*every, interruption.token()) : send.once(interruption.token());
}

}  // namespace

Action add_spool_send(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  options->spool.add_to(arguments);
  arguments.flag("--watch", options->watch,
                 "Go on: send what is added, and wait for the server when it cannot be reached");
  arguments
      .option("--every", options->every,
              "With --watch, ask so often whether the server answers, a quarter more or less")
      .type_name("DURATION")
      .shows_default();
  arguments.option("--timeout", options->timeout, "For the answer to one entry")
      .type_name("DURATION")
      .shows_default();
  return [options](Session& session) { return send(session, *options); };
}

}  // namespace retsu::cli
