// Requests and answers of HTTP, as values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/error.h"

namespace retsu::server {

struct HttpRequest {
  std::string method;
  std::string target;  // path and query, as they were sent
  std::string host;
  std::string origin;
  std::string authorization;
  std::string content_type;
  std::string idempotency_key;
  std::string key_age;
  std::string attempt;
  std::string last_event_id;
  std::string fetch_site;
  std::string body;
  bool keep_alive = true;
  bool expects_continue = false;  // sends the body only when it is asked for

  [[nodiscard]] std::string_view path() const { return target_before('?'); }
  [[nodiscard]] std::string_view query() const {
    return std::string_view(target).substr(std::min(path().size() + 1, target.size()));
  }
  // Without its parameters, such as `; charset=utf-8`.
  [[nodiscard]] std::string_view media_type() const;
  // What Retsu-Attempt and Retsu-Key-Age say. Not a number in their range: nothing, for neither is
  // worth a refusal.
  [[nodiscard]] bool is_sent_again() const;
  [[nodiscard]] std::optional<Millis> asked_key_age() const;

 private:
  [[nodiscard]] std::string_view target_before(char sign) const {
    return std::string_view(target).substr(0, target.find(sign));
  }
};

// The headers that are kept, and where.
struct KeptHeader {
  std::string_view name;
  std::string HttpRequest::*member;
  bool may_be_twice = false;  // then the first counts
};
inline constexpr KeptHeader kKeptHeaders[] = {
    {"Host", &HttpRequest::host},
    {"Origin", &HttpRequest::origin},
    {"Authorization", &HttpRequest::authorization},
    {"Content-Type", &HttpRequest::content_type},
    {"Idempotency-Key", &HttpRequest::idempotency_key},
    {"Retsu-Key-Age", &HttpRequest::key_age, true},
    {"Retsu-Attempt", &HttpRequest::attempt, true},
    {"Last-Event-ID", &HttpRequest::last_event_id},
    {"Sec-Fetch-Site", &HttpRequest::fetch_site, true},
};

struct HttpResponse {
  int status = 200;
  std::string body = {};
  std::string_view content_type = "application/json";
  std::vector<std::pair<std::string_view, std::string>> headers = {};
  std::optional<ErrorCode> error = {};  // that it tells of
};

// The header of an answer that an idempotency key had got before.
inline constexpr std::string_view kReplayed = "Idempotent-Replayed";

HttpResponse to_response(const Error& error);

// A response that is whole, and the head of one whose body follows in chunks.
void append_response(std::string& out, const HttpResponse& response, bool keep_alive,
                     bool without_body = false);  // as HEAD wants it
void append_chunked_head(std::string& out, const HttpResponse& response);
void append_chunk(std::string& out, std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace retsu::server
