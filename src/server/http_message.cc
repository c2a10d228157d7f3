#include "server/http_message.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "broker/codec.h"

namespace retsu::server {
namespace {

struct Phrase {
  int status;
  std::string_view text;
};
constexpr Phrase kPhrases[] = {
    {200, "OK"},
    {201, "Created"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {507, "Insufficient Storage"},
};

// A drain takes its time: nobody need ask sooner.
constexpr Millis kDrainTime{60'000};

constexpr std::int64_t kMostAttempts = 1'000'000;
constexpr std::int64_t kMostSeconds = std::chrono::seconds(std::chrono::days(3)).count();

std::optional<std::int64_t> number_in(std::string_view text, std::int64_t least,
                                      std::int64_t most) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ptr != end || read.ec != std::errc() || number < least || number > most) {
    return std::nullopt;
  }
  return number;
}

std::string_view phrase_of(int status) {
  for (const Phrase& row : kPhrases) {
    if (row.status == status) return row.text;
  }
  return "";
}

// Made anew once a second.
std::string_view date_now() {
  thread_local std::time_t made_at = 0;
  thread_local std::string date;
  const std::time_t now = std::time(nullptr);
  if (now != made_at) {
    made_at = now;
    date = fmt::format("{:%a, %d %b %Y %H:%M:%S GMT}", fmt::gmtime(now));
  }
  return date;
}

void append_head(std::string& out, const HttpResponse& response) {
  const fmt::format_int status(response.status);
  out.append("HTTP/1.1 ").append(status.data(), status.size()).append(" ");
  out.append(phrase_of(response.status)).append("\r\nDate: ").append(date_now());
  out.append("\r\nContent-Type: ").append(response.content_type).append("\r\n");
  for (const auto& [name, value] : response.headers) {
    out.append(name).append(": ").append(value).append("\r\n");
  }
}

}  // namespace

std::string_view HttpRequest::media_type() const {
  std::string_view type = content_type;
  type = type.substr(0, type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return type;
}

bool HttpRequest::is_sent_again() const { return number_in(attempt, 2, kMostAttempts).has_value(); }

std::optional<Millis> HttpRequest::asked_key_age() const {
  const auto asked = number_in(key_age, 1, kMostSeconds);
  return asked ? std::optional<Millis>(std::chrono::seconds(*asked)) : std::nullopt;
}

HttpResponse to_response(const Error& error) {
  HttpResponse response{
      .status = row_of(error.code).http_status, .body = to_json(error), .error = error.code};
  std::optional<Millis> retry_after = error.retry_after;
  if (!retry_after && error.code == ErrorCode::kDraining) retry_after = kDrainTime;
  if (retry_after) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*retry_after).count();
    response.headers.emplace_back("Retry-After",
                                  std::to_string(std::max<std::int64_t>(seconds, 1)));
  }
  if (error.code == ErrorCode::kUnauthorized)
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

void append_response(std::string& out, const HttpResponse& response, bool keep_alive,
                     bool without_body) {
  append_head(out, response);
  const fmt::format_int length(response.body.size());
  out.append("Content-Length: ").append(length.data(), length.size());
  out.append(keep_alive ? "\r\n\r\n" : "\r\nConnection: close\r\n\r\n");
  if (!without_body) out.append(response.body);
}

void append_chunked_head(std::string& out, const HttpResponse& response) {
  append_head(out, response);
  out += "Transfer-Encoding: chunked\r\n\r\n";
}

void append_chunk(std::string& out, std::string_view bytes) {
  if (bytes.empty()) return;  // an empty one would be the last
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", bytes.size());
  out.append(bytes).append("\r\n");
}

}  // namespace retsu::server
