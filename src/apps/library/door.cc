#include "apps/library/door.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rest.h"
#include "base/retry_after.h"
#include "base/url.h"
#include "base/wall_clock.h"
#include "broker/codec.h"
#include "worker/pause.h"

namespace retsu::library {
namespace {

using Steady = std::chrono::steady_clock;

// Longer than anybody tries.
constexpr std::chrono::seconds kKeyAge{600};

// What a server says that is away, stops or comes back.
constexpr ErrorCode kMayPass[] = {ErrorCode::kUnavailable, ErrorCode::kShutdown,
                                  ErrorCode::kDeadline,    ErrorCode::kOutcomeUnknown,
                                  ErrorCode::kOverloaded,  ErrorCode::kIdempotencyInProgress};

// The segments of a path that a row names in braces.
PathFields path_fields(const Operation& operation, std::string_view path) {
  PathFields fields;
  std::string_view pattern = operation.path;
  const auto take = [](std::string_view& text) {
    text.remove_prefix(1);
    const std::string_view segment = text.substr(0, text.find('/'));
    text.remove_prefix(segment.size());
    return segment;
  };
  while (!pattern.empty() && !path.empty()) {
    const std::string_view name = take(pattern);
    const std::string_view value = take(path);
    if (!name.starts_with('{')) continue;
    fields.emplace_back(name.substr(1, name.size() - 2),
                        percent_decoded(value, UrlPart::kPath).value_or(""));
  }
  return fields;
}

Error error_in(const std::string& url, const HttpAnswer& answer) {
  if (auto error = error_from_json(answer.body)) return *std::move(error);
  return {ErrorCode::kUnavailable,
          fmt::format("{} answers {}, and not as a library does", url, answer.status)};
}

Error error_of(const std::string& url, const HttpFailure& failure) {
  const bool is_unsent = failure.kind == HttpFailure::Kind::kUnreachable;
  return {is_unsent ? ErrorCode::kUnavailable : ErrorCode::kOutcomeUnknown,
          fmt::format("{}: {}", url, failure.message)};
}

}  // namespace

Result<std::string> LocalDoor::send(const Operation& operation, const HttpForm& form,
                                    const std::optional<std::string>& key, const std::stop_token&) {
  const std::string_view target = form.target;
  const auto path = target.substr(0, target.find('?'));
  AppRequest request{.path = path_fields(operation, path),
                     .query = std::string(target.substr(std::min(path.size() + 1, target.size()))),
                     .body = form.body,
                     .caller = "anyone",
                     .idempotency_key = key,
                     .key_age = kKeyAge};
  const std::lock_guard lock(mutex_);
  auto answer = library_->serve(operation, request);
  if (!answer) return tl::unexpected(std::move(answer.error()));
  return std::move(answer->body);
}

Result<std::string> RemoteDoor::send(const Operation& operation, const HttpForm& form,
                                     const std::optional<std::string>& key,
                                     const std::stop_token& stop) {
  HttpCall call{.method = std::string(form.method),
                .url = settings_.url + form.target,
                .body = form.body,
                .timeout = std::chrono::seconds(30)};
  if (!settings_.token.empty()) {
    call.headers.emplace_back("Authorization", "Bearer " + settings_.token);
  }
  if (!form.body.empty()) call.headers.emplace_back("Content-Type", "application/json");
  if (key) {
    call.headers.emplace_back("Idempotency-Key", *key);
    call.headers.emplace_back("Retsu-Key-Age", std::to_string(kKeyAge.count()));
  }
  // A claim that names itself may be asked for again.
  const bool names_claim = form.target.find("processingId=") != std::string::npos;
  const bool may_repeat = operation.repeatable || key || names_claim;
  const auto give_up_at = Steady::now() + settings_.patience;
  for (worker::Pause pause;;) {
    const auto answer = client_.call(call, stop);
    if (answer && answer->status / 100 == 2) return answer->body;
    Error error =
        answer ? error_in(settings_.url, *answer) : error_of(settings_.url, answer.error());
    if (stop.stop_requested()) return refuse(ErrorCode::kShutdown, "stopped");
    const bool may_pass = std::ranges::find(kMayPass, error.code) != std::end(kMayPass);
    const bool is_undone = answer || answer.error().kind == HttpFailure::Kind::kUnreachable;
    const Millis wait = pause.next(error);
    if (!may_pass || !(may_repeat || (is_undone && error.code != ErrorCode::kOutcomeUnknown)) ||
        Steady::now() + wait > give_up_at) {
      return tl::unexpected(std::move(error));
    }
    if (settings_.on_retry) settings_.on_retry(error, wait);
    if (!rest(wait, stop)) return refuse(ErrorCode::kShutdown, "stopped");
  }
}

}  // namespace retsu::library
