// What is found in an answer of Hardcover is usable, and reads back as it is written, and so do its
// headers. Lines: RateLimit-Policy, RateLimit, the answer.
#include "apps/library/hardcover_api.h"
#include "apps/library/rate_limits.h"
#include "base/check.h"
#include "base/json.h"
#include "input.h"

namespace {

using namespace retsu::library;  // NOLINT

constexpr std::int64_t kMost = 999'999'999'999'999;

bool is_within(std::int64_t number, std::int64_t least) {
  return number >= least && number <= kMost;
}

std::string quoted(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

template <class T>
std::string written(const T& value) {
  std::string out;
  retsu::append_json(out, value);
  return out;
}

void check_policies(std::string_view header) {
  const auto policies = read_rate_policies(header);
  std::string again;
  for (const RatePolicy& policy : policies) {
    RETSU_CHECK(is_within(policy.quota, 1) && is_within(policy.window_s, 1));
    RETSU_CHECK(is_within(policy.burst, 0));
    again += (again.empty() ? "" : ", ") + quoted(policy.name) +
             ";q=" + std::to_string(policy.quota) + ";w=" + std::to_string(policy.window_s) +
             ";burst=" + std::to_string(policy.burst);
  }
  RETSU_CHECK(read_rate_policies(again) == policies);
}

void check_states(std::string_view header) {
  const auto states = read_rate_states(header);
  std::string again;
  for (const RateState& state : states) {
    RETSU_CHECK(is_within(state.remaining, 0) && is_within(state.reset_s, 0));
    again += (again.empty() ? "" : ",") + quoted(state.name) +
             ";r=" + std::to_string(state.remaining) + ";t=" + std::to_string(state.reset_s);
  }
  RETSU_CHECK(read_rate_states(again) == states);
}

void check_answer(std::string_view body) {
  const auto found = read_found(body);
  if (!found) {
    RETSU_CHECK(retsu::is_utf8(found.error().message) && !found.error().message.empty());
    return;
  }
  RETSU_CHECK(retsu::is_json(body));
  if (!*found) return;
  const Found& book = **found;
  RETSU_CHECK(book.edition_id > 0 && book.book_id > 0);
  for (const FoundAuthor& author : book.authors) RETSU_CHECK(author.id > 0 && !author.name.empty());
  const auto again = retsu::from_json<Found>(written(book));
  RETSU_CHECK(again && *again == book);
  // Nothing that was found changes what is asked.
  const auto request = [](const std::string& value) {
    const std::string text = request_body({.title = value, .author = value});
    RETSU_CHECK(retsu::is_json(text));
    return text.substr(0, text.find("\"variables\":"));
  };
  RETSU_CHECK(request(book.title) == request("title"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  retsu::fuzz::Input in(data, size);
  check_policies(in.line());
  check_states(in.line());
  check_answer(in.rest());
  return 0;
}
