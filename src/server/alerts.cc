#include "server/alerts.h"

#include <set>

#include "base/http_client.h"
#include "broker/codec.h"
#include "server/task_times.h"

namespace retsu::server {
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto kEvery = std::chrono::seconds(10);
constexpr int kTries = 5;  // to tell a webhook
constexpr Millis kFirstPause{1'000};

struct AlertList {
  std::vector<AlertState> alerts;
};
constexpr auto fields_of(std::type_identity<AlertList>) {
  return List{Field{"alerts", &AlertList::alerts, kAlwaysShown}};
}

// What a webhook is sent.
struct Notice {
  std::string alert;
  std::string state;  // firing, resolved
  std::optional<double> value;
  double above = 0;
  std::int64_t window_ms = 0;
  std::string queue;
  std::optional<TimePoint> since;
};
constexpr auto fields_of(std::type_identity<Notice>) {
  return List{Field{"alert", &Notice::alert},
              Field{"state", &Notice::state},
              Field{"value", &Notice::value, kAlwaysShown},
              Field{"above", &Notice::above, kAlwaysShown},
              Field{"window_ms", &Notice::window_ms},
              Field{"queue", &Notice::queue},
              Field{"since", &Notice::since}};
}

// POSTs notices one after the other, with patience. Whoever destroys it gives up what was not told
// yet. Thread-safe.
class Webhook {
 public:
  Webhook(std::string url, Log* log) : url_(std::move(url)), log_(log) {}

  void tell(std::string body) {
    const std::lock_guard lock(mutex_);
    notices_.push_back(std::move(body));
    if (notices_.size() == 1) send(1);
  }

 private:
  // With the lock.
  void send(int number) {
    HttpCall call{.method = "POST",
                  .url = url_,
                  .headers = {{"Content-Type", "application/json"}},
                  .body = notices_.front(),
                  .timeout = std::chrono::seconds(10)};
    client_.start(std::move(call), [this, number](const HttpClient::Answered& answer) {
      if (!answer && answer.error().kind == HttpFailure::Kind::kCanceled) return;
      const bool is_told = answer && answer->status < 300;
      const std::lock_guard lock(mutex_);
      if (!is_told && number < kTries) {
        return client_.run_after(kFirstPause * (1 << (number - 1)), [this, number] {
          const std::lock_guard again(mutex_);
          send(number + 1);
        });
      }
      if (!is_told && log_ != nullptr) {
        log_->write(
            LogLevel::kError, "a webhook was not told of an alert",
            {{"error", answer ? "HTTP " + std::to_string(answer->status) : answer.error().message},
             {"tries", kTries}});
      }
      notices_.pop_front();
      if (!notices_.empty()) send(1);
    });
  }

  const std::string url_;
  Log* const log_;
  std::mutex mutex_;
  std::deque<std::string> notices_;  // the first is being told
  HttpClient client_;                // goes first
};

// On the loop's thread.
class Alerts final : public std::enable_shared_from_this<Alerts> {
 public:
  Alerts(const Doors& doors, AlertSettings settings, const TaskTimes& times,
         const Counters& counters, Log* log)
      : doors_(doors), times_(times), counters_(counters), log_(log), book_(settings.rules) {
    for (const auto& [name, rule] : settings.rules) {
      if (!rule.queue.empty()) queues_.insert(rule.queue);
    }
    if (!settings.webhook.empty()) {
      webhook_ = std::make_unique<Webhook>(std::move(settings.webhook), log);
    }
  }

  void tick() {
    if (Steady::now() < next_) return;
    next_ = Steady::now() + kEvery;
    look([] {});
  }

  void answer(const std::shared_ptr<Exchange>& exchange) {
    look([self = shared_from_this(), exchange] {
      std::string json;
      append_json(json, AlertList{self->book_.states()});
      exchange->respond({.body = std::move(json)});
    });
  }

 private:
  // Asks for the figures of now, then does something.
  void look(std::function<void()> then) {
    ask(doors_, Stats{}, [self = shared_from_this(), then = std::move(then)](const Answer& answer) {
      auto sample = std::make_shared<Sample>();
      if (answer) {
        const auto& stats = std::get<StatsReply>(*answer);
        sample->at = stats.now;
        self->add(sample->values[""], stats.tasks, stats.counters);
      }
      self->look_at_queues(sample, self->queues_, answer.has_value(), then);
    });
  }

  void look_at_queues(const std::shared_ptr<Sample>& sample, std::set<std::string> left,
                      bool is_known, const std::function<void()>& then) {
    if (left.empty()) {
      if (is_known) take(std::move(*sample));
      return then();
    }
    const std::string queue = left.extract(left.begin()).value();
    ask(doors_, GetQueue{queue},
        [self = shared_from_this(), sample, left = std::move(left), is_known, then,
         queue](const Answer& answer) {
          const bool is_gone = !answer && answer.error().code == ErrorCode::kNotFound;
          if (answer) {
            const auto& info = std::get<QueueInfo>(*answer);
            auto& values = sample->values[queue];
            self->add(values, info.tasks, info.counters);
            values[std::string(kOldestAge)] = static_cast<double>(info.oldest_age_ms.value_or(0));
          }
          self->look_at_queues(sample, left, is_known && (answer || is_gone), then);
        });
  }

  using Values = std::map<std::string, double, std::less<>>;
  static void add(Values& values, const std::map<std::string, std::int64_t>& states,
                  const std::map<std::string, std::int64_t>& counters) {
    for (const auto* all : {&states, &counters}) {
      for (const auto& [name, count] : *all) values[name] = static_cast<double>(count);
    }
  }

  void take(Sample sample) {
    times_.for_each([&](const std::string& queue, const TaskTimes::OfQueue& times) {
      add_times(sample.values[""], times);
      if (queues_.contains(queue)) add_times(sample.values[queue], times);
    });
    sample.values[""][std::string(kKeyed)] = static_cast<double>(counters_.keyed);
    sample.values[""][std::string(kReplayedKeys)] = static_cast<double>(counters_.replayed);
    for (const AlertState& changed : book_.add(sample)) tell(changed);
  }

  static void add_times(Values& to, const TaskTimes::OfQueue& times) {
    const auto add = [&](std::string_view name, double by) { to[std::string(name)] += by; };
    const auto millis = [](Histogram::Time time) {
      return std::chrono::duration<double, std::milli>(time).count();
    };
    add(kWaits, static_cast<double>(times.waited.count()));
    add(kWaitMs, millis(times.waited.sum()));
    add(kRuns, static_cast<double>(times.ran.count()));
    add(kRunMs, millis(times.ran.sum()));
    add(kRetryFailures, static_cast<double>(times.retry_failures));
  }

  void tell(const AlertState& alert) {
    const AlertRule& rule = alert.rule;
    const std::string state = alert.firing ? "firing" : "resolved";
    if (log_ != nullptr) {
      log_->write(alert.firing ? LogLevel::kWarning : LogLevel::kInfo, "alert",
                  {{"alert", alert.name},
                   {"state", state},
                   {"value", alert.value.value_or(0)},
                   {"above", rule.above},
                   {"window_ms", rule.window_ms}});
    }
    if (!webhook_) return;
    std::string json;
    append_json(json, Notice{alert.name, state, alert.value, rule.above, rule.window_ms, rule.queue,
                             alert.since});
    webhook_->tell(std::move(json));
  }

  const Doors doors_;
  const TaskTimes& times_;
  const Counters& counters_;
  Log* const log_;
  AlertBook book_;
  std::set<std::string> queues_;  // that rules look at
  std::unique_ptr<Webhook> webhook_;
  Steady::time_point next_ = {};
};

}  // namespace

std::function<void()> add_alerts(Router& router, const Doors& doors, AlertSettings settings,
                                 const TaskTimes& times, const Counters& counters, Log* log) {
  const auto alerts = std::make_shared<Alerts>(doors, std::move(settings), times, counters, log);
  alerts->tick();  // what was before is not counted
  router.add({.method = "GET",
              .path = "/v1/alerts",
              .scope = Scope::kRead,
              .serve = [alerts](const std::shared_ptr<Exchange>& exchange) {
                if (!exchange->caller.is_limited()) return alerts->answer(exchange);
                exchange->respond(
                    to_response({ErrorCode::kForbidden, "alerts are about all queues and users"}));
              }});
  return [alerts] { alerts->tick(); };
}

}  // namespace retsu::server
