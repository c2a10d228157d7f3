#include "server/health.h"

#include <chrono>

namespace retsu::server {
namespace {

constexpr auto kPatience = std::chrono::seconds(2);

}  // namespace

void add_health(Router& router, Broker& broker, Loop& loop) {
  router.add({.method = "GET", .path = "/healthz", .serve = [](const auto& exchange) {
                exchange->respond({.body = R"({"status":"ok"})"});
              }});
  router.add(
      {.method = "GET", .path = "/readyz", .serve = [&broker, &loop](const auto& exchange) {
         Context context{.deadline = std::chrono::steady_clock::now() + kPatience};
         broker.submit(
             Stats{}, std::move(context), [loop = loop.shared_from_this(), exchange](Answer reply) {
               loop->post([exchange, reply = std::move(reply)] {
                 if (!reply) return exchange->respond(to_response(reply.error()));
                 const bool draining = std::get<StatsReply>(*reply).draining;
                 if (!draining) return exchange->respond({.body = R"({"status":"ready"})"});
                 exchange->respond(to_response({ErrorCode::kDraining, "the queue is drained"}));
               });
             });
       }});
}

}  // namespace retsu::server
