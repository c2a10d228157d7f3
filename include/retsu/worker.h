// Running tasks in this program.
//
//   retsu::Worker worker{queue, {.queues = {"mail"}, .concurrency = 8}};
//   worker.handle("send", [](retsu::Run& run) -> retsu::Outcome {
//     send_mail(run.task().payload);
//     return retsu::finish({{"sent", true}});
//   });
//   worker.run();
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "retsu/operations.h"
#include "retsu/queue.h"
#include "retsu/task.h"
#include "retsu/time.h"

namespace retsu_api {

struct WorkerOptions {
  std::vector<std::string> queues = {"default"};
  std::vector<std::string> users = {};  // none: all
  std::vector<std::string> steal = {};  // served only when none of `users` has a task
  int concurrency = 1;                  // tasks at once, each on a thread of its own; 1 to 1,000
  Duration lease = Duration(60'000);    // extended each third of it while a task runs
  std::string name = {};                // for people to see
  bool until_empty = false;             // run() returns when nothing is left to claim
};

// One task while it runs. The handler's, until it returns.
class Run {
 public:
  [[nodiscard]] const ClaimedTask& task() const;
  // Requested when the run should end now: the task was canceled, its lease is lost, its time is
  // over, or the worker must stop at once. What the handler answers then counts for nothing, unless
  // it has finished all the same.
  [[nodiscard]] std::stop_token stop() const;
  // For people to see, and for the next attempt. Told within about a second.
  void progress(const Json& value);

  class Body;

 private:
  friend class Worker;
  explicit Run(Body& body) : body_(body) {}
  Body& body_;
};

// An exception is a failure with its text, to be tried again.
using Handler = std::function<Outcome(Run&)>;

// Claims tasks of a queue, runs them and settles them. The queue must outlive it. A queue that
// cannot be reached for a while is asked again; how a run ended is told as long as its lease lasts.
class Worker {
 public:
  // Error `invalid`: options that no worker can have.
  Worker(Queue& queue, WorkerOptions options = {});  // NOLINT
  ~Worker();

  // Before run(). The handler is called on many threads at once. An empty type is for all tasks
  // whose type has no handler of its own; without one, those fail, to be tried again.
  void handle(const std::string& type, Handler handler);

  // Until `finish` is requested and what runs has ended. `now` ends the runs (see Run::stop), and
  // tasks that have not finished go back to the front of their lines. Throws Error if the queue
  // does not let it claim.
  void run(const std::stop_token& finish = {}, const std::stop_token& now = {});

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace retsu_api

namespace retsu {
namespace api = ::retsu_api;
using namespace ::retsu_api;
}  // namespace retsu
