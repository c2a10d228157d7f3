#include "spool/delivery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/retry_after.h"
#include "base/sha256.h"

namespace retsu::spool {
namespace {

using Kind = Verdict::Kind;

constexpr std::string_view kTasks = "/v1/tasks";
constexpr std::size_t kLongestKey = 255;
constexpr std::size_t kLongestId = 128;

bool is_key(std::string_view text) {
  return text.size() <= kLongestKey &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

bool is_id(std::string_view text) {
  return text.size() <= kLongestId && std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                  std::string_view("._:-").find(c) != std::string_view::npos;
         });
}

// What of an upload's payload says where it goes.
struct Upload {
  std::optional<std::string> url;
  std::optional<Json> data;
};
constexpr auto fields_of(std::type_identity<Upload>) {
  return List{Field{"url", &Upload::url}, Field{"data", &Upload::data}};
}

struct TaskBody {
  std::string id;
  std::string type;
  Json payload;
  int priority = 0;
};
constexpr auto fields_of(std::type_identity<TaskBody>) {
  return List{Field{"id", &TaskBody::id}, Field{"type", &TaskBody::type},
              Field{"payload", &TaskBody::payload, kAlwaysShown},
              Field{"priority", &TaskBody::priority, kAlwaysShown}};
}

// The URL without what it may leave out: letters of the host in any size, the usual port.
std::string plain(std::string url) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const auto host_end = std::min(url.find_first_of("/?#", scheme + 3), url.size());
  std::transform(url.begin(), url.begin() + static_cast<std::ptrdiff_t>(host_end), url.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string_view host(url.data(), host_end);
  const std::string_view port = host.starts_with("https:") ? ":443" : ":80";
  if (host.ends_with(port)) url.erase(host_end - port.size(), port.size());
  return url;
}

// The part of the URL that follows the server's; none: it is elsewhere.
std::optional<std::string> path_on(const std::string& server, const std::string& url) {
  if (url.starts_with('/') && !url.starts_with("//")) return url;
  const std::string own = plain(server) + '/';
  std::string whole = plain(url);
  if (!whole.starts_with(own)) return std::nullopt;
  return whole.substr(own.size() - 1);
}

struct StatusRow {
  int first;
  int last;
  Kind kind;
};
// The first that fits.
constexpr StatusRow kStatuses[] = {
    {200, 299, Kind::kDone},      {300, 399, Kind::kStop},    {401, 401, Kind::kStop},
    {403, 403, Kind::kForbidden}, {407, 407, Kind::kStop},    {408, 408, Kind::kFailed},
    {429, 429, Kind::kHold},      {400, 499, Kind::kRefused}, {507, 507, Kind::kHold},
    {100, 599, Kind::kFailed},
};

// What a server of ours says of a failure.
struct Said {
  std::string code;
  std::string message;
};
constexpr auto fields_of(std::type_identity<Said>) {
  return List{Field{"code", &Said::code}, Field{"message", &Said::message}};
}
struct ErrorBody {
  Said error;
};
constexpr auto fields_of(std::type_identity<ErrorBody>) {
  return List{Field{"error", &ErrorBody::error, kRequired}};
}

}  // namespace

Delivery delivery_of(const Entry& entry, const std::string& server) {
  Delivery delivery{.url = server, .key = is_key(entry.id) ? entry.id : sha256_hex(entry.id)};
  if (entry.type == "upload") {
    const auto upload = from_json<Upload>(entry.payload.view(), {.skip_unknown = true});
    const auto path = upload && upload->url ? path_on(server, *upload->url) : std::nullopt;
    if (path) {
      delivery.url += *path;
      if (upload->data) delivery.body = upload->data->str();
      return delivery;
    }
  }
  delivery.url += kTasks;
  append_json(delivery.body, TaskBody{.id = is_id(entry.id) ? entry.id : sha256_hex(entry.id),
                                      .type = entry.type,
                                      .payload = entry.payload,
                                      .priority = priority_of(entry.priority)});
  return delivery;
}

Verdict verdict_of(const HttpAnswer& answer, TimePoint now) {
  Verdict verdict{.kind = Kind::kFailed};
  for (const StatusRow& row : kStatuses) {
    if (answer.status < row.first || answer.status > row.last) continue;
    verdict.kind = row.kind;
    break;
  }
  if (verdict.kind == Kind::kDone) {
    verdict.was_known = answer.header("idempotent-replayed") == "true";
    return verdict;
  }
  verdict.wait = parse_retry_after(answer.header("retry-after"), now);
  if (answer.status == 503 && verdict.wait) verdict.kind = Kind::kHold;
  const auto body = from_json<ErrorBody>(answer.body, {.skip_unknown = true});
  const auto& said = body ? body->error : Said{};
  if (answer.status == 409 && said.code == "idempotency_in_progress") verdict.kind = Kind::kBusy;
  verdict.message = said.code.empty()
                        ? fmt::format("the server answered {}", answer.status)
                        : fmt::format("{} {}: {}", answer.status, said.code, said.message);
  return verdict;
}

}  // namespace retsu::spool
