// What administrators and the pace of the service ask of the queue of books.
#include <fmt/format.h>

#include "apps/ask.h"
#include "apps/library/hardcover_queue.h"

namespace retsu::library {
namespace {

constexpr std::int64_t kCleanedAtOnce = 1'000;

// A moment so many minutes ago.
Result<TimePoint> before(std::int64_t older_than, TimePoint now) {
  constexpr std::int64_t kMostMinutes = std::int64_t{60} * 24 * 365 * 100;
  if (older_than >= 0 && older_than <= kMostMinutes) return now - std::chrono::minutes(older_than);
  return refuse(ErrorCode::kInvalid,
                "olderThan: must be a number of minutes from 0 to a hundred years");
}

}  // namespace

// Calls under way may reach the service later than others that started after them. So as many as
// may be under way are kept out of the burst, and one more for a client that slept.
QueuePolicy api_policy(const Pace& pace) {
  QueuePolicy policy;
  policy.concurrency = std::max<std::int64_t>(1, pace.burst / 2);
  policy.rate = Rate{.limit = pace.quota,
                     .per_ms = pace.window_seconds * kSecond,
                     .burst = std::max<std::int64_t>(1, pace.burst - *policy.concurrency - 1)};
  policy.throttle_ms = kMinute;
  policy.timeout_ms = kMinute;     // the service itself gives up after 30 s
  policy.retry.max_attempts = 12;  // half an hour, so that an outage buries nothing
  policy.retry.base_ms = 2 * kSecond;
  policy.retry.max_ms = 10 * kMinute;
  return policy;
}

Json pace_patch(const QueuePolicy& policy) {
  return Json(fmt::format(R"({{"concurrency":{},"rate":{{"limit":{},"per_ms":{},"burst":{}}}}})",
                          *policy.concurrency, policy.rate->limit, policy.rate->per_ms,
                          policy.rate->burst));
}

Result<ResetCount> HardcoverQueue::reset_old(const ResetOld& asked) {
  const auto latest = before(asked.older_than, clock_());
  if (!latest) return tl::unexpected(latest.error());
  std::vector<std::string> old;
  for (ListClaims list{.limit = broker_.capabilities().limits.page};;) {
    auto page = call(broker_, list, apps::with_patience());
    if (!page) return tl::unexpected(std::move(page.error()));
    for (const ClaimInfo& claim : page->claims) {
      const auto processing_id = processing_id_of(claim.claim_id);
      if (processing_id && claim.claimed_at <= *latest) old.push_back(*processing_id);
    }
    if (!page->next_cursor) break;
    list.cursor = *page->next_cursor;
  }
  ResetCount sum;
  for (const std::string& processing_id : old) {
    const auto one = reset(processing_id);
    if (!one) return one;
    sum.reset_count += one->reset_count;
  }
  return sum;
}

Result<ResetCount> HardcoverQueue::reset(const std::string& processing_id) {
  if (!is_id(processing_id)) return ResetCount{};
  const auto released = call(broker_, ReleaseClaim{claim_of(processing_id)}, apps::with_patience());
  if (!released) return tl::unexpected(released.error());
  return ResetCount{released->released};
}

Result<RemovedCount> HardcoverQueue::cleanup() {
  // What is on its way is not what was forgotten.
  relay();
  RemovedCount sum;
  for (;;) {
    std::vector<BookRow> rows;
    auto found = database_.write([&]() -> Status {
      {
        apps::Rows found_rows = database_.query(
            "SELECT number, id, task FROM books INDEXED BY books_to_clean"
            " WHERE hardcover_id IS NOT NULL AND task IS NOT NULL LIMIT ?",
            kCleanedAtOnce);
        while (found_rows.next()) {
          rows.push_back({.number = found_rows.integer(0),
                          .id = found_rows.text(1),
                          .has_id = true,
                          .task = found_rows.integer(2)});
        }
      }
      for (const BookRow& row : rows) outbox_.cancel(row);
      return {};
    });
    if (!found) return tl::unexpected(std::move(found.error()));
    if (rows.empty()) return sum;
    const auto told = outbox_.relay(kCleanedAtOnce, clock_());
    if (!told) return tl::unexpected(told.error());
    sum.removed_count += told->canceled;
  }
}

Result<QueuedCount> HardcoverQueue::requeue(const Requeue& asked) {
  const auto latest = before(asked.older_than, clock_());
  if (!latest) return tl::unexpected(latest.error());
  if (auto agreed = agree_if_counts_differ(); !agreed) return tl::unexpected(agreed.error());
  const auto queued = queue_all(
      "SELECT number, id FROM books INDEXED BY books_not_queued WHERE hardcover_id IS NULL"
      " AND task IS NULL AND coalesce(checked_at, 0) <= ?1 ORDER BY number LIMIT ?2",
      *latest);
  if (!queued) return tl::unexpected(queued.error());
  return QueuedCount{*queued};
}

Result<Pace> HardcoverQueue::set_pace(const SetPace& asked) {
  const auto fits = [](std::int64_t value, std::int64_t most) {
    return value >= 1 && value <= most;
  };
  if (!fits(asked.quota, 1'000'000) || !fits(asked.window_seconds, 86'400) ||
      !fits(asked.burst, 10'000)) {
    return refuse(ErrorCode::kInvalid,
                  "quota must be from 1 to 1000000, windowSeconds to 86400, burst to 10000");
  }
  const Pace pace{asked.quota, asked.window_seconds, asked.burst};
  const QueuePolicy wanted = api_policy(pace);
  const auto now = call(broker_, GetQueue{kApiQueue}, apps::with_patience());
  if (!now) return tl::unexpected(now.error());
  if (now->policy.rate == wanted.rate && now->policy.concurrency == wanted.concurrency) return pace;
  const auto set = call(broker_, PatchQueue{kApiQueue, pace_patch(wanted)}, apps::with_patience());
  if (!set) return tl::unexpected(set.error());
  return pace;
}

Result<LibraryStatus> HardcoverQueue::status() {
  const auto queue = call(broker_, GetQueue{kBookQueue}, apps::with_patience());
  if (!queue) return tl::unexpected(queue.error());
  std::int64_t unsent = 0;
  std::int64_t waiting = 0;  // of those, books to be queued
  const auto counts = database_.read([&] {
    unsent = outbox_.unsent();
    waiting = outbox_.unsent_pushes();
    return shelf_.count();
  });
  if (!counts) return tl::unexpected(counts.error());
  return LibraryStatus{.books = counts->books,
                       .with_id = counts->with_id,
                       .unclaimed = count_in(*queue, State::kQueued) + waiting,
                       .claimed = count_in(*queue, State::kStarted),
                       .retrying = count_in(*queue, State::kScheduled),
                       .without_match = counts->not_queued,
                       .unsent = unsent};
}

}  // namespace retsu::library
