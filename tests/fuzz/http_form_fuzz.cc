// A request that is a command reads, written by the remote broker, as the same command. The first
// line is method and target, the rest the body.
#include "base/check.h"
#include "base/url.h"
#include "broker/codec.h"
#include "broker/http_form.h"
#include "input.h"
#include "server/http_message.h"
#include "server/router.h"

namespace retsu {
namespace {

const server::Router& router() {
  static const server::Router kRouter = [] {
    server::Router made;
    for (const Operation& row : kOperations) {
      made.add({row.method, row.path, row.scope, row.body_limit, nullptr});
    }
    return made;
  }();
  return kRouter;
}

// As a server does.
Result<Command> read(std::string_view method, std::string_view target, std::string_view body) {
  server::HttpRequest request;
  request.target = target;
  const auto match = router().find(method, request.path());
  if (!match) return tl::unexpected(match.error());
  const auto row = static_cast<std::size_t>(match->route - router().routes().data());
  return command_from_http(kOperations[row], match->fields, request.query(), body);
}

}  // namespace
}  // namespace retsu

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retsu;  // NOLINT
  fuzz::Input in(data, size);
  const std::string_view line = in.line();
  const auto space = std::min(line.find(' '), line.size());
  const std::string_view target = line.substr(std::min(space + 1, line.size()));
  RETSU_CHECK(percent_decoded(percent_encoded(target), UrlPart::kPath) == target);
  RETSU_CHECK(percent_decoded(percent_encoded(target), UrlPart::kQuery) == target);

  const auto command = read(line.substr(0, space), target, in.rest());
  if (!command) {
    // The method is a token of the grammar when it comes from a request.
    if (is_utf8(line.substr(0, space))) RETSU_CHECK(is_utf8(command.error().message));
    return 0;
  }
  const HttpForm form = to_http(*command);
  const auto again = read(form.method, form.target, form.body);
  RETSU_CHECK(again && to_json(*again) == to_json(*command));
  return 0;
}
