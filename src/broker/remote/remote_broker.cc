#include "broker/remote/remote_broker.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <optional>

#include "base/event_stream.h"
#include "base/url.h"
#include "base/wall_clock.h"
#include "broker/codec.h"
#include "broker/refusals.h"
#include "broker/remote/remote_call.h"
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

}  // namespace

RemoteBroker::RemoteBroker(RemoteSettings settings)
    : settings_([&] {
        while (settings.url.ends_with('/')) settings.url.pop_back();
        return std::move(settings);
      }()) {}

RemoteBroker::~RemoteBroker() = default;

Capabilities RemoteBroker::capabilities() const { return {true, true, {}}; }

void RemoteBroker::submit(Command command, Context context, Done done) noexcept {
  std::optional<Error> error = given_up(context);
  const bool has_key = context.idempotency_key && uses_key(operation_of(command));
  if (auto valid = check(command, has_key ? context.idempotency_key : std::nullopt);
      !error && !valid) {
    error = std::move(valid.error());
  }
  if (error) {
    return client_.run_after(milliseconds(0), [done = std::move(done), error] {
      done(Result<Reply>(tl::unexpected(*error)));
    });
  }
  std::make_shared<RemoteCall>(settings_, client_, names_.next(wall_clock()), std::move(command),
                               std::move(context), std::move(done))
      ->begin();
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
    HttpCall call = request_to(broker_.settings_, "GET", target_);
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
