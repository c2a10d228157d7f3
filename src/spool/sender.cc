#include "spool/sender.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rest.h"
#include "base/wall_clock.h"

namespace retsu::spool {
namespace {

using Kind = Verdict::Kind;
using FailureKind = HttpFailure::Kind;
using How = Spool::Ended::How;
using End = Sender::Pass::End;

// With a server at once. More means fewer changes of the file; after a kill, as many are sent
// twice.
constexpr std::size_t kBatch = 100;
constexpr std::size_t kBatchBytes = std::size_t{1} << 20;
// Connections that break over the same entry are its fault in the end; time that runs out counts
// more, because it takes more.
constexpr int kMostBroken = 10;
constexpr int kTimeoutCounts = 5;
// So many refusals, one after the other, are about all.
constexpr int kMostRefused = 3;
constexpr Millis kForbiddenPause{60'000};
constexpr Millis kFirstPause{10};
constexpr Millis kLongestPause{1'000};
constexpr Millis kDefaultHold{1'000};
constexpr Millis kBusyPause{1'000};

}  // namespace

Sender::Sender(Spool& spool, SendSettings settings, Listener listener)
    : spool_(spool), settings_(std::move(settings)), listener_(std::move(listener)) {}

std::vector<std::pair<std::string, std::string>> Sender::credentials() const {
  if (settings_.token.empty()) return {};
  return {{"Authorization", "Bearer " + settings_.token}};
}

Status Sender::check_health(const std::stop_token& stop) {
  const std::string url = settings_.url + "/healthz";
  const auto answer = client_.call(
      {.url = url, .headers = credentials(), .timeout = settings_.health_timeout}, stop);
  if (!answer) {
    const bool is_url = answer.error().kind != FailureKind::kInvalid;
    return refuse(is_url ? ErrorCode::kUnavailable : ErrorCode::kInvalid,
                  fmt::format("{}: {}", settings_.url, answer.error().message));
  }
  if (answer->status == 200) return {};
  return refuse(ErrorCode::kUnavailable, fmt::format("{} answered {}", url, answer->status));
}

Result<Sender::Pass> Sender::send_due(const std::stop_token& stop) {
  const auto first = spool_.peek();
  if (!first) return tl::unexpected(first.error());
  if (*first) {
    if (auto healthy = check_health(stop); !healthy) {
      if (healthy.error().code == ErrorCode::kInvalid) return tl::unexpected(healthy.error());
      return Pass{.end = stop.stop_requested() ? End::kStopped : End::kOffline,
                  .why = std::move(healthy.error().message)};
    }
  }
  refused_in_a_row_ = 0;
  for (;;) {
    const auto sending =
        Lock::take(spool_.path(), Lock::What::kSending, settings_.lock_patience, stop);
    if (stop.stop_requested()) return Pass{.end = End::kStopped};
    if (!sending) return tl::unexpected(sending.error());
    const auto batch = spool_.begin(kBatch, kBatchBytes);
    if (!batch) return tl::unexpected(batch.error());
    tell(batch->dropped);
    if (batch->entries.empty()) return Pass{.next = batch->next};
    auto over = send_batch(*batch, stop);
    if (!over) return tl::unexpected(std::move(over.error()));
    if (*over) return **std::move(over);
  }
}

Result<std::optional<Sender::Pass>> Sender::send_batch(const Spool::Batch& batch,
                                                       const std::stop_token& stop) {
  std::vector<Spool::Ended> ends;
  std::optional<Pass> over;
  const std::int64_t whole = sent_.sent + std::ssize(batch.entries) + batch.left;
  for (const Spool::Sending& sending : batch.entries) {
    if (over) {
      ends.push_back({&sending, How::kUntried});
      continue;
    }
    over = judge(sending, deliver(sending.entry, stop), ends);
    if (over && stop.stop_requested()) over = Pass{.end = End::kStopped};
    if (listener_.on_progress) listener_.on_progress(sent_.sent, whole);
  }
  const auto dropped = spool_.end(ends);
  if (!dropped) return tl::unexpected(dropped.error());
  tell(*dropped);
  return over;
}

// The same entry until there is an answer: the next one must not overtake it.
Sender::Tried Sender::deliver(const Entry& entry, const std::stop_token& stop) {
  const Delivery delivery = delivery_of(entry, settings_.url);
  Tried tried;
  tried.attempt = 1 + std::max<std::int64_t>(entry.retries, entry.last_attempt ? 1 : 0);
  Millis pause = kFirstPause;
  for (int broken = 0;;) {
    const auto answer = client_.call(call_of(delivery, tried.attempt), stop);
    if (answer) {
      tried.verdict = verdict_of(*answer, wall_clock());
      return tried;
    }
    const HttpFailure& failure = answer.error();
    if (failure.kind == FailureKind::kTooLarge || failure.kind == FailureKind::kInvalid) {
      tried.verdict = verdict_without_answer(failure);
      return tried;
    }
    tried.was_sent = tried.was_sent || failure.kind != FailureKind::kUnreachable;
    if (failure.kind == FailureKind::kUnreachable || failure.kind == FailureKind::kCanceled) {
      tried.failure = failure;
      return tried;
    }
    broken += failure.kind == FailureKind::kTimeout ? kTimeoutCounts : 1;
    if (broken >= kMostBroken) {
      tried.verdict = {.kind = Kind::kFailed, .message = failure.message};
      tried.gave_up = true;
      return tried;
    }
    ++tried.attempt;
    rest(pause, stop);
    pause = std::min(2 * pause, kLongestPause);
  }
}

// Only a success has a body that can be too large: the rest of it does not matter.
Verdict Sender::verdict_without_answer(const HttpFailure& failure) {
  if (failure.kind == FailureKind::kTooLarge) return {.kind = Kind::kDone};
  return {.kind = Kind::kRefused, .message = failure.message};
}

HttpCall Sender::call_of(const Delivery& delivery, std::int64_t attempt) const {
  HttpCall call{
      .method = "POST", .url = delivery.url, .headers = credentials(), .body = delivery.body};
  call.headers.emplace_back("Content-Type", "application/json");
  call.headers.emplace_back("Idempotency-Key", delivery.key);
  if (attempt > 1) call.headers.emplace_back("Retsu-Attempt", std::to_string(attempt));
  call.timeout = settings_.timeout;
  call.answer_limit = std::size_t{1} << 20;
  return call;
}

// What became of it, and whether that is the end of this pass.
std::optional<Sender::Pass> Sender::judge(const Spool::Sending& sending, const Tried& tried,
                                          std::vector<Spool::Ended>& ends) {
  if (tried.failure) {
    // What may have been received stays marked.
    if (!tried.was_sent) ends.push_back({&sending, How::kUntried});
    return Pass{.end = End::kOffline, .why = settings_.url + ": " + tried.failure->message};
  }
  const Verdict& verdict = tried.verdict;
  const TimePoint now = wall_clock();
  const auto wait_at_least = [&](Millis least) {
    return std::max(verdict.wait.value_or(least), least);
  };
  const auto wait = [&](Millis time, bool may_be_received) {
    ends.push_back({&sending, How::kWaits, verdict.message, now + time, may_be_received});
  };
  const std::string why = settings_.url + ": " + verdict.message;
  switch (verdict.kind) {
    case Kind::kDone:
      ++sent_.sent;
      sent_.known += verdict.was_known ? 1 : 0;
      sent_.retried += tried.attempt > 1 ? 1 : 0;
      ends.push_back({&sending, How::kDone});
      break;
    case Kind::kFailed:
    case Kind::kRefused:
      ++sent_.failed;
      ends.push_back({&sending, verdict.kind == Kind::kFailed ? How::kFailed : How::kRefused,
                      verdict.message,
                      verdict.wait ? std::optional(now + *verdict.wait) : std::nullopt});
      if (listener_.on_failed) listener_.on_failed(sending.entry, verdict.message);
      if (tried.gave_up) return Pass{.end = End::kOffline, .why = why};
      break;
    case Kind::kBusy:
      wait(wait_at_least(kBusyPause), true);
      break;
    case Kind::kHold:
    case Kind::kForbidden: {
      // Perhaps only its user's queue is full, or its queue not ours.
      const bool is_hold = verdict.kind == Kind::kHold;
      const Millis time = wait_at_least(is_hold ? kDefaultHold : kForbiddenPause);
      wait(time, tried.was_sent);
      if (++refused_in_a_row_ < kMostRefused) return std::nullopt;
      return Pass{.end = is_hold ? End::kHeld : End::kTurnedAway, .why = why, .wait = time};
    }
    case Kind::kStop:
      if (!tried.was_sent) ends.push_back({&sending, How::kUntried});
      return Pass{.end = End::kTurnedAway, .why = why};
  }
  refused_in_a_row_ = 0;
  return std::nullopt;
}

Status Sender::tidy() {
  const auto dropped = spool_.tidy();
  if (!dropped) return tl::unexpected(dropped.error());
  tell(*dropped);
  return {};
}

void Sender::tell(const std::vector<Dropped>& dropped) {
  sent_.dead += std::ssize(dropped);
  for (const Dropped& each : dropped) {
    if (listener_.on_dropped) listener_.on_dropped(each);
  }
}

}  // namespace retsu::spool
