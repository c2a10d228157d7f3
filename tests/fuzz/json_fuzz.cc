// JSON made compact or canonical is the same value, and stays as it is when that is done again.
#include "base/check.h"
#include "base/json.h"
#include "input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retsu;  // NOLINT
  const std::string_view text = fuzz::Input(data, size).rest();
  const auto compact = compact_json(text);
  RETSU_CHECK(compact.has_value() == is_json(text));
  if (!compact) {
    RETSU_CHECK(is_utf8(compact.error()));
    return 0;
  }
  const auto again = compact_json(compact->view());
  RETSU_CHECK(again && again->view() == compact->view());

  const std::string canonical = canonical_json(text);
  RETSU_CHECK(is_json(canonical));
  RETSU_CHECK(canonical_json(compact->view()) == canonical);
  RETSU_CHECK(canonical_json(canonical) == canonical);

  std::string value;
  if (JsonReader in(text); in.kind() == JsonReader::Kind::kString && in.read_string(value)) {
    std::string written;
    JsonWriter(written).string(value);
    RETSU_CHECK(from_json<std::string>(written) == value);
  }
  if (const auto number = from_json<double>(text)) {
    std::string written;
    JsonWriter(written).number(*number);
    RETSU_CHECK(from_json<double>(written) == *number);
  }
  return 0;
}
