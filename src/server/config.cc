#include "server/config.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "ingest/validate.h"
#include "model/json.h"
#include "server/alert_rules.h"

namespace retsu::server {
namespace {

Error invalid(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

// TOML and JSON say the same things: the tables of fields read both.
Result<std::string> json_of(std::string_view text) {
  try {
    const toml::table table = toml::parse(text);
    std::ostringstream json;
    json << toml::json_formatter(table);
    return json.str();
  } catch (const toml::parse_error& error) {
    return tl::unexpected(invalid(fmt::format("line {}: {}", error.source().begin.line,
                                              std::string_view(error.description()))));
  }
}

template <class T>
Status check_range(std::string_view section, const T& values, std::int64_t most) {
  Status status;
  for_each_field<T>([&](const auto& field) {
    const std::int64_t value = values.*(field.member);
    if (status && (value < 1 || value > most)) {
      status = tl::unexpected(
          invalid(fmt::format("{}.{}: must be from 1 to {}", section, field.name, most)));
    }
  });
  return status;
}

Status check(const Config& config) {
  if (auto address = listen_address(config.listen); !address) {
    return tl::unexpected(std::move(address.error()));
  }
  if (config.store.empty()) return tl::unexpected(invalid("store: must be a directory"));
  if (auto fine = check_range("http", config.http, std::int64_t{1} << 30); !fine) return fine;
  if (config.http.body_bytes < static_cast<std::int64_t>(kBatchBody)) {
    return tl::unexpected(
        invalid(fmt::format("http.body_bytes: must be {} or more, as one batch", kBatchBody)));
  }
  if (auto fine = check_range("limits", config.limits, std::int64_t{1} << 50); !fine) return fine;
  if (auto rules = alert_rules(config.alerts.rules); !rules) {
    rules.error().message = "alerts.rules." + rules.error().message;
    return tl::unexpected(std::move(rules.error()));
  }
  const std::string& webhook = config.alerts.webhook;
  if (!webhook.empty() && !webhook.starts_with("http://") && !webhook.starts_with("https://")) {
    return tl::unexpected(invalid("alerts.webhook: must begin with http:// or https://"));
  }
  for (const auto& [queue, patch] : config.queues) {
    auto valid = validate(PatchQueue{queue, patch}, config.limits);
    if (valid) {
      if (auto policy = patched(QueuePolicy(), patch.view()); !policy) {
        valid = tl::unexpected(std::move(policy.error()));
      }
    }
    if (valid) continue;
    valid.error().message = fmt::format("queues.{}: {}", queue, valid.error().message);
    return valid;
  }
  return {};
}

}  // namespace

Result<Config> config_from_toml(std::string_view text) {
  const auto json = json_of(text);
  if (!json) return tl::unexpected(json.error());
  auto config = from_json<Config>(*json);
  if (!config) return tl::unexpected(to_error(std::move(config.error())));
  if (auto fine = check(*config); !fine) return tl::unexpected(std::move(fine.error()));
  return *std::move(config);
}

Result<Config> read_config(const std::string& path) {
  std::ifstream file(path);
  if (!file) return tl::unexpected(invalid(fmt::format("{}: {}", path, std::strerror(errno))));
  std::ostringstream text;
  const bool is_empty = file.peek() == std::ifstream::traits_type::eof();
  if (file.bad() || (!is_empty && !(text << file.rdbuf()))) {
    return tl::unexpected(invalid(fmt::format("{}: cannot be read", path)));
  }
  auto config = config_from_toml(text.str());
  if (!config) config.error().message = fmt::format("{}: {}", path, config.error().message);
  return config;
}

Result<ListenAddress> listen_address(std::string_view text) {
  const auto colon = text.rfind(':');
  ListenAddress address;
  if (colon != std::string_view::npos && colon > 0) {
    const std::string_view port = text.substr(colon + 1);
    const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    address.host = host;
    if (code == std::errc() && end == port.data() + port.size() && !port.empty()) return address;
  }
  return tl::unexpected(invalid(
      fmt::format("listen: {} must be an address and a port, such as 127.0.0.1:7380", text)));
}

}  // namespace retsu::server
