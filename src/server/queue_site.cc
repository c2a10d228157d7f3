#include "server/queue_site.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace retsu::server {
namespace {

std::string_view without_port(std::string_view host) {
  const auto bracket = host.rfind(']');
  const auto colon = host.rfind(':');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)) {
    return host;
  }
  return host.substr(0, colon);
}

// A page of another site in the caller's browser must not speak for the caller.
Status check_origin(const HttpRequest& request) {
  if (request.origin.empty()) return {};
  std::string_view origin = request.origin;
  const auto scheme = origin.find("://");
  if (scheme != std::string_view::npos && origin.substr(scheme + 3) == request.host) return {};
  return refuse(ErrorCode::kForbidden, "pages of other sites may not ask this server");
}

// A GET that changes something is no link for other sites' pages, and has no HEAD.
Status check_change(const HttpRequest& request) {
  if (request.method == "HEAD") {
    return refuse(ErrorCode::kInvalid, "this changes something, so it has no HEAD");
  }
  const std::string& site = request.fetch_site;
  if (site.empty() || site == "same-origin" || site == "none") return {};
  return refuse(ErrorCode::kForbidden, "pages of other sites may not ask this server");
}

// Nor may one whose name was made to lead here. Names that only this machine gives are fine.
Status check_host(const HttpRequest& request) {
  const std::string_view name = without_port(request.host);
  if (name.empty()) return refuse(ErrorCode::kInvalid, "the header Host has no name");
  const bool is_address =
      name.front() == '[' || name.find_first_not_of("0123456789.") == std::string_view::npos;
  if (is_address || name == "localhost") return {};
  return refuse(ErrorCode::kForbidden,
                "without tokens this server answers to localhost and to addresses only, not to "
                "names; retsu token create makes one");
}

}  // namespace

Result<std::size_t> QueueSite::admit(const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& request = exchange->request;
  exchange->on_answer = [this, &asked = *exchange, began = Steady::now()](
                            const HttpResponse& response) { count(asked, response, began); };
  if (request.host.empty()) return refuse(ErrorCode::kInvalid, "the header Host is missing");
  if (auto fine = check_origin(request); !fine) return tl::unexpected(fine.error());
  auto match = router_.find(request.method == "HEAD" ? "GET" : request.method, request.path());
  if (!match) return tl::unexpected(std::move(match.error()));
  exchange->route = match->route;
  exchange->path_fields = std::move(match->fields);
  if (match->route->changes) {
    if (auto fine = check_change(request); !fine) return tl::unexpected(std::move(fine.error()));
  }
  if (auto fine = authorize(*exchange); !fine) return tl::unexpected(std::move(fine.error()));
  if (!match->route->read_body) return match->route->body_limit;
  auto reader = match->route->read_body(exchange);
  if (!reader) return tl::unexpected(std::move(reader.error()));
  exchange->body_reader = *std::move(reader);
  return exchange->body_reader ? SIZE_MAX : match->route->body_limit;
}

bool QueueSite::knows(const Caller& caller) const {
  if (tokens_ == nullptr || tokens_->is_open()) return true;
  return tokens_->is_valid(caller.name);
}

void QueueSite::count(const Exchange& exchange, const HttpResponse& response,
                      Steady::time_point began) {
  const auto digit = static_cast<std::size_t>(response.status / 100);
  if (digit < counters_.answers.size()) ++counters_.answers[digit];
  const HttpRequest& request = exchange.request;
  const bool is_replay = std::ranges::any_of(
      response.headers, [](const auto& header) { return header.first == kReplayed; });
  counters_.keyed += request.idempotency_key.empty() ? 0 : 1;
  counters_.replayed += is_replay ? 1 : 0;
  counters_.mismatched += response.error == ErrorCode::kIdempotencyMismatch ? 1 : 0;
  if (request.is_sent_again()) {
    auto& retried = counters_.retried;
    ++(is_replay ? retried.replayed : digit == 2 ? retried.created : retried.refused);
  }
  if (request_log_ == nullptr) return;
  const std::chrono::duration<double, std::milli> took = Steady::now() - began;
  request_log_->write(LogLevel::kInfo, "request",
                      {{"method", request.method},
                       {"path", request.path()},
                       {"status", response.status},
                       {"took_ms", took.count()},
                       {"caller", exchange.caller.name},
                       {"peer", exchange.peer}});
}

Status QueueSite::authorize(Exchange& exchange) const {
  if (tokens_ == nullptr || tokens_->is_open()) return check_host(exchange.request);
  const auto scope = exchange.route->scope;
  if (!scope) return {};
  auto caller = tokens_->caller_of(exchange.request.authorization);
  if (!caller) return tl::unexpected(std::move(caller.error()));
  exchange.caller = *std::move(caller);
  if (exchange.caller.may(*scope)) return {};
  return refuse(ErrorCode::kForbidden,
                fmt::format("this token has not the scope {}", name_of(*scope)));
}

void QueueSite::serve(const std::shared_ptr<Exchange>& exchange) {
  exchange->route->serve(exchange);
}

}  // namespace retsu::server
