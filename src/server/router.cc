#include "server/router.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/url.h"

namespace retsu::server {
namespace {

// The segments of a path that begins with /.
std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    segments.push_back(path.substr(0, path.find('/')));
    path.remove_prefix(segments.back().size());
  }
  return segments;
}

// Fit to be shown in a message.
bool is_plain(std::string_view path) {
  return path.size() <= 200 && std::ranges::all_of(path, [](char c) { return c > ' ' && c < 127; });
}

bool is_field(std::string_view segment) { return segment.starts_with('{'); }

bool matches(std::string_view pattern, const std::vector<std::string_view>& segments) {
  for (const std::string_view segment : segments) {
    pattern.remove_prefix(1);
    const std::string_view expected = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(expected.size());
    if (!is_field(expected) && expected != segment) return false;
  }
  return true;
}

}  // namespace

void Router::add(Route route) {
  const std::size_t length = split(route.path).size();
  if (by_length_.size() <= length) by_length_.resize(length + 1);
  by_length_[length].push_back(routes_.size());
  routes_.push_back(std::move(route));
}

Result<Router::Match> Router::find(std::string_view method, std::string_view path) const {
  const auto nothing = [&](std::string_view more, std::string details = {}) {
    return refuse(ErrorCode::kNotFound,
                  fmt::format("there is no {} {}{}; GET /openapi.json tells what there is", method,
                              is_plain(path) ? path : "of this path", more),
                  std::move(details));
  };
  if (!path.starts_with('/')) return nothing("");
  const auto segments = split(path);
  if (segments.size() >= by_length_.size()) return nothing("");
  std::string allowed;
  for (const std::size_t index : by_length_[segments.size()]) {
    const Route& route = routes_[index];
    if (!matches(route.path, segments)) continue;
    if (route.method != method) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
      continue;
    }
    Match match{&route, {}};
    const auto names = split(route.path);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!is_field(names[i])) continue;
      auto value = percent_decoded(segments[i], UrlPart::kPath);
      if (!value) return refuse(ErrorCode::kInvalid, "the path has a % without two digits");
      match.fields.emplace_back(names[i].substr(1, names[i].size() - 2), *std::move(value));
    }
    return match;
  }
  if (allowed.empty()) return nothing("");
  return nothing(fmt::format(", but {}", allowed), fmt::format(R"({{"allow":"{}"}})", allowed));
}

}  // namespace retsu::server
