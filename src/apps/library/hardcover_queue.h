// The books without a Hardcover id, as tasks of the queue `hardcover`, and who has claimed them.
#pragma once

#include <functional>
#include <string>

#include "apps/library/outbox.h"

namespace retsu::library {

inline constexpr const char* kApiQueue = "hardcover-api";  // its calls, paced for all clients

// What a policy must be for all calls together to stay within what the service allows.
QueuePolicy api_policy(const Pace& pace);
Json pace_patch(const QueuePolicy& policy);

bool is_id(const std::string& text);  // could be a processing id

std::int64_t count_in(const QueueInfo& queue, State state);

class HardcoverQueue {
 public:
  using Clock = std::function<TimePoint()>;

  HardcoverQueue(apps::Database& database, Shelf& shelf, Broker& broker, Clock clock)
      : database_(database),
        shelf_(shelf),
        broker_(broker),
        clock_(std::move(clock)),
        outbox_(database, broker) {}

  // Makes the queues, unless they are there, finds out what became of tasks that ended without the
  // library, and queues the books that never were: those of a list that is older than the queue.
  Status prepare();

  // Inside a transaction; `relay` tells the queue of it.
  Outbox& outbox() { return outbox_; }
  // What cannot be told now is told later.
  void relay();

  Result<MissingBooks> claim(const ClaimMissing& asked);
  Result<SettledBooks> settle(const SettleBooks& asked);
  Result<ResetCount> reset_old(const ResetOld& asked);
  Result<ResetCount> reset(const std::string& processing_id);
  Result<RemovedCount> cleanup();
  Result<QueuedCount> requeue(const Requeue& asked);
  Result<Pace> set_pace(const SetPace& asked);
  Result<LibraryStatus> status();

 private:
  struct Settling {
    const SettleBook& one;
    BookRow row;
    std::size_t place;        // in the answer
    bool is_running = false;  // else it was settled before
  };
  Result<std::vector<Settling>> held_by(const std::string& claim_id, const SettleBooks& asked,
                                        SettledBooks& answer);
  void keep(const Settling& settling);
  static SettleOne settle_of(const Settling& settling);
  Status agree_if_counts_differ();
  Status agree();
  Status make_queue(const char* name, const QueuePolicy& policy);
  Status leave_previous(const ClaimMissing& asked);
  Result<std::vector<MissingBook>> books_of(const ClaimReply& claimed);
  Result<BookRow> row_of_book(const SettleBook& one);
  Result<std::int64_t> queue_all(std::string_view which, TimePoint before);

  apps::Database& database_;
  Shelf& shelf_;
  Broker& broker_;
  const Clock clock_;
  Outbox outbox_;
  UuidSource ids_;
};

}  // namespace retsu::library
