#include "apps/library/hardcover_queue.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/ask.h"

namespace retsu::library {
namespace {

constexpr std::int64_t kRelayRows = 1'000;
constexpr std::int64_t kAgreedAtOnce = 1'000;
constexpr int kClaimRounds = 100;
constexpr int kRelayRounds = 10;               // for somebody who waits
constexpr std::int64_t kQueueAtOnce = 10'000;  // books in one transaction

// Claims last until they are settled, released or reset, as the seed has it.
QueuePolicy book_policy() {
  QueuePolicy policy;
  policy.lease_ms = 0;
  policy.timeout_ms = 0;
  policy.retry.base_ms = kMinute;
  policy.retry.max_ms = kHour;
  return policy;
}

Status check(const ClaimMissing& asked) {
  const auto invalid = [](std::string_view what) {
    return refuse(ErrorCode::kInvalid, std::string(what));
  };
  if (asked.limit < 1 || asked.limit > kBatch) {
    return invalid(fmt::format("limit: must be from 1 to {}", kBatch));
  }
  if (!asked.processing_id.empty() && !is_id(asked.processing_id)) {
    return invalid("processingId: must be 1 to 64 letters, digits and hyphens, such as a UUID");
  }
  // The drop of the previous one may be told again, and would then take what was claimed since.
  if (!asked.processing_id.empty() && asked.processing_id == asked.previous_processing_id) {
    return invalid("previousProcessingId: must be another one than processingId");
  }
  constexpr std::size_t kMostName = 100;
  const auto is_plain = [](unsigned char c) { return c >= ' ' && c != 0x7f; };
  if (asked.client.size() > kMostName || !std::ranges::all_of(asked.client, is_plain)) {
    return invalid(fmt::format("client: at most {} bytes, without control characters", kMostName));
  }
  return {};
}

Error not_held(const std::string& book_id) {
  return {ErrorCode::kStaleClaim, fmt::format("this claim does not hold book {}", book_id)};
}

// By this claim, now or until it was settled; or dropped, and now there is an id after all.
bool was_held(const Task& task, const std::string& claim_id) {
  constexpr State kStates[] = {State::kStarted, State::kFinished, State::kFailed,
                               State::kScheduled};
  return task.claim_id == claim_id && std::ranges::find(kStates, task.state) != std::end(kStates);
}

Shelf::Ids ids_in(const SettleBook& one) {
  return {one.hardcover_id, one.hardcover_slug, one.edition, one.authors};
}

}  // namespace

std::int64_t count_in(const QueueInfo& queue, State state) {
  const auto found = queue.tasks.find(std::string(name_of(state)));
  return found == queue.tasks.end() ? 0 : found->second;
}

bool is_id(const std::string& text) {
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  };
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, fits);
}

// A policy that somebody has set is theirs, but calls without a rate would overrun the service.
Status HardcoverQueue::make_queue(const char* name, const QueuePolicy& policy) {
  const auto found = call(broker_, GetQueue{name}, apps::with_patience());
  if (found && (found->policy.rate || !policy.rate)) return {};
  if (!found && found.error().code != ErrorCode::kNotFound) return tl::unexpected(found.error());
  const auto made = found
                        ? call(broker_, PatchQueue{name, pace_patch(policy)}, apps::with_patience())
                        : call(broker_, PutQueue{name, policy}, apps::with_patience());
  if (!made) return tl::unexpected(made.error());
  return {};
}

Status HardcoverQueue::prepare() {
  if (auto made = make_queue(kApiQueue, api_policy({})); !made) return made;
  if (auto made = make_queue(kBookQueue, book_policy()); !made) return made;
  relay();
  if (auto agreed = agree_if_counts_differ(); !agreed) return agreed;
  const auto queued = queue_all(
      "SELECT number, id FROM books INDEXED BY books_not_queued WHERE hardcover_id IS NULL"
      " AND task IS NULL AND reason IS NULL AND created_at <= ?1 ORDER BY number LIMIT ?2",
      kLatestTime);
  if (!queued) return tl::unexpected(queued.error());
  return {};
}

// Counting is cheap, and after a start nearly always enough.
Status HardcoverQueue::agree_if_counts_differ() {
  const auto queue = call(broker_, GetQueue{kBookQueue}, apps::with_patience());
  if (!queue) return tl::unexpected(queue.error());
  const auto known = database_.read([&] {
    apps::Rows rows = database_.query(
        "SELECT count(*) FROM books INDEXED BY books_queued WHERE task IS NOT NULL");
    return (rows.next() ? rows.integer(0) : 0) - outbox_.unsent_pushes();
  });
  if (!known) return tl::unexpected(known.error());
  std::int64_t live = 0;
  for (const State state : {State::kQueued, State::kStarted, State::kScheduled, State::kDeferred}) {
    live += count_in(*queue, state);
  }
  return live == *known ? Status() : agree();
}

