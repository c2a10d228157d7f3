#include "broker/remote/remote_broker.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <optional>

#include "base/event_stream.h"
#include "base/url.h"
#include "broker/codec.h"
#include "broker/http_form.h"
#include "broker/refusals.h"
#include "broker/waiting.h"
#include "ingest/idempotency.h"
#include "ingest/validate.h"

namespace retsu {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;
using FailureKind = HttpFailure::Kind;

constexpr milliseconds kComeBackAfter{500};
constexpr auto kBeginPatience = std::chrono::seconds(5);

template <class T>
bool can_be_sent(const std::vector<T>& values);
template <class T>
bool can_be_sent(const std::map<std::string, T>& values);

template <class T>
bool can_be_sent(const std::optional<T>& value);

// Whether it reads back as it is: every Json is one, every time has a date.
template <class T>
bool can_be_sent(const T& value) {
  if constexpr (std::is_same_v<T, Json>) {
    return is_json(value.view());
  } else if constexpr (std::is_same_v<T, TimePoint>) {
    return value >= kEarliestTime && value <= kLatestTime;
  } else if constexpr (HasFields<T>) {
    bool all = true;
    for_each_field<T>([&](const auto& field) { all = all && can_be_sent(value.*(field.member)); });
    return all;
  } else {
    return true;
  }
}
template <class T>
bool can_be_sent(const std::vector<T>& values) {
  return std::ranges::all_of(values, [](const T& value) { return can_be_sent(value); });
}
template <class T>
bool can_be_sent(const std::map<std::string, T>& values) {
  return std::ranges::all_of(values, [](const auto& pair) { return can_be_sent(pair.second); });
}

template <class T>
bool can_be_sent(const std::optional<T>& value) {
  return !value || can_be_sent(*value);
}

// What cannot even be sent. All else is for the server to say, which knows its limits.
Status check(const Command& command, const std::optional<std::string>& key) {
  if (key) {
    if (auto valid = validate_key(*key); !valid) return valid;
  }
  const bool can = std::visit([](const auto& op) { return can_be_sent(op); }, command);
  return can ? Status() : validate(command, {});
}

// One call under way.
struct Asked {
  const Operation& operation;
  std::string url;
  Context context;
  Broker::Done done;
  std::optional<std::stop_callback<std::function<void()>>> on_stop = {};
};

Error failure_of(const Asked& asked, const HttpFailure& failure) {
  if (asked.context.stop.stop_requested()) return stopped();
  const std::string message = fmt::format("{}: {}", asked.url, failure.message);
  switch (failure.kind) {
    case FailureKind::kInvalid:
      return {ErrorCode::kInvalid, message};
    case FailureKind::kUnreachable:
      return {ErrorCode::kUnavailable, message};
    case FailureKind::kCanceled:
      return shut_down();
    case FailureKind::kTimeout:
      if (!asked.operation.changes) return {ErrorCode::kDeadline, message};
      break;
    case FailureKind::kTooLarge:
    case FailureKind::kBroken:
      if (!asked.operation.changes) return {ErrorCode::kUnavailable, message};
      break;
  }
  return {ErrorCode::kOutcomeUnknown, message + "; it may have been done or not"};
}

Answer answer_of(const Asked& asked, const HttpClient::Answered& answered) {
  if (!answered) return Result<Reply>(tl::unexpected(failure_of(asked, answered.error())));
  if (answered->status >= 200 && answered->status < 300) {
    const bool replayed = answered->header("idempotent-replayed") == "true";
    return {reply_from_json(asked.operation.name, answered->body), replayed};
  }
  auto error = error_from_json(answered->body);
  if (error) return Result<Reply>(tl::unexpected(*std::move(error)));
  return Result<Reply>(tl::unexpected(
      Error{ErrorCode::kUnavailable,
            fmt::format("{} answered {} and no word of a queue's", asked.url, answered->status)}));
}

}  // namespace

RemoteBroker::RemoteBroker(RemoteSettings settings)
    : settings_([&] {
        while (settings.url.ends_with('/')) settings.url.pop_back();
        return std::move(settings);
      }()) {}

RemoteBroker::~RemoteBroker() = default;

Capabilities RemoteBroker::capabilities() const { return {true, true, {}}; }

HttpCall RemoteBroker::call_to(std::string_view method, const std::string& target) const {
  HttpCall call{.method = std::string(method), .url = settings_.url + target};
  if (!settings_.token.empty()) {
    call.headers.emplace_back("Authorization", "Bearer " + settings_.token);
  }
  return call;
}

