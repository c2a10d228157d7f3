#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "retsu/json.h"
#include "retsu/operations.h"
#include "retsu/pipeline.h"
#include "retsu/policy.h"
#include "retsu/task.h"

namespace retsu_api {

// A queue that this program has open.
//
// Ownership: the handle owns its store, can be moved but not copied, and closes the store when it
// goes. No call may be under way then.
// Threads: all functions may be called from many threads at once.
// Durability: a call on a directory returns when what it did is synced to disk. A queue in memory
// is gone with its handle.
// Failure: every function throws Error, and then has changed nothing, unless the code is
// `outcome_unknown`. Which codes to expect is said where it is not obvious.
class Queue {
 public:
  Queue(Queue&& other) noexcept;
  Queue& operator=(Queue&& other) noexcept;
  ~Queue();

  // Pushes a task; many tasks, all or none; a pipeline, all or none.
  Pushed push(NewTask task, const PushOptions& options = {});
  std::vector<Pushed> push_all(std::vector<NewTask> tasks, const PushOptions& options = {});
  PushedPipeline push(const Pipeline& pipeline, const PushOptions& options = {});

  // Takes tasks to work on. The answer is empty if there is no work within request.wait, or as soon
  // as `stop` is requested.
  Claim claim(const ClaimRequest& request = {}, const std::stop_token& stop = {});

  // Tell how the work on one task went (see Outcome), and answer the state that it is in now. Error
  // `stale_claim` if it is no longer this claim's: the lease ended, or it was canceled.
  State finish(const ClaimedTask& task, Json result = {});
  State fail(const ClaimedTask& task, std::string error, const FailOptions& options = {});
  State release(const ClaimedTask& task);
  State throttle(const ClaimedTask& task, std::optional<Duration> retry_after = {});
  State await(const ClaimedTask& task, std::vector<NewTask> children);

  // For several tasks of one claim, or for all that it holds, in one call. What went wrong with one
  // task stands in its answer and is not thrown.
  std::vector<Settled> settle(const Claim& claim, std::vector<Outcome> outcomes);
  std::vector<Settled> settle_all(const Claim& claim, OutcomeKind kind);

  // Keeps the claim alive, and tells which of its tasks need no more work.
  Extended extend(const Claim& claim, const ExtendOptions& options = {});
  // Gives back what the claim still holds; answers how many tasks.
  std::int64_t release(const Claim& claim);

  // With `wait`, at most 5 minutes, answered when the task has ended, at latest after that.
  Task get_task(const std::string& id, Duration wait = {});
  Why why(const std::string& id);
  Task cancel_task(const std::string& id);
  Task retry_task(const std::string& id);  // a FAILED or CANCELED one

  QueueInfo get_queue(const std::string& queue);
  // Replaces the whole policy; what is not named is set to its default.
  QueueInfo put_queue(const std::string& queue, const QueuePolicy& policy);
  Stats stats();

  // Every operation of docs/operations.md by its name, with the body and the answer as JSON, for
  // what has no function of its own: `queue.call("pause_queue", {{"queue", "mail"}})`. Error
  // `not_found` if there is no such operation, `unknown_field` or `invalid` for a wrong body.
  Json call(std::string_view operation, const Json& body = Json::object(),
            const std::string& idempotency_key = {});

  class Door;

 private:
  friend Queue open(const std::string& where);
  friend class Worker;
  explicit Queue(std::unique_ptr<Door> door);
  [[nodiscard]] Door& door() const;
  State settle_one(const ClaimedTask& task, Outcome outcome);

  std::unique_ptr<Door> door_;
};

// Opens the queue that is kept in a directory, which is made if it is not there; that of a server,
// `http://host:7380` or `https://…`, with the token in the environment variable RETSU_TOKEN; or
// `memory:`, a new one that is never written anywhere. A server is first asked with the first call.
//
// Error `conflict`: another handle, in this program or another one, has the directory open.
// `unavailable`: it cannot be read or written, is damaged, or is from a later version; and, in this
// version, `redis://…`. `invalid`: not the name of a place.
Queue open(const std::string& where);

}  // namespace retsu_api

namespace retsu {
namespace api = ::retsu_api;
using namespace ::retsu_api;
}  // namespace retsu
