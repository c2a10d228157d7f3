#include "server/applications.h"

#include <utility>

namespace retsu::server {
namespace {

HttpResponse to_http_response(const Result<AppResponse>& answer) {
  if (!answer) return to_response(answer.error());
  HttpResponse response{.status = answer->status, .body = answer->body};
  if (answer->replayed) response.headers.emplace_back(kReplayed, "true");
  return response;
}

}  // namespace

// Serves one row of the application's table.
class ApplicationThread::Door {
 public:
  Door(ApplicationThread& owner, const Operation& operation, const Doors& doors)
      : owner_(owner), operation_(operation), doors_(doors) {}

  void operator()(const std::shared_ptr<Exchange>& exchange) const {
    const HttpRequest& request = exchange->request;
    if (exchange->caller.is_limited()) {
      return exchange->respond(to_response(
          {ErrorCode::kForbidden, "a token that is limited to queues or a user may not use this"}));
    }
    auto asked =
        std::make_shared<AppRequest>(AppRequest{.path = exchange->path_fields,
                                                .query = std::string(request.query()),
                                                .body = std::exchange(exchange->request.body, {}),
                                                .caller = exchange->caller.name,
                                                .idempotency_key = idempotency_key_of(request)});
    if (const auto age = request.asked_key_age()) asked->key_age = *age;
    boost::asio::post(owner_.thread_,
                      [*this, exchange, asked, loop = doors_.loop.shared_from_this()]() mutable {
                        auto answer = std::make_shared<Result<AppResponse>>(
                            owner_.is_ending_ ? refuse(ErrorCode::kShutdown, "the server stops")
                                              : owner_.application_.serve(operation_, *asked));
                        loop->post([*this, exchange = std::move(exchange), asked, answer] {
                          respond(*exchange, *asked, *answer);
                        });
                      });
  }

 private:
  void respond(Exchange& exchange, const AppRequest& asked,
               const Result<AppResponse>& answer) const {
    if (answer && operation_.changes && operation_.scope == Scope::kAdmin) {
      doors_.audit.note(exchange, operation_.name, asked.body);
    }
    if (answer && answer->on_lost) {
      exchange.on_lost = [&owner = owner_, on_lost = answer->on_lost] { owner.undo(on_lost); };
    }
    exchange.respond(to_http_response(answer));
  }

  ApplicationThread& owner_;
  const Operation& operation_;
  Doors doors_;
};

void ApplicationThread::add_to(Router& router, const Doors& doors) {
  for (const Operation& operation : application_.operations()) {
    router.add({.method = operation.method,
                .path = operation.path,
                .scope = operation.scope,
                .body_limit = operation.body_limit,
                .serve = Door(*this, operation, doors),
                .changes = operation.changes});
  }
}

void ApplicationThread::tick() {
  if (is_ticking_.exchange(true)) return;
  boost::asio::post(thread_, [this] {
    application_.tick();
    is_ticking_ = false;
  });
}

void ApplicationThread::undo(std::function<void()> on_lost) {
  if (has_ended_) return on_lost();  // nobody else uses the application any more
  boost::asio::post(thread_, std::move(on_lost));
}

void ApplicationThread::finish() {
  is_ending_ = true;
  thread_.join();
  has_ended_ = true;
}

}  // namespace retsu::server
