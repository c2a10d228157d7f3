#include "cli/session.h"

#include <fmt/format.h>

#include <filesystem>

#include "broker/embedded/embedded_broker.h"
#include "broker/embedded/store_files.h"
#include "broker/remote/remote_broker.h"
#include "cli/environment.h"
#include "cli/store_server.h"
#include "cli/times.h"

namespace retsu::cli {

Error unreachable(Error error) {
  if (error.code != ErrorCode::kConflict) return error;
  error.code = ErrorCode::kUnavailable;
  error.message += ": one process at a time can have it open";
  return error;
}

std::string Session::token() const { return variable("RETSU_TOKEN"); }

Result<Session::Where> Session::where() const {
  std::string at = globals_.at.empty() ? variable("RETSU_URL") : globals_.at;
  if (at.empty()) {
    return refuse(ErrorCode::kInvalid,
                  "which queue? Name its server or its directory with --at, or once for all "
                  "commands: export RETSU_URL=http://127.0.0.1:7380");
  }
  const auto colon = at.find("://");
  if (colon == std::string::npos) return Where{std::move(at), false};
  const std::string scheme = at.substr(0, colon);
  if (scheme == "http" || scheme == "https") {
    while (at.ends_with('/')) at.pop_back();
    return Where{std::move(at), true};
  }
  return refuse(ErrorCode::kUnavailable,
                fmt::format("{}: this build cannot reach a queue by {}; it knows http, https and "
                            "store directories",
                            at, scheme));
}

Result<std::string> Session::directory() const {
  auto found = where();
  if (!found) return tl::unexpected(std::move(found.error()));
  if (!found->is_url) return std::move(found->text);
  return refuse(
      ErrorCode::kInvalid,
      fmt::format("{}: this command works on the files of a store: --at DIR", found->text));
}

Result<Broker*> Session::broker(Missing missing) {
  if (broker_) return broker_.get();
  const auto found = where();
  if (!found) return tl::unexpected(found.error());
  if (found->is_url) {
    broker_ = open_url(found->text);
    return broker_.get();
  }
  auto opened = open_directory(found->text, missing);
  if (!opened) return tl::unexpected(std::move(opened.error()));
  broker_ = *std::move(opened);
  return broker_.get();
}

Result<std::unique_ptr<Broker>> Session::open_directory(const std::string& directory,
                                                        Missing missing) {
  std::error_code ignored;
  if (std::filesystem::exists(directory, ignored) &&
      !std::filesystem::is_directory(directory, ignored)) {
    return refuse(ErrorCode::kInvalid, fmt::format("{} is not a directory", directory));
  }
  if (missing == Missing::kRefuse && !embedded::has_store(directory)) {
    return refuse(ErrorCode::kUnavailable,
                  fmt::format("there is no store in {}; retsu push makes one", directory));
  }
  auto opened = EmbeddedBroker::open(directory);
  if (opened) return *std::move(opened);
  const auto url = server_of(directory);
  if (opened.error().code != ErrorCode::kConflict || !url) {
    return tl::unexpected(unreachable(std::move(opened.error())));
  }
  screen_.note(
      fmt::format("{} is held by the server at {}, which is asked instead", directory, *url));
  return open_url(*url);
}

std::unique_ptr<Broker> Session::open_url(const std::string& url) {
  server_ = url;
  RemoteSettings settings{.url = url, .token = token()};
  if (tries_once_) settings.retry.max_attempts = 1;
  settings.on_retry = [&screen = screen_](const Error& error, Millis pause) {
    screen.note(fmt::format("{}; again in {}", printable(error.message), rough(pause)));
  };
  return std::make_unique<RemoteBroker>(std::move(settings));
}

}  // namespace retsu::cli
