// What a configuration file may say.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/fields.h"
#include "base/log.h"
#include "model/error.h"
#include "model/policy.h"
#include "server/limit_fields.h"

namespace retsu::server {

struct TlsConfig {
  std::string certificate;
  std::string key;
};
constexpr auto fields_of(std::type_identity<TlsConfig>) {
  return List{Field{"certificate", &TlsConfig::certificate, kRequired},
              Field{"key", &TlsConfig::key, kRequired}};
}

struct HttpConfig {
  std::int64_t connections = 16'384;
  std::int64_t header_bytes = 16 << 10;
  std::int64_t body_bytes = 256 << 20;  // of requests, over all connections
  std::int64_t request_ms = 10'000;
  std::int64_t idle_ms = 75'000;
  std::int64_t stalled_ms = 30'000;
};
constexpr auto fields_of(std::type_identity<HttpConfig>) {
  return List{Field{"connections", &HttpConfig::connections},
              Field{"header_bytes", &HttpConfig::header_bytes},
              Field{"body_bytes", &HttpConfig::body_bytes},
              Field{"request_ms", &HttpConfig::request_ms},
              Field{"idle_ms", &HttpConfig::idle_ms},
              Field{"stalled_ms", &HttpConfig::stalled_ms}};
}

struct AlertsConfig {
  std::string webhook;
  std::map<std::string, Json> rules;  // patches of the default ones, and others
};
constexpr auto fields_of(std::type_identity<AlertsConfig>) {
  return List{Field{"webhook", &AlertsConfig::webhook}, Field{"rules", &AlertsConfig::rules}};
}

struct LogConfig {
  LogForm form = LogForm::kText;
  bool requests = false;  // a line for each
};
constexpr auto fields_of(std::type_identity<LogConfig>) {
  return List{Field{"form", &LogConfig::form}, Field{"requests", &LogConfig::requests}};
}

struct Config {
  std::string listen = "127.0.0.1:7380";
  std::string store = "./retsu-data";
  std::string data;  // of the applications; empty: with the store
  std::optional<TlsConfig> tls;
  HttpConfig http;
  Limits limits;
  std::map<std::string, Json> queues;  // patches of their policies
  AlertsConfig alerts;
  LogConfig log;
};
constexpr auto fields_of(std::type_identity<Config>) {
  return List{Field{"listen", &Config::listen}, Field{"store", &Config::store},
              Field{"data", &Config::data},     Field{"tls", &Config::tls},
              Field{"http", &Config::http},     Field{"limits", &Config::limits},
              Field{"queues", &Config::queues}, Field{"alerts", &Config::alerts},
              Field{"log", &Config::log}};
}

// Everything is checked, down to the policies of the queues. Refused with `invalid` or
// `unknown_field`, and a message that names the line or the field.
Result<Config> read_config(const std::string& path);
Result<Config> config_from_toml(std::string_view text);

struct ListenAddress {
  std::string host;
  std::uint16_t port = 0;
};
Result<ListenAddress> listen_address(std::string_view text);  // 127.0.0.1:7380, [::1]:7380

}  // namespace retsu::server
