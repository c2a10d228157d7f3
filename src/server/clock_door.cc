#include "server/clock_door.h"

#include "broker/codec.h"

namespace retsu::server {
namespace {

struct Advance {
  std::int64_t advance_ms = 0;
};
constexpr auto fields_of(std::type_identity<Advance>) {
  return List{Field{"advance_ms", &Advance::advance_ms, kRequired}};
}

}  // namespace

void add_clock(Router& router, const std::shared_ptr<Loop>& loop,
               std::function<void(Millis by)> move) {
  router.add({.method = "POST",
              .path = "/v1/clock",
              .scope = Scope::kAdmin,
              .body_limit = kSmallBody,
              .serve = [loop, move = std::move(move)](const auto& exchange) {
                const auto asked = from_json<Advance>(exchange->request.body);
                if (!asked) return exchange->respond(to_response(to_error(asked.error())));
                loop->post_long([loop, move, exchange, by = Millis(asked->advance_ms)] {
                  move(by);
                  loop->post([exchange] { exchange->respond({.body = "{}"}); });
                });
              }});
}

}  // namespace retsu::server
