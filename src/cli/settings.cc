#include "cli/settings.h"

#include <fmt/format.h>

#include <map>

#include "base/json.h"
#include "base/time.h"

namespace retsu::cli {
namespace {

// JSON as it stands; for a time also 5m; else a text.
Result<std::string> value_of_setting(const std::string& key, const std::string& text) {
  if (is_json(text)) return text;
  if (key.ends_with("_ms")) {
    if (const auto duration = parse_duration(text)) return std::to_string(duration->count());
  }
  if (!is_utf8(text)) return refuse(ErrorCode::kInvalid, fmt::format("{}: is not UTF-8", key));
  std::string quoted;
  JsonWriter(quoted).string(text);
  return quoted;
}

}  // namespace

Result<Json> patch_of(const std::vector<std::string>& settings) {
  std::map<std::string, std::string> plain;
  std::map<std::string, std::map<std::string, std::string>> nested;
  for (const std::string& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return refuse(ErrorCode::kInvalid,
                    fmt::format("{}: must be KEY=VALUE, such as concurrency=4", setting));
    }
    const std::string key = setting.substr(0, equals);
    auto value = value_of_setting(key, setting.substr(equals + 1));
    if (!value) return tl::unexpected(std::move(value.error()));
    const auto dot = key.find('.');
    auto& group = dot == std::string::npos ? plain : nested[key.substr(0, dot)];
    const std::string name = dot == std::string::npos ? key : key.substr(dot + 1);
    if (!group.emplace(name, std::move(*value)).second ||
        (dot != std::string::npos && plain.contains(key.substr(0, dot))) ||
        (dot == std::string::npos && nested.contains(key))) {
      return refuse(ErrorCode::kInvalid, fmt::format("{}: given twice", key));
    }
  }
  std::string patch;
  JsonWriter to(patch);
  const auto write = [&](const std::map<std::string, std::string>& group) {
    for (const auto& [name, value] : group) {
      to.key(name);
      to.raw(value);
    }
  };
  to.open_object();
  write(plain);
  for (const auto& [name, group] : nested) {
    to.key(name);
    to.open_object();
    write(group);
    to.close_object();
  }
  to.close_object();
  return Json(patch);
}

}  // namespace retsu::cli
