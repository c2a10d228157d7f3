#include "retsu/worker.h"

#include <exception>
#include <utility>

#include "api/door.h"
#include "api/tables.h"
#include "base/utf8.h"
#include "model/json.h"
#include "worker/outcomes.h"
#include "worker/worker.h"

namespace retsu_api {
namespace {

WorkerOptions checked(WorkerOptions options) {
  if (options.concurrency < 1 || options.concurrency > retsu::worker::kMostAtOnce) {
    throw Error("invalid", "concurrency: must be 1 to 1,000");
  }
  if (options.lease <= Duration(0)) throw Error("invalid", "lease: must be more than 0");
  return options;
}

}  // namespace

class Run::Body {
 public:
  explicit Body(retsu::worker::Run& run)
      : run_(run), task_(from_text<ClaimedTask>(to_text(run.task()))) {
    task_.claim_id = run.claim_id();
  }

  [[nodiscard]] const ClaimedTask& task() const { return task_; }
  retsu::worker::Run& run() { return run_; }

 private:
  retsu::worker::Run& run_;
  ClaimedTask task_;
};

const ClaimedTask& Run::task() const { return body_.task(); }
std::stop_token Run::stop() const { return body_.run().stop(); }
void Run::progress(const Json& value) { body_.run().progress(retsu::Json(value.text())); }

class Worker::Body {
 public:
  Body(Queue& queue, const WorkerOptions& options)
      : worker_(queue.door().broker(), {.queues = options.queues,
                                        .users = options.users,
                                        .steal = options.steal,
                                        .concurrency = options.concurrency,
                                        .lease = options.lease,
                                        .name = options.name,
                                        .until_empty = options.until_empty}) {}

  retsu::worker::Worker& worker() { return worker_; }

 private:
  retsu::worker::Worker worker_;
};

Worker::Worker(Queue& queue, WorkerOptions options)
    : body_(std::make_unique<Body>(queue, checked(std::move(options)))) {}
Worker::~Worker() = default;

void Worker::handle(const std::string& type, Handler handler) {
  body_->worker().handle(type, [handler = std::move(handler)](retsu::worker::Run& inner) {
    try {
      Run::Body body(inner);
      Run run(body);
      Outcome outcome = handler(run);
      outcome.id = inner.task().id;  // which its table requires
      return from_text<retsu::SettleOne>(to_text(outcome));
    } catch (const std::exception& error) {
      return retsu::worker::failed(retsu::as_utf8(error.what()));
    } catch (...) {
      return retsu::worker::failed("the handler threw something that is no exception");
    }
  });
}

void Worker::run(const std::stop_token& finish, const std::stop_token& now) {
  if (const auto ran = body_->worker().run(finish, now); !ran) throw to_public(ran.error());
}

}  // namespace retsu_api
