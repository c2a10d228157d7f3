#include "server/operations.h"

#include <algorithm>
#include <utility>

#include "broker/codec.h"
#include "server/ndjson_push.h"

namespace retsu::server {
namespace {

// A body of this size takes long enough to read that others would notice.
constexpr std::size_t kLongBody = 128 << 10;

using SharedExchange = std::shared_ptr<Exchange>;

bool waits(const Command& command) {
  if (const auto* claim = std::get_if<Claim>(&command)) return claim->wait_ms > 0;
  if (const auto* get = std::get_if<GetTask>(&command)) return get->wait_ms > 0;
  return false;
}

int status_of(const Reply& reply) {
  const auto* pushed = std::get_if<PushReply>(&reply);
  return pushed != nullptr && std::ranges::any_of(pushed->tasks, &Pushed::created) ? 201 : 200;
}

// Tasks handed out in an answer that never arrived go back at once, unless the caller named the
// claim: then it can ask again.
void give_back_if_lost(Exchange& exchange, Broker& broker, const Reply& reply) {
  const auto* claimed = std::get_if<ClaimReply>(&reply);
  if (claimed == nullptr || claimed->tasks.empty()) return;
  exchange.on_lost = [&broker, claim_id = claimed->claim_id] {
    broker.submit(ReleaseClaim{claim_id}, {}, [](const Answer&) {});
  };
}

void answer(Exchange& exchange, const Answer& reply) {
  if (!reply) return exchange.respond(to_response(reply.error()));
  HttpResponse response{.status = status_of(*reply), .body = to_json(*reply)};
  if (reply.replayed) response.headers.emplace_back("Idempotent-Replayed", "true");
  exchange.respond(std::move(response));
}

class OperationDoor {
 public:
  OperationDoor(const Operation& operation, Broker& broker, std::shared_ptr<Loop> loop)
      : operation_(operation), broker_(broker), loop_(std::move(loop)) {}

  void operator()(const SharedExchange& exchange) const {
    if (exchange->request.body.size() < kLongBody) return submit(exchange, read(*exchange));
    loop_->post_long([*this, exchange] { submit(exchange, read(*exchange)); });
  }

 private:
  [[nodiscard]] Result<Command> read(const Exchange& exchange) const {
    return command_from_http(operation_, exchange.path_fields, exchange.request.query(),
                             exchange.request.body);
  }

  // On any thread.
  void submit(const SharedExchange& exchange, Result<Command> command) const {
    if (!command) {
      return loop_->post([exchange, error = std::move(command.error())] {
        exchange->respond(to_response(error));
      });
    }
    exchange->request.body = {};
    Context context{.caller = exchange->caller.name,
                    .idempotency_key = idempotency_key_of(exchange->request)};
    if (waits(*command)) context.stop = exchange->stop();
    const auto* claim = std::get_if<Claim>(&*command);
    const bool is_unnamed = claim != nullptr && claim->claim_id.empty();
    broker_.submit(*std::move(command), std::move(context),
                   [loop = loop_, &broker = broker_, exchange, is_unnamed](Answer reply) {
                     loop->post([&broker, exchange, is_unnamed, reply = std::move(reply)] {
                       if (is_unnamed && reply) give_back_if_lost(*exchange, broker, *reply);
                       answer(*exchange, reply);
                     });
                   });
  }

  const Operation& operation_;
  Broker& broker_;
  std::shared_ptr<Loop> loop_;
};

}  // namespace

std::optional<std::string> idempotency_key_of(const HttpRequest& request) {
  std::string_view key = request.idempotency_key;
  if (key.empty()) return std::nullopt;
  if (key.size() >= 2 && key.front() == '"' && key.back() == '"') {
    key = key.substr(1, key.size() - 2);
  }
  return std::string(key);
}

void add_operations(Router& router, Broker& broker, const std::shared_ptr<Loop>& loop) {
  for (const Operation& operation : kOperations) {
    Route route{.method = operation.method,
                .path = operation.path,
                .scope = operation.scope,
                .body_limit = operation.body_limit,
                .serve = OperationDoor(operation, broker, loop)};
    if (operation.name == "push") {
      route.read_body = [&broker, loop](const auto& exchange) {
        return read_ndjson(exchange, broker, loop);
      };
    }
    router.add(std::move(route));
  }
}

}  // namespace retsu::server
