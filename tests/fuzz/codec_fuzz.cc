// Any text is refused or is a command that reads back as it was written, whatever the operation;
// what the codec accepts does not upset the validation either. The first line names the operation.
#include "base/check.h"
#include "broker/codec.h"
#include "ingest/validate.h"
#include "input.h"

namespace retsu {
namespace {

template <class Value>
void check_refusal(const Result<Value>& result) {
  if (!result) RETSU_CHECK(is_utf8(result.error().message));
}

void check_reply(std::string_view operation, std::string_view body) {
  const auto reply = reply_from_json(operation, body);
  check_refusal(reply);
  if (!reply) return;
  const auto again = reply_from_json(operation, to_json(*reply));
  RETSU_CHECK(again && *again == *reply);
}

template <class Read>
void check_read(std::string_view body, const Read& read) {
  const auto value = read(body);
  check_refusal(value);
  if (!value) return;
  const std::string text = to_json(*value);
  const auto again = read(text);
  RETSU_CHECK(again && to_json(*again) == text);
}

void check_command(std::string_view operation, std::string_view body) {
  const auto read = [&](std::string_view text) { return command_from_json(operation, text); };
  check_read(body, read);
  const auto command = read(body);
  if (!command) return;
  // Json that the codec read is Json, so both origins must agree.
  const Limits limits;
  const auto believed = validate(*command, limits, JsonOrigin::kCodec);
  const auto checked = validate(*command, limits, JsonOrigin::kCaller);
  RETSU_CHECK(believed.has_value() == checked.has_value());
  check_refusal(believed);
}

}  // namespace
}  // namespace retsu

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retsu;  // NOLINT
  fuzz::Input in(data, size);
  const std::string_view operation = in.line();
  if (operation == "event") {
    check_read(in.rest(), event_from_json);
  } else if (operation == "error") {
    check_read(in.rest(), error_from_json);
  } else {
    check_reply(operation, in.rest());
    check_command(operation, in.rest());
  }
  return 0;
}
