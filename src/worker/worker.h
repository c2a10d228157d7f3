#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "broker/broker.h"

namespace retsu::worker {

// One task while it runs. The handler's, on its thread.
class Run {
 public:
  Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  virtual ~Run() = default;

  [[nodiscard]] virtual const ClaimedTask& task() const = 0;
  [[nodiscard]] virtual const std::string& claim_id() const = 0;
  // Requested when the run is to end now: its task was canceled, its lease is lost, its time is
  // over, or the worker must stop at once. What the handler answers then counts for nothing, unless
  // it has finished all the same.
  [[nodiscard]] virtual std::stop_token stop() const = 0;
  virtual void progress(Json value) = 0;  // told to the queue within about a second
};

// Runs one task and answers how it ended; id and fence are filled in for it. Must not throw.
using Handler = std::function<SettleOne(Run&)>;

// A run that is over.
struct Ended {
  const ClaimedTask& task;
  Outcome outcome;
  std::chrono::milliseconds took;
  Result<State> state;  // that the task is in now, or why the outcome was not taken
};

inline constexpr int kMostAtOnce = 1'000;  // what a claim may ask for

struct Settings {
  std::vector<std::string> queues = {"default"};
  std::vector<std::string> users = {};                 // empty: all
  std::vector<std::string> steal = {};                 // served when none of `users` has a task
  int concurrency = 1;                                 // kMostAtOnce at most
  Millis lease{60'000};                                // extended each third of it
  std::string name = {};                               // for people who look
  bool until_empty = false;                            // ends when nothing is left to claim
  std::function<void(const Ended&)> on_end = nullptr;  // on many threads at once
};

// Claims tasks, runs each on a thread of its own and settles it, `concurrency` at once. While a
// task runs, its lease is extended. A server that is away for a while costs nothing: claims are
// tried again under the same id, and how a run ended is told as long as its lease lasts.
class Worker {
 public:
  Worker(Broker& broker, Settings settings);  // the broker outlives it
  ~Worker();

  // Before it runs. An empty type is for tasks whose type has no handler of its own; without one,
  // those fail, to be tried again.
  void handle(const std::string& type, Handler handler);

  // Until `finish` is requested and what runs has ended; `now` ends the runs and gives their tasks
  // back. Refused: the queue does not let it claim (a wrong token, a bad name).
  Status run(const std::stop_token& finish, const std::stop_token& now = {});

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace retsu::worker
