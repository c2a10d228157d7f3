#include <fmt/format.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "cli/times.h"
#include "simulators/hardcover/hardcover.h"

namespace retsu::cli {
namespace {

constexpr Millis kMostLatency = std::chrono::minutes(10);

struct Options {
  std::optional<std::uint16_t> hardcover;  // a port
  std::string token;
  int speed = 1;
  bool no_daily_limit = false;
  std::string latency;
  std::string log;
};

// A simulator that runs.
struct Running {
  std::shared_ptr<void> simulator;
  std::string url;
};

Result<Running> start_hardcover(const Options& options) {
  simulators::HardcoverSettings settings{.port = *options.hardcover,
                                         .token = options.token,
                                         .speed = options.speed,
                                         .daily_limit = !options.no_daily_limit,
                                         .log_file = options.log};
  if (!options.latency.empty()) {
    const auto latency = read_duration("--latency", options.latency);
    if (!latency) return tl::unexpected(latency.error());
    if (*latency > kMostLatency) {
      return refuse(ErrorCode::kInvalid,
                    "--latency: at most " + format_duration(kMostLatency) + " is possible");
    }
    settings.latency = *latency;
  }
  auto started = simulators::HardcoverSimulator::start(std::move(settings));
  if (!started) return refuse(ErrorCode::kUnavailable, std::move(started.error()));
  std::string url = (*started)->url();
  return Running{std::move(*started), std::move(url)};
}

// A service that can be simulated: a new one is a row here, and a folder in src/simulators.
struct SimulatorRow {
  const char* option;
  std::string_view name;
  std::string_view variable;  // by which programs are told where it is
  const char* help;
  std::optional<std::uint16_t> Options::*port;
  Result<Running> (*start)(const Options& options);
};
constexpr SimulatorRow kSimulators[] = {
    {"--hardcover", "hardcover", "RETSU_HARDCOVER_URL",
     "The GraphQL service of Hardcover, on this port of 127.0.0.1; 0: any that is free",
     &Options::hardcover, start_hardcover},
};

Result<int> simulate(Session& session, const Options& options) {
  Screen& screen = session.screen();
  const sigset_t signals = hold_signals();
  std::vector<Running> all;
  std::map<std::string, std::string> urls;
  std::string known;
  for (const SimulatorRow& row : kSimulators) {
    known += (known.empty() ? "" : ", ") + std::string(row.option) + " PORT";
    if (!(options.*row.port)) continue;
    auto running = row.start(options);
    if (!running) return tl::unexpected(std::move(running.error()));
    urls.emplace(row.name, running->url);
    if (!screen.json()) {
      screen.line(
          fmt::format("{} stands in for {}", screen.styled(Style::kBold, running->url), row.name));
      screen.line(fmt::format("  export {}={}", row.variable, running->url));
    }
    all.push_back(*std::move(running));
  }
  if (all.empty()) return refuse(ErrorCode::kInvalid, "which service? Name one of: " + known);
  if (screen.json()) {
    std::string json;
    append_json(json, urls);
    screen.line(json);
  }
  screen.flush();
  for (int signal = SIGHUP; signal == SIGHUP;) {
    if (sigwait(&signals, &signal) != 0) break;
  }
  return 0;
}

}  // namespace

Action add_simulate(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  for (const SimulatorRow& row : kSimulators) {
    arguments.option(row.option, (*options).*row.port, row.help).type_name("PORT");
  }
  arguments.option("--token", options->token, "The only token that is right; any unless said")
      .type_name("TOKEN");
  arguments.option("--speed", options->speed, "How many times faster the limits are")
      .type_name("N")
      .between(1, simulators::HardcoverSettings::kMostSpeed)
      .shows_default();
  arguments.flag("--no-daily-limit", options->no_daily_limit,
                 "Only the limit of a minute, not that of a day");
  arguments.option("--latency", options->latency, "How long every answer takes, such as 50ms")
      .type_name("DURATION");
  arguments.option("--log", options->log, "Append each call to this file, a JSON object a line")
      .type_name("FILE");
  return [options](Session& session) { return simulate(session, *options); };
}

}  // namespace retsu::cli
