#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "apps/library/library.h"
#include "base/json.h"
#include "broker/embedded/embedded_broker.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "cli/store_server.h"
#include "server/config.h"
#include "server/server.h"

namespace retsu::cli {
namespace {

constexpr Millis kPatience{4'000};  // of the five seconds that a service manager is to wait

struct Options {
  std::string config;
  std::string listen;
  std::string store;
  std::string data;
  std::string clock = "system";
  std::string tls_certificate;
  std::string tls_key;
  std::string log;
  bool log_requests = false;
};

// What the command line and the environment say comes before what the file says.
Result<server::Config> config_of(const Options& options) {
  Result<server::Config> config = server::Config();
  if (!options.config.empty()) config = server::read_config(options.config);
  if (!config) return config;
  if (!options.listen.empty()) config->listen = options.listen;
  if (!options.store.empty()) config->store = options.store;
  if (!options.data.empty()) config->data = options.data;
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return refuse(ErrorCode::kInvalid, "--tls-cert and --tls-key belong together");
  }
  if (!options.tls_key.empty()) {
    config->tls = server::TlsConfig{options.tls_certificate, options.tls_key};
  }
  if (const auto form = value_of<LogForm>(options.log)) config->log.form = *form;
  config->log.requests |= options.log_requests;
  if (config->store.find("://") != std::string::npos) {
    return refuse(ErrorCode::kInvalid,
                  config->store + ": this build serves store directories only");
  }
  return config;
}

Result<server::ServerSettings> settings_of(const server::Config& config) {
  const auto address = server::listen_address(config.listen);
  if (!address) return tl::unexpected(address.error());
  server::ServerSettings settings;
  settings.host = address->host;
  settings.port = address->port;
  settings.connections = static_cast<std::size_t>(config.http.connections);
  settings.limits.header_bytes = static_cast<std::size_t>(config.http.header_bytes);
  settings.limits.bodies =
      std::make_shared<server::BodyBudget>(static_cast<std::size_t>(config.http.body_bytes));
  settings.limits.request_time = Millis(config.http.request_ms);
  settings.limits.idle_time = Millis(config.http.idle_ms);
  settings.limits.stalled_time = Millis(config.http.stalled_ms);
  if (config.tls) {
    settings.tls_certificate = config.tls->certificate;
    settings.tls_key = config.tls->key;
  }
  settings.audit_log = config.store + "/audit.log";
  auto rules = server::alert_rules(config.alerts.rules);
  if (!rules) return tl::unexpected(std::move(rules.error()));
  settings.alerts = {.rules = *std::move(rules), .webhook = config.alerts.webhook};
  settings.log_requests = config.log.requests;
  return settings;
}

Status set_policies(Broker& broker, const server::Config& config) {
  for (const auto& [queue, patch] : config.queues) {
    if (auto set = call(broker, PatchQueue{queue, patch}); !set) {
      return tl::unexpected(std::move(set.error()));
    }
  }
  return {};
}

// What to type to run this program from here.
std::string program_name() {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    const auto candidate = std::filesystem::path(folder) / "retsu";
    if (!std::filesystem::exists(candidate, ignored)) continue;
    if (std::filesystem::equivalent(candidate, self, ignored)) return "retsu";
    break;  // another one
  }
  return self.empty() ? "retsu" : self.string();
}

void greet(Screen& screen, const std::string& store, const std::string& url) {
  if (screen.json()) {
    std::string json;
    append_json(json, std::map<std::string, std::string>{{"store", store}, {"url", url}});
    return screen.line(json);
  }
  screen.line(fmt::format("{} serves {}", screen.styled(Style::kBold, url), store));
  screen.line("");
  screen.line("Try, from another terminal:");
  const std::string retsu = program_name();
  screen.line(
      fmt::format("  {} push --at {} --queue mail --user ann '{{\"to\":\"bob\"}}'", retsu, url));
  screen.line(fmt::format("  {} tasks --at {}", retsu, url));
  screen.line(fmt::format("  curl {}/v1/stats", url));
}

// Until it is told to stop. SIGHUP: reads the policies of queues from the file anew.
void wait_for_the_end(const sigset_t& signals, Log& log, Broker& broker, const Options& options) {
  for (int signal = 0; sigwait(&signals, &signal) == 0 && signal == SIGHUP;) {
    if (options.config.empty()) continue;
    const auto config = server::read_config(options.config);
    const Status set = config ? set_policies(broker, *config) : tl::unexpected(config.error());
    set ? log.write(LogLevel::kInfo, "policies of queues are set anew")
        : log.write(LogLevel::kError, "policies of queues stay as they were",
                    {{"error", set.error().message}});
  }
}

Result<int> serve(Session& session, const Options& options) {
  Screen& screen = session.screen();
  auto config = config_of(options);
  if (!config) return tl::unexpected(config.error());
  auto settings = settings_of(*config);
  if (!settings) return tl::unexpected(settings.error());
  const sigset_t signals = hold_signals();

  Log log(config->log.form);
  EmbeddedBroker::Settings of_store{.limits = config->limits};
  const bool is_manual = options.clock == "manual";
  if (is_manual) of_store.clock = nullptr;
  auto broker = EmbeddedBroker::open(config->store, std::move(of_store));
  if (!broker) return tl::unexpected(unreachable(std::move(broker.error())));
  std::atomic<TimePoint> time = EngineBroker::system_clock()();
  if (is_manual) {
    (*broker)->set_clock(time);
    settings->move_clock = [&](Millis by) {
      time = time.load() + by;
      (*broker)->set_clock(time);
    };
  }
  if (auto set = set_policies(**broker, *config); !set) return tl::unexpected(set.error());
  auto tokens = server::Tokens::open(tokens_file(config->store));
  if (!tokens) return tl::unexpected(tokens.error());
  settings->tokens = &*tokens;
  settings->commits = &(*broker)->figures().commits;
  settings->log = &log;
  library::LazyLibrary library(config->data.empty() ? config->store : config->data, **broker,
                               is_manual ? EngineBroker::Clock([&time] { return time.load(); })
                                         : EngineBroker::system_clock());
  if (auto opened = library.open_if_there(); !opened) {
    // The queue is served all the same; each request for a book tries again, and says what is
    // wrong.
    log.write(LogLevel::kError, "the library cannot be opened",
              {{"error", opened.error().message}});
  }
  settings->applications = {&library};
  auto server = server::Server::start(**broker, *std::move(settings));
  if (!server) return tl::unexpected(server.error());

  const ServerNote note(config->store, (*server)->address());
  greet(screen, config->store, (*server)->address());
  screen.flush();
  if (!screen.is_terminal())
    log.write(LogLevel::kInfo, "serving",
              {{"url", (*server)->address()}, {"store", config->store}});
  wait_for_the_end(signals, log, **broker, options);
  log.write(LogLevel::kInfo, "stopping");
  (*server)->stop(kPatience);
  return 0;
}

}  // namespace

