#include "cli/session.h"

#include <fmt/format.h>

#include <cstdlib>

#include "broker/embedded/embedded_broker.h"
#include "broker/embedded/store_files.h"

namespace retsu::cli {

Error unreachable(Error error) {
  if (error.code != ErrorCode::kConflict) return error;
  error.code = ErrorCode::kUnavailable;
  error.message += ": one process at a time can have it open";
  return error;
}

Result<std::string> Session::directory() const {
  std::string at = globals_.at;
  if (const char* url = std::getenv("RETSU_URL"); at.empty() && url != nullptr) at = url;
  if (at.empty()) {
    return refuse(ErrorCode::kInvalid,
                  "which queue? Name its directory with --at DIR, or once for all commands: export "
                  "RETSU_URL=DIR");
  }
  if (const auto colon = at.find("://"); colon != std::string::npos) {
    return refuse(ErrorCode::kUnavailable,
                  fmt::format("{}: this build cannot reach a queue by {} yet; it can open a store "
                              "directory: --at DIR",
                              at, at.substr(0, colon)));
  }
  return at;
}

Result<Broker*> Session::broker(Missing missing) {
  if (broker_) return broker_.get();
  const auto at = directory();
  if (!at) return tl::unexpected(at.error());
  if (missing == Missing::kRefuse && !embedded::has_store(*at)) {
    return refuse(ErrorCode::kUnavailable,
                  fmt::format("there is no store in {}; retsu push makes one", *at));
  }
  auto opened = EmbeddedBroker::open(*at);
  if (!opened) return tl::unexpected(unreachable(std::move(opened.error())));
  broker_ = std::move(*opened);
  return broker_.get();
}

}  // namespace retsu::cli
