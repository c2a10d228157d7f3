#include "server/token_doors.h"

#include "base/wall_clock.h"
#include "broker/codec.h"

namespace retsu::server {
namespace {

struct TokenList {
  std::vector<TokenInfo> tokens;
};
constexpr auto fields_of(std::type_identity<TokenList>) {
  return List{Field{"tokens", &TokenList::tokens, kAlwaysShown}};
}

template <class T>
std::string json_of(const T& value) {
  std::string text;
  append_json(text, value);
  return text;
}

// A token that is limited could make itself one that is not.
template <class Serve>
auto for_unlimited(Serve serve) {
  return [serve](const std::shared_ptr<Exchange>& exchange) {
    if (!exchange->caller.is_limited()) return serve(*exchange);
    exchange->respond(to_response({ErrorCode::kForbidden, "this token may not manage tokens"}));
  };
}

}  // namespace

void add_tokens(Router& router, Tokens& tokens, Audit& audit) {
  router.add({.method = "GET",
              .path = "/v1/tokens",
              .scope = Scope::kAdmin,
              .serve = for_unlimited([&](Exchange& exchange) {
                exchange.respond({.body = json_of(TokenList{tokens.list()})});
              })});
  router.add({.method = "POST",
              .path = "/v1/tokens",
              .scope = Scope::kAdmin,
              .body_limit = kSmallBody,
              .serve = for_unlimited([&](Exchange& exchange) {
                auto asked = from_json<NewToken>(exchange.request.body);
                if (!asked) return exchange.respond(to_response(to_error(asked.error())));
                const auto created = tokens.create(*asked, wall_clock());
                if (!created) return exchange.respond(to_response(created.error()));
                audit.note(exchange, "create_token", json_of(created->info));
                exchange.respond({.status = 201,
                                  .body = json_of(*created),
                                  .headers = {{"Cache-Control", "no-store"}}});
              })});
  router.add({.method = "DELETE",
              .path = "/v1/tokens/{id}",
              .scope = Scope::kAdmin,
              .serve = for_unlimited([&](Exchange& exchange) {
                const auto revoked = tokens.revoke(exchange.path_fields[0].second, wall_clock());
                if (!revoked) return exchange.respond(to_response(revoked.error()));
                audit.note(exchange, "revoke_token", json_of(*revoked));
                exchange.respond({.body = json_of(*revoked)});
              })});
}

}  // namespace retsu::server
