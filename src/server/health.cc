#include "server/health.h"

#include <chrono>

namespace retsu::server {
namespace {

constexpr auto kPatience = std::chrono::seconds(2);

}  // namespace

void add_health(Router& router, const Doors& doors) {
  router.add({.method = "GET", .path = "/healthz", .serve = [](const auto& exchange) {
                exchange->respond({.body = R"({"status":"ok"})"});
              }});
  router.add({.method = "GET", .path = "/readyz", .serve = [doors](const auto& exchange) {
                const auto then = [exchange](const Answer& reply) {
                  if (!reply) return exchange->respond(to_response(reply.error()));
                  const bool draining = std::get<StatsReply>(*reply).draining;
                  if (!draining) return exchange->respond({.body = R"({"status":"ready"})"});
                  exchange->respond(to_response({ErrorCode::kDraining, "the queue is drained"}));
                };
                ask(doors, Stats{}, then,
                    {.deadline = std::chrono::steady_clock::now() + kPatience});
              }});
}

}  // namespace retsu::server
