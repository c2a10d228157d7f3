#include "apps/library/updater.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "apps/library/hardcover_queue.h"
#include "base/rest.h"
#include "base/utf8.h"
#include "base/wall_clock.h"

namespace retsu::library {
namespace {

constexpr Millis kBetweenLooks{2'000};  // at a queue that gives nothing

std::vector<LookupQuery> queries_of(const MissingBook& book) {
  std::vector<LookupQuery> queries;
  if (book.isbn13) queries.push_back({.isbn13 = *book.isbn13});
  if (!book.authors.empty()) {
    queries.push_back({.title = book.title, .author = book.authors.front().name});
  }
  return queries;
}

SettleBook matched(const MissingBook& book, const Found& found) {
  SettleBook one{.book_id = book.book_id,
                 .outcome = Verdict::kMatched,
                 .hardcover_id = found.book_id,
                 .edition = HardcoverIds{.id = book.edition_id, .hardcover_id = found.edition_id}};
  if (!found.book_slug.empty()) one.hardcover_slug = found.book_slug;
  for (const Author& ours : book.authors) {
    for (const FoundAuthor& theirs : found.authors) {
      if (ours.name != theirs.name) continue;
      HardcoverIds ids{.id = ours.id, .hardcover_id = theirs.id};
      if (!theirs.slug.empty()) ids.hardcover_slug = theirs.slug;
      one.authors.push_back(std::move(ids));
      break;
    }
  }
  return one;
}

}  // namespace

Updater::Updater(Door& library, Broker& broker, ResumePlace& place, UpdateSettings settings,
                 std::function<void(const UpdateProgress&)> on_progress)
    : library_(library),
      broker_(broker),
      place_(place),
      settings_(std::move(settings)),
      on_progress_(std::move(on_progress)),
      caller_(settings_.hardcover, library, [this] { refused_.request_stop(); }) {}

Result<UpdateProgress> Updater::run(const std::stop_token& stop) {
  // A refused token stops as a signal does.
  std::stop_source enough;
  const std::stop_callback on_stop(stop, [&] { enough.request_stop(); });
  const std::stop_callback on_refused(refused_.get_token(), [&] { enough.request_stop(); });

  worker::Worker worker(broker_, {.queues = {kApiQueue},
                                  .concurrency = settings_.at_once,
                                  .lease = settings_.lease,
                                  .name = settings_.hardcover.client});
  worker.handle(kLookupType, [this](worker::Run& run) { return caller_.run(run); });
  std::stop_source books_done;
  const std::stop_callback on_enough(enough.get_token(), [&] { books_done.request_stop(); });
  Status ran;
  std::jthread lookups([&] {
    ran = worker.run(books_done.get_token());
    if (!ran) enough.request_stop();
    lookups_over_.request_stop();
  });

  Status status;
  while (status && !enough.stop_requested()) {
    const bool resumes = !place_.processing_id().empty();
    if (!resumes) status = place_.keep(ids_.next(wall_clock()));
    if (!status) break;
    auto claimed = library_.ask(ClaimMissing{.processing_id = place_.processing_id(),
                                             .limit = settings_.batch,
                                             .client = settings_.hardcover.client},
                                {}, enough.get_token());
    if (!claimed) {
      if (!enough.stop_requested()) status = tl::unexpected(std::move(claimed.error()));
      break;
    }
    if (claimed->processing_id != place_.processing_id())
      status = place_.keep(claimed->processing_id);
    note_left(claimed->remaining_unclaimed, std::ssize(claimed->books));
    if (claimed->books.empty()) {
      place_.clear();
      if (claimed->remaining_unclaimed == 0 && !settings_.follow) break;
      (void)rest(kBetweenLooks, enough.get_token());
      continue;
    }
    if (status) status = work_on(*claimed, enough.get_token());
    if (status) place_.clear();
  }
  books_done.request_stop();
  lookups.join();
  if (const auto refusal = caller_.refusal()) {
    return refuse(
        ErrorCode::kUnauthorized,
        fmt::format("Hardcover does not accept the token, or it is not there: {}", *refusal));
  }
  if (!ran) return tl::unexpected(ran.error());
  if (!status) return tl::unexpected(status.error());
  const std::lock_guard lock(mutex_);
  return progress_;
}

// Some at a time, in their order; those that nobody has begun when it stops are released.
Status Updater::work_on(const MissingBooks& claimed, const std::stop_token& stop) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  Status status;
  std::vector<MissingBook> rest_of_them;
  const auto work = [&] {
    for (;;) {
      const std::size_t place = next++;
      if (place >= claimed.books.size()) return;
      const MissingBook& book = claimed.books[place];
      SettleBook one{.book_id = book.book_id, .outcome = Verdict::kRelease};
      bool has_failed = false;
      {
        const std::lock_guard lock(mutex);
        has_failed = !status;
      }
      if (!stop.stop_requested() && !has_failed) one = look_up_book(book, stop);
      Result<bool> settled = false;
      if (one.outcome != Verdict::kRelease) settled = settle(claimed.processing_id, std::move(one));
      const std::lock_guard lock(mutex);
      if (settled && !*settled) rest_of_them.push_back(book);
      if (!settled && status) status = tl::unexpected(std::move(settled.error()));
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < settings_.at_once; ++i) threads.emplace_back(work);
  }
  if (!status || rest_of_them.empty()) return status;
  return release(claimed.processing_id, rest_of_them);
}

SettleBook Updater::look_up_book(const MissingBook& book, const std::stop_token& stop) {
  SettleBook one{.book_id = book.book_id, .outcome = Verdict::kUnmatched};
  for (const LookupQuery& query : queries_of(book)) {
    // What has begun is waited for; then there is nobody left to begin anything.
    auto found = look_up(broker_, query, settings_.hardcover.client, lookups_over_.get_token());
    if (!found) {
      one.outcome = stop.stop_requested() || found.error().code == ErrorCode::kShutdown
                        ? Verdict::kRelease
                        : Verdict::kFailed;
      one.reason = clipped(found.error().message, 900);
      one.retryable = found.error().code != ErrorCode::kInvalid;
      return one;
    }
    if (*found) return matched(book, **found);
    one.reason += one.reason.empty() ? "" : ", ";
    one.reason +=
        query.isbn13.empty() ? "no edition of this title and author" : "no edition of this ISBN";
  }
  if (one.reason.empty()) one.reason = "neither an ISBN nor an author to look for";
  return one;
}

// False: the library did not take it, and the claim still holds the book.
Result<bool> Updater::settle(const std::string& processing_id, SettleBook one) {
  const Verdict verdict = one.outcome;
  const auto settled =
      library_.ask(SettleBooks{.processing_id = processing_id, .results = {std::move(one)}});
  if (!settled) return tl::unexpected(settled.error());
  const bool is_lost = settled->results.empty() || !settled->results[0].ok;
  if (is_lost && !settled->results.empty() && settled->results[0].error) {
    const ErrorCode code = settled->results[0].error->code;
    if (code != ErrorCode::kStaleClaim && code != ErrorCode::kNotFound) return false;
  }
  {
    const std::lock_guard lock(mutex_);
    std::int64_t& count = is_lost                          ? progress_.lost
                          : verdict == Verdict::kMatched   ? progress_.matched
                          : verdict == Verdict::kUnmatched ? progress_.unmatched
                                                           : progress_.failed;
    ++count;
    --progress_.left;
  }
  tell();
  return true;
}

Status Updater::release(const std::string& processing_id, const std::vector<MissingBook>& books) {
  SettleBooks release{.processing_id = processing_id};
  for (const MissingBook& book : books) {
    release.results.push_back({.book_id = book.book_id, .outcome = Verdict::kRelease});
  }
  const auto released = library_.ask(release);
  if (!released) return tl::unexpected(released.error());
  return {};
}

void Updater::note_left(std::int64_t unclaimed, std::int64_t own) {
  {
    const std::lock_guard lock(mutex_);
    progress_.left = unclaimed + own;
    if (left_at_first_ < 0) left_at_first_ = progress_.left;
  }
  tell();
}

void Updater::tell() {
  const std::lock_guard lock(mutex_);
  const std::int64_t done = left_at_first_ - progress_.left;
  progress_.to_go.reset();
  if (done > 0) {
    const auto took = std::chrono::duration_cast<Millis>(Steady::now() - began_);
    progress_.to_go = took * progress_.left / done;
  }
  if (on_progress_) on_progress_(progress_);
}

}  // namespace retsu::library
