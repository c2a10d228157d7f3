#include "simulators/hardcover/answers.h"

#include <fmt/format.h>

#include <map>

#include "base/json.h"

namespace retsu::simulators::hardcover {
namespace {

constexpr std::int64_t kSlowMs = 1'000;

ServiceAnswer object(int status, const std::map<std::string, std::string>& fields) {
  std::string body;
  append_json(body, fields);
  return json_answer(status, std::move(body));
}

ServiceAnswer broken() {
  return {.status = 500,
          .headers = {{"Content-Type", "text/html; charset=utf-8"}},
          .body =
              "<!DOCTYPE html>\n<html><head><title>Something went wrong</title></head>\n"
              "<body><h1>500</h1><p>Please try again later.</p></body></html>\n"};
}

ServiceAnswer right(const Plan& plan) { return json_answer(200, plan.answer(Plan::Finding::kAll)); }

ServiceAnswer cut(const Plan& plan) {
  ServiceAnswer answer = right(plan);
  answer.cut = Cut::kInsideTheAnswer;
  return answer;
}

struct FaultRow {
  FaultKind kind;
  ServiceAnswer (*make)(const Plan& plan);
};
constexpr FaultRow kFaults[] = {
    {FaultKind::kUnauthorized, [](const Plan&) { return unauthorized(); }},
    {FaultKind::kTimeout, [](const Plan&) { return failure(408, "Request timeout"); }},
    {FaultKind::kTooMany, [](const Plan&) { return too_many_requests(1); }},
    {FaultKind::kBroken, [](const Plan&) { return broken(); }},
    {FaultKind::kUnavailable,
     [](const Plan&) { return failure(503, "Service temporarily unavailable"); }},
    {FaultKind::kSlow, right},
    {FaultKind::kCut, cut},
    {FaultKind::kGarbage, [](const Plan&) { return json_answer(200, R"({"data":{"editi)"); }},
    {FaultKind::kGraphqlError,
     [](const Plan&) {
       return json_answer(200, QueryFault{"database query error", "$", "unexpected"}.body());
     }},
    {FaultKind::kEmpty,
     [](const Plan& plan) { return json_answer(200, plan.answer(Plan::Finding::kNothing)); }},
    {FaultKind::kNoBody, [](const Plan&) { return json_answer(200, ""); }},
};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < std::size(kFaults); ++i) {
    if (kFaults[i].kind != static_cast<FaultKind>(i)) return false;
  }
  return std::size(kFaults) == names_of(std::type_identity<FaultKind>{}).size();
}
static_assert(rows_are_in_order());

void set_header(ServiceHeaders& headers, std::string_view name, std::string value) {
  std::erase_if(headers, [&](const auto& header) { return header.first == name; });
  headers.emplace_back(name, std::move(value));
}

}  // namespace

bool has_token(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!authorization.starts_with(kScheme)) return false;
  const std::string_view given = authorization.substr(kScheme.size());
  return token.empty() ? !given.empty() : given == token;
}

ServiceAnswer json_answer(int status, std::string body) {
  return {.status = status,
          .headers = {{"Content-Type", "application/json; charset=utf-8"}},
          .body = std::move(body)};
}

ServiceAnswer failure(int status, std::string_view error) {
  return object(status, {{"error", std::string(error)}});
}

ServiceAnswer unauthorized() {
  return object(401, {{"error", "invalid_token"},
                      {"error_description", "The token is missing, wrong or no longer valid"}});
}

ServiceAnswer too_many_fields(std::size_t most) {
  return failure(403, fmt::format("A request may have {} top-level fields", most));
}

ServiceAnswer too_many_requests(std::int64_t retry_after_s) {
  ServiceAnswer answer =
      object(429, {{"error", "Too Many Requests"},
                   {"message", fmt::format("Try again in {} s", retry_after_s)}});
  set_header(answer.headers, "Retry-After", std::to_string(retry_after_s));
  return answer;
}

ServiceAnswer faulty(const Fault& fault, const Plan& plan) {
  ServiceAnswer answer = kFaults[static_cast<std::size_t>(fault.kind)].make(plan);
  if (fault.retry_after_s) {
    set_header(answer.headers, "Retry-After", std::to_string(*fault.retry_after_s));
  }
  answer.delay = Millis(fault.delay_ms.value_or(fault.kind == FaultKind::kSlow ? kSlowMs : 0));
  return answer;
}

}  // namespace retsu::simulators::hardcover
