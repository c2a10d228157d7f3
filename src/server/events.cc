#include "server/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <list>
#include <optional>

#include "base/url.h"
#include "broker/codec.h"
#include "server/permits.h"

namespace retsu::server {
namespace {

constexpr std::size_t kRemembered = 10'000;             // events
constexpr std::size_t kAhead = std::size_t{256} << 10;  // bytes that a reader has not taken yet
constexpr auto kQuiet = std::chrono::seconds(15);       // then a word, or somebody would hang up

std::uint64_t microseconds_now() {
  using std::chrono::microseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<microseconds>(now).count());
}

// What has happened of late, and those who want to know. On the loop's thread.
class EventHub final : public std::enable_shared_from_this<EventHub> {
 public:
  EventHub(Broker& broker, std::weak_ptr<Loop> loop, IsValid is_valid)
      : broker_(broker), loop_(std::move(loop)), is_valid_(std::move(is_valid)) {}

  void add(const std::shared_ptr<Exchange>& exchange) {
    auto filter = filter_of(exchange->request.query());
    if (!filter) return exchange->respond(to_response(filter.error()));
    if (auto fine = permit(exchange->caller, filter->queue, filter->user); !fine) {
      return exchange->respond(to_response(fine.error()));
    }
    watch();
    auto reader = std::make_shared<Reader>(Reader{exchange, *std::move(filter)});
    exchange->begin({.content_type = "text/event-stream",
                     .headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}});
    exchange->send(kWord);  // so that the other side knows that it is heard
    resume(*reader, exchange->request.last_event_id);
    exchange->on_taken = [hub = weak_from_this(), weak = std::weak_ptr(reader)] {
      const auto self = hub.lock();
      const auto who = weak.lock();
      if (self && who) self->feed(*who);
    };
    readers_.push_back(reader);
    feed(*reader);
  }

  // Those who have gone, and those who may think that we have.
  void tick() {
    const auto now = std::chrono::steady_clock::now();
    const bool is_quiet = now - last_word_ > kQuiet;
    if (is_quiet) last_word_ = now;
    for (const auto& reader : std::list(readers_)) {
      if (reader->exchange->stop().stop_requested() || !is_valid_(reader->exchange->caller)) {
        drop(*reader);
      } else if (is_quiet) {
        reader->exchange->send(kWord);
      }
    }
  }

 private:
  static constexpr std::string_view kWord = ":\n\n";

  struct Happened {
    std::uint64_t number;
    std::optional<TaskEvent> event;  // none: some were lost here
    std::string text;
  };
  struct Reader {
    std::shared_ptr<Exchange> exchange;
    EventFilter filter;
    std::optional<std::uint64_t> next = {};  // number to look at; none: of what happens next
  };

  static Result<EventFilter> filter_of(std::string_view query) {
    EventFilter filter;
    const auto parameters = query_parameters(query);
    if (!parameters) return refuse(ErrorCode::kInvalid, "the query has a % without two digits");
    for (const auto& [name, value] : *parameters) {
      if (name == "queue") {
        filter.queue = value;
      } else if (name == "user") {
        filter.user = value;
      } else if (name == "state") {
        filter.state = value_of<State>(value);
        if (!filter.state) return refuse(ErrorCode::kInvalid, "state: there is no such state");
      } else {
        return refuse(ErrorCode::kUnknownField,
                      "GET /v1/events has the parameters queue, user, state");
      }
    }
    return filter;
  }

  // From where it was, if that is still known.
  void resume(Reader& reader, std::string_view last_seen) {
    std::uint64_t number = 0;
    const char* const end = last_seen.data() + last_seen.size();
    if (last_seen.empty() || std::from_chars(last_seen.data(), end, number).ptr != end) return;
    if (!events_.empty() && number <= last_) {
      reader.next = number + 1;
    } else if (number != last_) {
      reader.exchange->send(gap(last_, 1));  // at least
    }
  }

  // From the first reader on: events cost something even if nobody reads them.
  void watch() {
    if (watching_) return;
    watching_ = true;
    subscription_ = broker_.watch({}, [hub = weak_from_this(), loop = loop_](EventBatch batch) {
      const auto alive = loop.lock();
      if (!alive) return;
      alive->post([hub, batch = std::move(batch)]() mutable {
        if (const auto self = hub.lock()) self->take(std::move(batch));
      });
    });
  }

  void take(EventBatch batch) {
    const std::uint64_t first =
        batch.events.empty() || batch.missed > 0 ? last_ + 1 : batch.events.front().number + base_;
    if (batch.missed > 0) {
      ++base_;  // the gap has a number of its own
      remember({++last_, std::nullopt, gap(last_, batch.missed)});
    }
    for (TaskEvent& event : batch.events) {
      event.number += base_;
      last_ = event.number;
      std::string text = fmt::format("id: {}\nevent: task\ndata: {}\n\n", last_, to_json(event));
      remember({last_, std::move(event), std::move(text)});
    }
    for (const auto& reader : std::list(readers_)) {
      if (!reader->next && !events_.empty()) reader->next = first;
      feed(*reader);
    }
  }

  static std::string gap(std::uint64_t number, std::uint64_t missed) {
    return fmt::format("id: {}\nevent: gap\ndata: {{\"missed\":{}}}\n\n", number, missed);
  }

  void remember(Happened happened) {
    events_.push_back(std::move(happened));
    if (events_.size() > kRemembered) events_.pop_front();
  }

  // As much as it has room for.
  void feed(Reader& reader) {
    Exchange& exchange = *reader.exchange;
    if (!reader.next || events_.empty() || exchange.pending() >= kAhead) return;
    const std::uint64_t first = events_.front().number;
    if (*reader.next < first) {
      exchange.send(gap(first - 1, first - *reader.next));
      reader.next = first;
    }
    auto next = std::ranges::lower_bound(events_, *reader.next, {}, &Happened::number);
    for (std::size_t ahead = 0; next != events_.end() && ahead < kAhead; ++next) {
      reader.next = next->number + 1;
      if (!next->event || passes(reader.filter, *next->event)) ahead = exchange.send(next->text);
    }
  }

  void drop(const Reader& reader) {
    const auto exchange = reader.exchange;
    std::erase_if(readers_, [&](const auto& each) { return each.get() == &reader; });
    if (!exchange->is_answered()) exchange->end();
  }

  Broker& broker_;
  const std::weak_ptr<Loop> loop_;
  const IsValid is_valid_;
  std::uint64_t base_ = microseconds_now();  // what is added to the broker's numbers
  std::uint64_t last_ = base_;
  std::deque<Happened> events_;
  std::list<std::shared_ptr<Reader>> readers_;
  std::chrono::steady_clock::time_point last_word_ = std::chrono::steady_clock::now();
  bool watching_ = false;
  Subscription subscription_;
};

}  // namespace

std::function<void()> add_events(Router& router, Broker& broker, const std::shared_ptr<Loop>& loop,
                                 IsValid is_valid) {
  const auto hub = std::make_shared<EventHub>(broker, loop, std::move(is_valid));
  router.add({.method = "GET",
              .path = "/v1/events",
              .scope = Scope::kRead,
              .serve = [hub](const auto& exchange) { hub->add(exchange); }});
  return [hub] { hub->tick(); };
}

}  // namespace retsu::server
