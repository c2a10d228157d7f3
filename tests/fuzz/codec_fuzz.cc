// Any text is refused or is a command that reads back as it was written, whatever the operation;
// what the codec accepts does not upset the validation either. The first byte picks the operation.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "broker/codec.h"
#include "ingest/validate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retsu;  // NOLINT
  if (size == 0) return 0;
  const auto& operation = kOperations[data[0] % kOperations.size()];
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);

  const auto reply = reply_from_json(operation.name, body);
  if (reply) {
    const auto again = reply_from_json(operation.name, to_json(*reply));
    if (!again || *again != *reply) std::abort();
  } else if (!is_utf8(reply.error().message)) {
    std::abort();
  }

  const auto command = command_from_json(operation.name, body);
  if (!command) {
    if (!is_utf8(command.error().message)) std::abort();
    return 0;
  }
  const auto text = to_json(*command);
  const auto again = command_from_json(operation.name, text);
  if (!again || to_json(*again) != text) std::abort();

  // Json that the codec read is Json, so both origins must agree.
  const Limits limits;
  const auto believed = validate(*command, limits, JsonOrigin::kCodec);
  const auto checked = validate(*command, limits, JsonOrigin::kCaller);
  if (believed.has_value() != checked.has_value()) std::abort();
  if (!believed && !is_utf8(believed.error().message)) std::abort();
  return 0;
}
