// A configuration that is accepted reads back as it was written (as JSON, which it is underneath),
// and any refusal can be shown. The first line is an address to listen on as well.
#include "base/check.h"
#include "input.h"
#include "model/json.h"
#include "server/config.h"

namespace {

std::string json_of(const retsu::server::Config& config) {
  std::string json;
  retsu::append_json(json, config);
  return json;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retsu;  // NOLINT
  fuzz::Input in(data, size);
  const auto config = server::config_from_toml(in.rest());
  if (config) {
    RETSU_CHECK(server::listen_address(config->listen));
    const std::string json = json_of(*config);
    const auto again = from_json<server::Config>(json);
    RETSU_CHECK(again && json_of(*again) == json);
  } else {
    RETSU_CHECK(is_utf8(config.error().message));
  }
  if (const auto address = server::listen_address(in.line())) {
    const auto again =
        server::listen_address("[" + address->host + "]:" + std::to_string(address->port));
    RETSU_CHECK(again && again->host == address->host && again->port == address->port);
  }
  return 0;
}