// Tasks may end without the library: somebody canceled them, the store is another one, or a process
// ended before it could write down how they did.
Status HardcoverQueue::agree() {
  for (std::int64_t after = 0;;) {
    const auto rows = database_.read([&] { return shelf_.queued_after(after, kAgreedAtOnce); });
    if (!rows) return tl::unexpected(rows.error());
    if (rows->empty()) break;
    after = rows->back().number;
    std::vector<GetTask> looks;
    for (const BookRow& row : *rows) looks.push_back({.id = task_of(row.id, *row.task)});
    const auto tasks = apps::call_all(broker_, std::move(looks));
    auto agreed = database_.write([&]() -> Status {
      for (std::size_t i = 0; i < rows->size(); ++i) {
        const BookRow& row = (*rows)[i];
        const auto& task = tasks[i];
        if (outbox_.is_unsent(*row.task) || (task && !is_ended(task->state))) continue;
        if (task) {
          shelf_.leave_queue(
              row, fmt::format("its task is {}: {}", name_of(task->state),
                               task->error.empty() ? "not by the library" : task->error.view()));
        } else if (task.error().code == ErrorCode::kNotFound) {
          outbox_.push(row);
        } else {
          return tl::unexpected(task.error());
        }
      }
      return {};
    });
    if (!agreed) return agreed;
  }
  relay();
  return {};
}

Result<std::int64_t> HardcoverQueue::queue_all(std::string_view which, TimePoint before) {
  for (std::int64_t sum = 0;;) {
    std::vector<BookRow> rows;
    auto queued = database_.write([&]() -> Status {
      {
        apps::Rows found = database_.query(which, before, kQueueAtOnce);
        while (found.next()) rows.push_back({.number = found.integer(0), .id = found.text(1)});
      }
      for (const BookRow& row : rows) outbox_.push(row);
      return {};
    });
    if (!queued) return tl::unexpected(std::move(queued.error()));
    relay();
    sum += std::ssize(rows);
    if (rows.empty()) return sum;
  }
}

void HardcoverQueue::relay() {
  for (int round = 0; round < kRelayRounds; ++round) {
    const auto told = outbox_.relay(kRelayRows, clock_());
    if (!told || told->rows < kRelayRows) return;
  }
}

Result<MissingBooks> HardcoverQueue::claim(const ClaimMissing& asked) {
  if (auto fine = check(asked); !fine) return tl::unexpected(std::move(fine.error()));
  if (auto left = leave_previous(asked); !left) return tl::unexpected(std::move(left.error()));
  relay();
  MissingBooks answer;
  answer.processing_id = asked.processing_id.empty() ? ids_.next(clock_()) : asked.processing_id;
  // Books that need no id any more may fill a whole claim: then there is more to claim.
  for (int round = 0; round < kClaimRounds && answer.books.empty(); ++round) {
    const auto claimed = call(broker_,
                              Claim{.queues = {kBookQueue},
                                    .max = asked.limit,
                                    .lease_ms = 0,
                                    .worker = asked.client,
                                    .claim_id = claim_of(answer.processing_id)},
                              apps::with_patience());
    if (!claimed) return tl::unexpected(claimed.error());
    const auto unsent = database_.read([&] { return outbox_.unsent_pushes(); });
    answer.remaining_unclaimed = claimed->remaining + unsent.value_or(0);
    if (claimed->tasks.empty()) break;
    auto books = books_of(*claimed);
    if (!books) {
      // Nobody would know of the claim.
      (void)call(broker_, ReleaseClaim{claimed->claim_id}, apps::with_patience());
      return tl::unexpected(std::move(books.error()));
    }
    answer.books = *std::move(books);
  }
  return answer;
}

// An id that is none, or nobody's, is no error.
Status HardcoverQueue::leave_previous(const ClaimMissing& asked) {
  if (!is_id(asked.previous_processing_id)) return {};
  if (asked.unfinished == Unfinished::kRelease) {
    const auto released =
        call(broker_, ReleaseClaim{claim_of(asked.previous_processing_id)}, apps::with_patience());
    if (!released) return tl::unexpected(released.error());
    return {};
  }
  return database_.write([&]() -> Status {
    outbox_.drop(asked.previous_processing_id);
    return {};
  });
}

Result<std::vector<MissingBook>> HardcoverQueue::books_of(const ClaimReply& claimed) {
  std::vector<MissingBook> books;
  std::vector<BookRow> redriven;
  Settle needless{.claim_id = claimed.claim_id};
  const auto found = database_.read([&] {
    for (const ClaimedTask& task : claimed.tasks) {
      const auto name = task_name(task.id);
      const auto row = name ? shelf_.find(name->book_id) : std::nullopt;
      // A dead letter that somebody has put back is the book's task again.
      const bool is_redriven = row && !row->task && row->last_task == name->row;
      if (row && !row->has_id && (row->task == name->row || is_redriven)) {
        books.push_back(shelf_.read_missing(*row));
        if (is_redriven) redriven.push_back(*row);
        continue;
      }
      SettleOne& one = needless.results.emplace_back();
      one.id = task.id;
      if (row) continue;
      one.outcome = Outcome::kFail;
      one.error = "there is no such book in the library";
      one.retryable = false;
    }
    return true;
  });
  if (!found) return tl::unexpected(found.error());
  if (!redriven.empty()) {
    auto joined = database_.write([&]() -> Status {
      for (const BookRow& row : redriven) shelf_.rejoin_queue(row);
      return {};
    });
    if (!joined) return tl::unexpected(std::move(joined.error()));
  }
  if (needless.results.empty()) return books;
  const auto settled = call(broker_, std::move(needless), apps::with_patience());
  if (!settled) return tl::unexpected(settled.error());
  return books;
}

