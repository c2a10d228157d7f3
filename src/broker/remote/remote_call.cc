#include "broker/remote/remote_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/retry_after.h"
#include "base/wall_clock.h"
#include "broker/codec.h"
#include "broker/http_form.h"
#include "broker/refusals.h"
#include "broker/waiting.h"
#include "ingest/idempotency.h"
#include "model/retry.h"

namespace retsu {
namespace {

using std::chrono::milliseconds;
using FailureKind = HttpFailure::Kind;

// For how long a key is of use after its call has ended: an attempt may still be on its way.
constexpr Millis kLateAttempts{10 * kMinute};

// Sent twice with the same key, if it has one, it has the effect of once.
bool may_repeat(const Command& command, bool has_key) {
  const Operation& operation = operation_of(command);
  if (!operation.changes || operation.repeatable || has_key) return true;
  const auto* claim = std::get_if<Claim>(&command);
  return claim != nullptr && !claim->claim_id.empty();
}

void set_wait_ms(Command& command, std::int64_t wait_ms) {
  if (auto* claim = std::get_if<Claim>(&command)) claim->wait_ms = wait_ms;
  if (auto* get = std::get_if<GetTask>(&command)) get->wait_ms = wait_ms;
}

bool may_pass(int status) {
  constexpr int kTimeout = 408;
  constexpr int kTooMany = 429;
  return status == kTimeout || status == kTooMany || status >= 500;
}

}  // namespace

HttpCall request_to(const RemoteSettings& settings, std::string_view method,
                    const std::string& target) {
  HttpCall call{.method = std::string(method), .url = settings.url + target};
  if (!settings.token.empty()) {
    call.headers.emplace_back("Authorization", "Bearer " + settings.token);
  }
  return call;
}

// What became of one.
struct RemoteCall::Attempt {
  Answer answer;
  bool was_sent = true;
  bool may_pass = false;  // the next may be answered otherwise
  Millis asked{0};        // for how long to wait before that
};

RemoteCall::RemoteCall(const RemoteSettings& settings, HttpClient& client, std::string name,
                       Command command, Context context, Broker::Done done)
    : settings_(settings),
      client_(client),
      name_(std::move(name)),
      command_(std::move(command)),
      operation_(operation_of(command_)),
      context_(std::move(context)),
      done_(std::move(done)) {
  auto& key = context_.idempotency_key;
  if (!uses_key(operation_)) {
    key.reset();
  } else if (!key && settings_.retry.max_attempts > 1 && !context_.once) {
    key = name_;
    has_own_key_ = true;
  }
  may_repeat_ = may_repeat(command_, key.has_value());
  const auto now = Steady::now();
  wait_until_ = now + milliseconds(wait_ms_of(command_));
  deadline_ = context_.deadline;
  if (deadline_ == Steady::time_point::max()) deadline_ = wait_until_ + settings_.patience;
}

RemoteCall::~RemoteCall() {
  if (done_) fail(shut_down());
}

void RemoteCall::begin() {
  const std::uint64_t number = send();
  if (!context_.stop.stop_possible()) return;
  // On the client's thread, where it cannot meet the answer.
  client_.run_after(milliseconds(0), [self = shared_from_this(), number] {
    if (self->number_ == 0) self->number_ = number;
    self->heed_stop();
  });
}

void RemoteCall::begin_again() {
  if (!done_) return;
  if (Steady::now() >= deadline_) return fail(*std::move(last_));
  ++attempts_;
  number_ = send();
}

std::uint64_t RemoteCall::send() {
  is_under_way_ = true;
  return client_.start(
      request(),
      [self = shared_from_this()](const HttpClient::Answered& answered) { self->take(answered); });
}

// Made anew for each attempt: the time to wait for an answer has become shorter.
HttpCall RemoteCall::request() {
  const auto now = Steady::now();
  if (attempts_ > 1 && wait_ms_of(command_) > 0) {
    const auto left = std::chrono::floor<milliseconds>(wait_until_ - now).count();
    set_wait_ms(command_, std::max<std::int64_t>(left, 0));
  }
  HttpForm form = to_http(command_);
  HttpCall call = request_to(settings_, form.method, form.target);
  call.body = std::move(form.body);
  if (!call.body.empty()) call.headers.emplace_back("Content-Type", "application/json");
  if (const auto& key = context_.idempotency_key) {
    call.headers.emplace_back("Idempotency-Key", *key);
  }
  if (has_own_key_) {
    const auto age = std::chrono::ceil<std::chrono::seconds>(deadline_ - now + kLateAttempts);
    call.headers.emplace_back("Retsu-Key-Age", std::to_string(age.count()));
  }
  if (attempts_ > 1) {
    call.headers.emplace_back("Retsu-Attempt", std::to_string(attempts_));
  }
  call.once = !may_repeat_;
  call.timeout = std::chrono::ceil<milliseconds>(deadline_ - now);
  return call;
}

void RemoteCall::heed_stop() {
  if (!done_) return;
  on_stop_.emplace(context_.stop, [this, weak = weak_from_this()] {
    client_.run_after(milliseconds(0), [weak] {
      if (const auto self = weak.lock()) self->give_up();
    });
  });
}

void RemoteCall::give_up() {
  if (!done_) return;
  is_under_way_ ? client_.cancel(number_) : fail(stopped());
}

void RemoteCall::take(const HttpClient::Answered& answered) {
  is_under_way_ = false;
  Attempt attempt = judge(answered);
  if (attempt.answer) return finish(std::move(attempt.answer));
  Error& error = attempt.answer.error();
  if (goes_without_key(error)) return;
  may_be_done_ |= error.code == ErrorCode::kOutcomeUnknown;
  const auto pause = pause_after(attempt);
  // That this attempt came to nothing does not say it of those before.
  if (may_be_done_ && attempt.may_pass && error.code != ErrorCode::kOutcomeUnknown) {
    error.code = ErrorCode::kOutcomeUnknown;
    error.message += "; before that, it was sent and not answered: it may have been done or not";
  }
  if (!pause) return fail(std::move(error));
  if (settings_.on_retry) settings_.on_retry(error, *pause);
  last_ = std::move(error);
  client_.run_after(*pause, [self = shared_from_this()] { self->begin_again(); });
}

RemoteCall::Attempt RemoteCall::judge(const HttpClient::Answered& answered) const {
  if (!answered) {
    const FailureKind kind = answered.error().kind;
    const bool was_sent = kind != FailureKind::kUnreachable;
    return {Result<Reply>(tl::unexpected(failure_of(answered.error()))), was_sent,
            !was_sent || kind == FailureKind::kBroken};
  }
  if (answered->status >= 200 && answered->status < 300) {
    const bool replayed = answered->header("idempotent-replayed") == "true";
    // To the caller, an earlier attempt of this call is no earlier call.
    return {{reply_from_json(operation_.name, answered->body), replayed && !has_own_key_}};
  }
  Error error = refusal_of(*answered);
  const bool passes = may_pass(answered->status) || error.code == ErrorCode::kIdempotencyInProgress;
  const auto asked = parse_retry_after(answered->header("retry-after"), wall_clock());
  return {Result<Reply>(tl::unexpected(std::move(error))), true, passes, asked.value_or(Millis(0))};
}

Error RemoteCall::failure_of(const HttpFailure& failure) const {
  if (context_.stop.stop_requested()) return stopped();
  const std::string message = fmt::format("{}: {}", settings_.url, failure.message);
  switch (failure.kind) {
    case FailureKind::kInvalid:
      return {ErrorCode::kInvalid, message};
    case FailureKind::kUnreachable:
      return {ErrorCode::kUnavailable, message};
    case FailureKind::kCanceled:
      return shut_down();
    case FailureKind::kTimeout:
      if (!operation_.changes) return {ErrorCode::kDeadline, message};
      break;
    case FailureKind::kTooLarge:
    case FailureKind::kBroken:
      if (!operation_.changes) return {ErrorCode::kUnavailable, message};
      break;
  }
  return {ErrorCode::kOutcomeUnknown, message + "; it may have been done or not"};
}

Error RemoteCall::refusal_of(const HttpAnswer& answer) const {
  Error error{ErrorCode::kUnavailable,
              fmt::format("{} answered {} and no word of a queue's", settings_.url, answer.status)};
  if (auto told = error_from_json(answer.body)) {
    error = *std::move(told);
  } else if (operation_.changes && answer.status >= 500 && answer.status != 503) {
    // Somebody between us and the queue, who may have passed it on.
    error.code = ErrorCode::kOutcomeUnknown;
    error.message += "; it may have been done or not";
  }
  return error;
}

// None: there is no next attempt.
std::optional<Millis> RemoteCall::pause_after(const Attempt& attempt) const {
  if (context_.once || attempts_ >= settings_.retry.max_attempts) return std::nullopt;
  if (!attempt.may_pass || (attempt.was_sent && !may_repeat_)) return std::nullopt;
  const Millis pause = std::max({retry_delay(settings_.retry, name_, attempts_), attempt.asked,
                                 attempt.answer.error().retry_after.value_or(Millis(0))});
  if (pause >= deadline_ - Steady::now()) return std::nullopt;
  return pause;
}

// A queue that cannot remember more keys still takes what has none, as its caller wanted it.
bool RemoteCall::goes_without_key(const Error& error) {
  if (!has_own_key_ || may_be_done_ || error.details != kTooManyKeys) return false;
  has_own_key_ = false;
  context_.idempotency_key.reset();
  may_repeat_ = may_repeat(command_, false);
  number_ = send();
  return true;
}

void RemoteCall::finish(Answer answer) {
  on_stop_.reset();
  command_ = {};
  std::exchange(done_, nullptr)(std::move(answer));
}

void RemoteCall::fail(Error error) { finish(Result<Reply>(tl::unexpected(std::move(error)))); }

}  // namespace retsu
