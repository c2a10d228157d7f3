#include <fmt/format.h>

#include <csignal>

#include "broker/embedded/embedded_broker.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/session.h"
#include "server/server.h"

namespace retsu::cli {
namespace {

constexpr Millis kPatience{
    4'000};  // of the five seconds that a service manager should need to wait

struct Options {
  std::string listen = "127.0.0.1:7380";
  std::string store = "./retsu-data";
  std::string clock = "system";
  std::string tls_certificate;
  std::string tls_key;
};

Result<server::ServerSettings> settings_of(const Options& options) {
  server::ServerSettings settings;
  const auto colon = options.listen.rfind(':');
  std::int64_t port = -1;
  if (colon != std::string::npos) {
    const char* const first = options.listen.data() + colon + 1;
    const char* const last = options.listen.data() + options.listen.size();
    if (std::from_chars(first, last, port).ptr != last) port = -1;
  }
  if (port < 0 || port > 65'535) {
    return refuse(
        ErrorCode::kInvalid,
        fmt::format("--listen {}: must be ADDRESS:PORT, such as 127.0.0.1:7380", options.listen));
  }
  settings.host = options.listen.substr(0, colon);
  if (settings.host.starts_with('[') && settings.host.ends_with(']')) {
    settings.host = settings.host.substr(1, settings.host.size() - 2);
  }
  settings.port = static_cast<std::uint16_t>(port);
  settings.tls_certificate = options.tls_certificate;
  settings.tls_key = options.tls_key;
  return settings;
}

// Blocks these signals for all threads that begin from now on, so that one can wait for them.
sigset_t hold_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

Result<int> serve(Session& session, const Options& options) {
  auto settings = settings_of(options);
  if (!settings) return tl::unexpected(settings.error());
  const sigset_t signals = hold_signals();
  EmbeddedBroker::Settings of_store;
  const bool is_manual = options.clock == "manual";
  if (is_manual) of_store.clock = nullptr;
  auto broker = EmbeddedBroker::open(options.store, std::move(of_store));
  if (!broker) return tl::unexpected(unreachable(std::move(broker.error())));
  TimePoint time = EngineBroker::system_clock()();
  if (is_manual) {
    (*broker)->set_clock(time);
    settings->move_clock = [&](Millis by) { (*broker)->set_clock(time += by); };
  }
  auto server = server::Server::start(**broker, *std::move(settings));
  if (!server) return tl::unexpected(server.error());
  session.screen().line(fmt::format("retsu serves {} at {}", options.store, (*server)->address()));
  session.screen().flush();
  int signal = 0;
  sigwait(&signals, &signal);
  (*server)->stop(kPatience);
  return 0;
}

}  // namespace

Action add_serve(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--listen", options->listen, "Where to listen")
      ->type_name("ADDRESS:PORT")
      ->envname("RETSU_LISTEN")
      ->capture_default_str();
  app.add_option("--store", options->store, "The directory of the queue")
      ->type_name("DIR")
      ->envname("RETSU_STORE")
      ->capture_default_str();
  app.add_option("--tls-cert", options->tls_certificate, "A certificate with its chain, as PEM")
      ->type_name("FILE")
      ->envname("RETSU_TLS_CERT");
  app.add_option("--tls-key", options->tls_key, "Its private key, as PEM")
      ->type_name("FILE")
      ->envname("RETSU_TLS_KEY");
  app.add_option("--clock", options->clock, "For tests: manual stops the clock until it is moved")
      ->type_name("system|manual")
      ->check(CLI::IsMember({"system", "manual"}))
      ->capture_default_str();
  return [options](Session& session) { return serve(session, *options); };
}

}  // namespace retsu::cli