Result<BookRow> HardcoverQueue::row_of_book(const SettleBook& one) {
  auto row = shelf_.find(one.book_id);
  if (!row) return refuse(ErrorCode::kNotFound, fmt::format("there is no book {}", one.book_id));
  if (!row->last_task) return tl::unexpected(not_held(one.book_id));
  return *std::move(row);
}

Result<SettledBooks> HardcoverQueue::settle(const SettleBooks& asked) {
  const std::string claim_id = claim_of(asked.processing_id);
  SettledBooks answer;
  const auto settling = held_by(claim_id, asked, answer);
  if (!settling) return tl::unexpected(settling.error());
  if (settling->empty()) return answer;
  // First here, then in the queue: a crash in between repeats something, and loses nothing.
  auto kept = database_.write([&]() -> Status {
    for (const Settling& each : *settling) keep(each);
    return {};
  });
  if (!kept) return tl::unexpected(std::move(kept.error()));
  Settle settle{.claim_id = claim_id};
  for (const Settling& each : *settling) settle.results.push_back(settle_of(each));
  const auto settled = call(broker_, std::move(settle), apps::with_patience());
  if (!settled) return tl::unexpected(settled.error());
  std::vector<BookRow> dead;
  for (std::size_t i = 0; i < settling->size(); ++i) {
    const Settling& each = (*settling)[i];
    const Settled& task = settled->results[i];
    SettledBook& told = answer.results[each.place];
    // A match is kept, whatever the queue says of the task.
    told.ok = task.ok || each.one.outcome == Verdict::kMatched;
    if (!told.ok) told.error = task.error;
    if (task.state == State::kFailed) dead.push_back(each.row);
  }
  if (!dead.empty()) {
    auto left = database_.write([&]() -> Status {
      for (const BookRow& row : dead) shelf_.leave_queue(row, {});
      return {};
    });
    if (!left) return tl::unexpected(std::move(left.error()));
  }
  relay();
  return answer;
}

// Those that the claim holds, or held until they were settled; of the others the answer says why.
Result<std::vector<HardcoverQueue::Settling>> HardcoverQueue::held_by(const std::string& claim_id,
                                                                      const SettleBooks& asked,
                                                                      SettledBooks& answer) {
  std::vector<Settling> known;
  const auto found = database_.read([&] {
    for (const SettleBook& one : asked.results) {
      SettledBook& told = answer.results.emplace_back();
      told.book_id = one.book_id;
      if (auto row = row_of_book(one)) {
        known.push_back({one, *std::move(row), answer.results.size() - 1});
      } else {
        told.error = std::move(row.error());
      }
    }
    return true;
  });
  if (!found) return tl::unexpected(found.error());
  std::vector<GetTask> looks;
  for (const Settling& each : known) {
    looks.push_back({.id = task_of(each.row.id, *each.row.last_task)});
  }
  const auto tasks = apps::call_all(broker_, std::move(looks));
  std::vector<Settling> held;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const auto& task = tasks[i];
    if (!task && task.error().code != ErrorCode::kNotFound) return tl::unexpected(task.error());
    if (task && was_held(*task, claim_id)) {
      held.push_back(std::move(known[i]));
      held.back().is_running = task->state == State::kStarted;
    } else {
      answer.results[known[i].place].error = not_held(known[i].row.id);
    }
  }
  return held;
}

void HardcoverQueue::keep(const Settling& settling) {
  const SettleBook& one = settling.one;
  const BookRow& row = settling.row;
  if (one.outcome == Verdict::kMatched) {
    shelf_.set_ids(row, ids_in(one), clock_());
  } else if (one.outcome == Verdict::kRelease || !settling.is_running) {
    return;  // nothing new, or settled before
  } else {
    shelf_.note_attempt(row, one.reason, clock_());
  }
  if (one.outcome != Verdict::kFailed) outbox_.cancel(row);
}

SettleOne HardcoverQueue::settle_of(const Settling& settling) {
  const SettleBook& one = settling.one;
  SettleOne task;
  task.id = task_of(settling.row.id, *settling.row.last_task);
  if (one.outcome == Verdict::kFailed) {
    task.outcome = Outcome::kFail;
    task.error = one.reason;
    task.retryable = one.retryable;
  } else if (one.outcome == Verdict::kRelease) {
    task.outcome = Outcome::kRelease;
  } else {
    task.result = fmt::format(R"({{"matched":{}}})", one.outcome == Verdict::kMatched);
  }
  return task;
}

}  // namespace retsu::library
