#include "server/operations.h"

#include <algorithm>
#include <utility>

#include "broker/codec.h"
#include "broker/waiting.h"
#include "server/keys_in_use.h"
#include "server/ndjson_push.h"
#include "server/permits.h"

namespace retsu::server {
namespace {

// A body of this size takes long enough to read that others would notice.
constexpr std::size_t kLongBody = 128 << 10;

using SharedExchange = std::shared_ptr<Exchange>;

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
  if (reply.replayed) response.headers.emplace_back(kReplayed, "true");
  exchange.respond(std::move(response));
}

// What is noted of a command: all but what may be secret.
std::string told_of(const Command& command) {
  if (const auto* put = std::get_if<PutSchedule>(&command))
    return to_json(DeleteSchedule{put->name});
  return to_json(command);
}

// Serves one row of the table.
class OperationDoor {
 public:
  // `in_use`: keys that it must not use for now; none: it may use all.
  OperationDoor(const Operation& operation, const Doors& doors,
                std::shared_ptr<const KeysInUse> in_use)
      : operation_(operation), doors_(doors), in_use_(std::move(in_use)) {}

  void operator()(const SharedExchange& exchange) const {
    if (exchange->request.body.size() < kLongBody) return go_on(exchange, read(*exchange));
    // It may take long to read; all else is for the loop. What comes after it must not overtake it.
    exchange->blocks_next = true;
    doors_.loop.post_long([*this, exchange] {
      auto command = std::make_shared<Result<Command>>(read(*exchange));
      doors_.loop.post([*this, exchange, command] {
        let_next(*exchange);
        go_on(exchange, std::move(*command));
      });
    });
  }

 private:
  [[nodiscard]] Result<Command> read(const Exchange& exchange) const {
    return command_from_http(operation_, exchange.path_fields, exchange.request.query(),
                             exchange.request.body);
  }

  void go_on(const SharedExchange& exchange, Result<Command> command) const {
    exchange->request.body = {};
    if (!command) return exchange->respond(to_response(command.error()));
    const auto* claim = std::get_if<Claim>(&*command);
    const bool is_unnamed = claim != nullptr && claim->claim_id.empty();
    const auto permitted = permit(exchange->caller, *command);
    if (!permitted) return exchange->respond(to_response(permitted.error()));
    if (permitted->tasks.empty()) return submit(exchange, *std::move(command), is_unnamed);
    exchange->blocks_next = true;
    look_first(exchange, std::make_shared<Permit>(*permitted),
               std::make_shared<Command>(*std::move(command)));
  }

  // A task that is not the caller's is not there.
  void look_first(const SharedExchange& exchange, const std::shared_ptr<Permit>& permit,
                  const std::shared_ptr<Command>& command) const {
    if (permit->tasks.empty()) {
      let_next(*exchange);
      return submit(exchange, std::move(*command), false);
    }
    const std::string id = permit->tasks.back();
    permit->tasks.pop_back();
    ask(exchange, GetTask{.id = id}, {}, [*this, exchange, permit, command, id](Answer found) {
      const Task* const task = found ? &std::get<Task>(*found) : nullptr;
      if (task != nullptr && exchange->caller.may_see(task->queue, task->user)) {
        return look_first(exchange, permit, command);
      }
      let_next(*exchange);
      const bool is_gone = task != nullptr || found.error().code == ErrorCode::kNotFound;
      exchange->respond(
          to_response(is_gone ? Error{permit->hidden, "there is no task " + id} : found.error()));
    });
  }

  static void let_next(Exchange& exchange) {
    exchange.blocks_next = false;
    exchange.resume();
  }

  void submit(const SharedExchange& exchange, Command command, bool is_unnamed) const {
    Context context{.caller = exchange->caller.name,
                    .idempotency_key = idempotency_key_of(exchange->request)};
    if (const auto& key = context.idempotency_key;
        key && in_use_ && in_use_->has({context.caller, *key})) {
      return exchange->respond(to_response(KeysInUse::in_progress()));
    }
    if (const auto age = exchange->request.asked_key_age()) context.key_age = *age;
    if (wait_ms_of(command) > 0) context.stop = exchange->stop();
    std::string told;
    if (operation_.changes && operation_.scope == Scope::kAdmin) told = told_of(command);
    ask(exchange, std::move(command), std::move(context),
        [*this, exchange, is_unnamed, told = std::move(told)](Answer reply) {
          if (reply && !told.empty()) doors_.audit.note(*exchange, operation_.name, told);
          if (reply && is_unnamed) give_back_if_lost(*exchange, doors_.broker, *reply);
          if (reply) conceal(exchange->caller, *reply);
          answer(*exchange, reply);
        });
  }

  // `then` runs on the loop.
  template <class Then>
  void ask(const SharedExchange& exchange, Command command, Context context, Then then) const {
    doors_.broker.submit(
        std::move(command), std::move(context),
        [loop = doors_.loop.shared_from_this(), exchange, then = std::move(then)](Answer reply) {
          loop->post([then, reply = std::move(reply)]() mutable { then(std::move(reply)); });
        });
  }

  const Operation& operation_;
  Doors doors_;
  std::shared_ptr<const KeysInUse> in_use_;
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

void add_operations(Router& router, const Doors& doors) {
  const auto in_use = std::make_shared<KeysInUse>();
  for (const Operation& operation : kOperations) {
    const bool is_push = operation.name == "push";
    Route route{.method = operation.method,
                .path = operation.path,
                .scope = operation.scope,
                .body_limit = operation.body_limit,
                .serve = OperationDoor(operation, doors, is_push ? in_use : nullptr),
                .changes = operation.changes};
    if (is_push) {
      route.read_body = [doors, in_use](const auto& exchange) {
        return read_ndjson(exchange, doors, *in_use);
      };
    }
    router.add(std::move(route));
  }
}

}  // namespace retsu::server