Action add_serve(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  const auto add = [&](const char* name, std::string& value, const char* help, const char* type,
                       const char* variable) {
    return arguments.option(name, value, std::string(help) + " (or " + variable + ")")
        .type_name(type)
        .variable(variable);
  };
  add("--config", options->config, "A file of settings", "FILE", "RETSU_CONFIG");
  add("--listen", options->listen, "Where to listen: 127.0.0.1:7380 unless said", "ADDRESS:PORT",
      "RETSU_LISTEN");
  add("--store", options->store, "The queue's directory: ./retsu-data unless said", "DIR",
      "RETSU_STORE");
  add("--data", options->data, "Where applications keep their files: with the queue unless said",
      "DIR", "RETSU_DATA");
  add("--tls-cert", options->tls_certificate, "A certificate with its chain, as PEM", "FILE",
      "RETSU_TLS_CERT");
  add("--tls-key", options->tls_key, "Its private key, as PEM", "FILE", "RETSU_TLS_KEY");
  add("--log", options->log, "The form of log lines on standard error: text unless said",
      "text|json", "RETSU_LOG")
      .one_of({"text", "json"});
  arguments
      .flag("--log-requests", options->log_requests,
            "A log line for each request (or RETSU_LOG_REQUESTS)")
      .variable("RETSU_LOG_REQUESTS");
  arguments.option("--clock", options->clock, "For tests: manual stops the clock until it is moved")
      .type_name("system|manual")
      .one_of({"system", "manual"})
      .variable("RETSU_CLOCK")
      .shows_default();
  return [options](Session& session) { return serve(session, *options); };
}

Action add_config_check(Arguments& arguments) {
  auto file = std::make_shared<std::string>();
  arguments.option("FILE", *file, "The file, such as retsu.toml").required();
  return [file](Session& session) -> Result<int> {
    const auto config = server::read_config(*file);
    if (!config) return tl::unexpected(config.error());
    Screen& screen = session.screen();
    screen.line(screen.json() ? R"({"ok":true})" : *file + " is fine");
    return 0;
  };
}

}  // namespace retsu::cli