void RemoteBroker::submit(Command command, Context context, Done done) noexcept {
  const Operation& operation = operation_of(command);
  const std::shared_ptr<Asked> asked(
      new Asked{operation, settings_.url, std::move(context), std::move(done)});
  auto& key = asked->context.idempotency_key;
  if (!uses_key(operation)) key.reset();
  std::optional<Error> error = given_up(asked->context);
  if (auto valid = check(command, key); !error && !valid) error = std::move(valid.error());
  if (error) {
    return client_.run_after(
        milliseconds(0), [asked, error] { asked->done(Result<Reply>(tl::unexpected(*error))); });
  }
  HttpForm form = to_http(command);
  HttpCall call = call_to(form.method, form.target);
  call.body = std::move(form.body);
  if (!call.body.empty()) call.headers.emplace_back("Content-Type", "application/json");
  if (key) call.headers.emplace_back("Idempotency-Key", *key);
  call.once = !operation.repeatable && !key;
  call.timeout = settings_.patience + milliseconds(wait_ms_of(command));
  if (asked->context.deadline != Steady::time_point::max()) {
    call.timeout = std::chrono::ceil<milliseconds>(asked->context.deadline - Steady::now());
  }
  const std::uint64_t number =
      client_.start(std::move(call), [asked](const HttpClient::Answered& answered) {
        asked->on_stop.reset();
        asked->done(answer_of(*asked, answered));
      });
  if (asked->context.stop.stop_possible()) {
    // On the client's thread, where it cannot meet the answer.
    client_.run_after(milliseconds(0), [this, asked, number] {
      asked->on_stop.emplace(asked->context.stop, [this, number] { client_.cancel(number); });
    });
  }
}

// A stream of events that is taken up again when it breaks. Everything but its end is on the
// client's thread.
class RemoteBroker::Watch final : public std::enable_shared_from_this<Watch> {
 public:
  Watch(RemoteBroker& broker, const EventFilter& filter, EventSink sink)
      : broker_(broker), sink_(std::move(sink)) {
    const auto add = [this](std::string_view name, std::string_view value) {
      if (value.empty()) return;
      target_ += fmt::format("{}{}={}", target_.find('?') == std::string::npos ? '?' : '&', name,
                             percent_encoded(value));
    };
    add("queue", filter.queue);
    add("user", filter.user);
    if (filter.state) add("state", name_of(*filter.state));
  }

  std::future<void> begun() { return begun_.get_future(); }

  void begin() {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    HttpCall call = broker_.call_to("GET", target_);
    if (!last_id_.empty()) call.headers.emplace_back("Last-Event-ID", last_id_);
    auto reader = std::make_shared<EventStreamReader>(
        [this](const EventStreamReader::Event& event) { take(event); });
    call.on_piece = [self = shared_from_this(), reader](std::string_view bytes) {
      self->tell_begun();
      reader->take(bytes);
    };
    number_ = broker_.client_.start(
        std::move(call), [self = shared_from_this()](const HttpClient::Answered& answered) {
          self->tell_begun();
          if (!answered && answered.error().kind == FailureKind::kCanceled) return;
          self->was_broken_ = self->last_id_.empty();
          self->broker_.client_.run_after(kComeBackAfter, [self] { self->begin(); });
        });
  }

  // After this the sink is not called.
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    broker_.client_.cancel(number_);
  }

 private:
  void tell_begun() {
    if (!std::exchange(has_begun_, true)) begun_.set_value();
  }

  void take(const EventStreamReader::Event& received) {
    EventBatch batch;
    if (received.name == "gap") {
      batch.missed = 1;
    } else {
      auto event = event_from_json(received.data);
      if (!event) return;
      batch.events.push_back(*std::move(event));
      batch.missed = std::exchange(was_broken_, false) ? 1 : 0;
    }
    last_id_ = received.id;
    const std::lock_guard lock(mutex_);
    if (!ended_) sink_(std::move(batch));
  }

  RemoteBroker& broker_;
  const EventSink sink_;
  std::string target_ = "/v1/events";
  std::string last_id_;
  bool was_broken_ = false;  // before anything had come: what was missed is not known
  bool has_begun_ = false;
  std::promise<void> begun_;
  std::mutex mutex_;
  bool ended_ = false;
  std::uint64_t number_ = 0;
};

Subscription RemoteBroker::watch(EventFilter filter, EventSink sink) {
  auto watch = std::make_shared<Watch>(*this, filter, std::move(sink));
  auto begun = watch->begun();
  watch->begin();
  begun.wait_for(kBeginPatience);
  return Subscription([watch] { watch->end(); });
}

}  // namespace retsu
