#include "worker/http_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <future>
#include <map>

#include "base/retry_after.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "model/json.h"
#include "worker/outcomes.h"
#include "worker/reported_text.h"

namespace retsu::worker {
namespace {

constexpr std::size_t kAnswerBytes = std::size_t{1} << 20;
constexpr std::size_t kShownBytes = 1'000;  // of an answer that is a failure

struct Request {
  std::string method = "GET";
  std::string url;
  std::map<std::string, std::string> headers;
  Json body;
};
constexpr auto fields_of(std::type_identity<Request>) {
  return List{Field{"method", &Request::method}, Field{"url", &Request::url, kRequired},
              Field{"headers", &Request::headers}, Field{"body", &Request::body}};
}

struct Response {
  std::int64_t status = 0;
  std::map<std::string, std::string> headers;
  Json body;
};
constexpr auto fields_of(std::type_identity<Response>) {
  return List{Field{"status", &Response::status}, Field{"headers", &Response::headers},
              Field{"body", &Response::body}};
}

// The characters of RFC 9110 for methods and names of headers.
bool is_token(std::string_view text) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](unsigned char c) {
    return std::isalnum(c) != 0 || kOthers.find(static_cast<char>(c)) != std::string_view::npos;
  });
}
// A value with a line break would be another header.
bool is_header_value(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < ' ' && c != '\t'; });
}
bool is_named(std::string_view name, std::string_view small) {
  return std::ranges::equal(name, small, {}, [](unsigned char c) { return std::tolower(c); });
}
// How long a body is, is not the task's to say: others' requests follow on the same connection.
bool is_framing(std::string_view name) {
  return is_named(name, "content-length") || is_named(name, "transfer-encoding");
}

tl::expected<HttpCall, std::string> call_of(const ClaimedTask& task) {
  auto request = from_json<Request>(task.payload.view());
  if (!request) return tl::unexpected(to_error(std::move(request.error())).message);
  if (!is_token(request->method)) return tl::unexpected(std::string("method: not one of HTTP"));
  HttpCall call{.method = request->method, .url = request->url, .answer_limit = kAnswerBytes};
  bool has_type = false;
  for (const auto& [name, value] : request->headers) {
    if (!is_token(name) || !is_header_value(value) || is_framing(name)) {
      return tl::unexpected(fmt::format("headers: {} is not a header that can be set", name));
    }
    has_type |= is_named(name, "content-type");
    call.headers.emplace_back(name, value);
  }
  if (!request->body.empty() && request->body.view() != "null") {
    if (call.method == "HEAD") return tl::unexpected(std::string("body: HEAD has none"));
    const auto text = from_json<std::string>(request->body.view());
    call.body = text ? *text : request->body.str();
    if (!has_type) {
      call.headers.emplace_back("Content-Type",
                                text ? "text/plain; charset=utf-8" : "application/json");
    }
  }
  if (!task.trace.empty()) call.headers.emplace_back("traceparent", task.trace);
  return call;
}

Json result_of(const HttpAnswer& answer) {
  Response response{.status = answer.status, .body = as_json(answer.body)};
  for (const auto& [name, value] : answer.headers) {
    response.headers.emplace(as_utf8(name), as_utf8(value));
  }
  std::string json;
  append_json(json, response);
  return Json(json);
}

SettleOne outcome_of(const HttpAnswer& answer) {
  const int status = answer.status;
  if (status >= 200 && status < 300) return finished(result_of(answer));
  const auto wait = parse_retry_after(answer.header("retry-after"), wall_clock());
  std::optional<std::int64_t> retry_after_ms;
  if (wait) retry_after_ms = wait->count();
  const std::string said = as_utf8(std::string_view(answer.body).substr(0, kShownBytes));
  std::string error = fmt::format("HTTP {}{}{}", status, said.empty() ? "" : ": ", said);
  if (status == 429 || (status == 503 && wait)) return throttled(std::move(error), retry_after_ms);
  const bool may_pass = status == 408 || status >= 500;
  SettleOne outcome = failed(std::move(error), may_pass ? Again::kLater : Again::kNever);
  if (may_pass) outcome.retry_after_ms = retry_after_ms;
  return outcome;
}

SettleOne outcome_of(const HttpFailure& failure) {
  using Kind = HttpFailure::Kind;
  const bool may_pass = failure.kind != Kind::kInvalid && failure.kind != Kind::kTooLarge;
  return failed(as_utf8(failure.message), may_pass ? Again::kLater : Again::kNever);
}

}  // namespace

Handler run_http(std::shared_ptr<HttpClient> client) {
  return [client = std::move(client)](Run& run) {
    auto call = call_of(run.task());
    if (!call) return failed("payload: " + call.error(), Again::kNever);
    const auto promise = std::make_shared<std::promise<HttpClient::Answered>>();
    auto answered = promise->get_future();
    const auto number = client->start(*std::move(call), [promise](HttpClient::Answered answer) {
      promise->set_value(std::move(answer));
    });
    const std::stop_callback on_stop(run.stop(), [&] { client->cancel(number); });
    const auto answer = answered.get();
    return answer ? outcome_of(*answer) : outcome_of(answer.error());
  };
}

}  // namespace retsu::worker
