#include <mutex>

#include "broker/codec.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "cli/table.h"
#include "cli/times.h"

namespace retsu::cli {
namespace {

using Steady = std::chrono::steady_clock;

// What has been told and not yet printed. The broker's thread must not wait for a slow reader: what
// is too much is missed, and counted.
class Inbox {
 public:
  void add(EventBatch batch) {
    constexpr std::size_t kMost = 100'000;
    const std::lock_guard lock(mutex_);
    if (batches_.size() >= kMost) {
      lost_ += batch.missed + batch.events.size();
      return;
    }
    batch.missed += std::exchange(lost_, 0);
    batches_.push_back(std::move(batch));
  }
  std::vector<EventBatch> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(batches_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<EventBatch> batches_;
  std::uint64_t lost_ = 0;
};

class Printer {
 public:
  // Rows are printed as they come: states get their room at once.
  Printer(Screen& screen, std::optional<std::int64_t> count)
      : screen_(screen),
        table_(screen, {"AT", "TASK", "QUEUE", "USER", "FROM     ", "TO       ", ">TRY", ">TOOK",
                        "REASON"}),
        left_(count) {}

  [[nodiscard]] bool is_done() const { return left_ == 0 || screen_.gone(); }

  void show(const std::vector<EventBatch>& batches) {
    for (const EventBatch& batch : batches) {
      if (batch.missed > 0) show_gap(batch.missed);
      for (const TaskEvent& event : batch.events) {
        if (is_done()) break;
        add(event);
        if (left_) --*left_;
      }
    }
    table_.print();
    screen_.flush();
  }

 private:
  void show_gap(std::uint64_t missed) {
    if (screen_.json()) return screen_.line("{\"missed\":" + std::to_string(missed) + "}");
    table_.print();
    screen_.flush();
    screen_.note("there is a gap here: events were missed");
  }
  void add(const TaskEvent& event) {
    if (screen_.json()) return screen_.line(to_json(event));
    const auto named = [](const std::optional<State>& state, const char* none) {
      return state ? Cell(std::string(name_of(*state)), style_of(*state)) : Cell(none);
    };
    table_.add({format_time(event.at), event.id, event.queue, event.user, named(event.from, ""),
                named(event.to, "removed"), std::to_string(event.attempt),
                event.took_ms ? rough(Millis(*event.took_ms)) : std::string(),
                std::string(name_of(event.reason))});
  }

  Screen& screen_;
  Table table_;
  std::optional<std::int64_t> left_;
};

struct Options {
  EventFilter filter;
  std::string state;
  bool follow = false;
  std::string duration;
  std::optional<std::int64_t> count;
};

Result<int> watch(Session& session, const Options& options) {
  EventFilter filter = options.filter;
  const auto state = read_state(options.state);
  if (!state) return tl::unexpected(state.error());
  filter.state = *state;
  Steady::time_point end = Steady::time_point::max();
  if (!options.duration.empty()) {
    const auto patience = read_duration("--for", options.duration);
    if (!patience) return tl::unexpected(patience.error());
    end = Steady::now() + std::min(*patience, Millis(365 * kDay));
  }
  const sigset_t signals = hold_signals();
  const auto broker = session.broker();
  if (!broker) return tl::unexpected(broker.error());
  if (!(*broker)->capabilities().distributed) {
    return refuse(ErrorCode::kUnavailable,
                  "no server holds this store, so that nobody else could use it while its events "
                  "are watched: retsu serve, and watch that");
  }
  // A subscription goes on trying for ever: whether there is a server, and lets us look, is asked
  // first.
  const auto looked =
      session.ask(ListTasks{.filter = {.queue = filter.queue, .user = filter.user}, .limit = 1});
  if (!looked) return tl::unexpected(looked.error());

  Inbox inbox;
  Printer printer(session.screen(), options.count);
  const Subscription subscription =
      (*broker)->watch(filter, [&](EventBatch batch) { inbox.add(std::move(batch)); });
  const timespec moment{0, 50'000'000};
  for (bool goes_on = true; goes_on;) {
    goes_on = sigtimedwait(&signals, nullptr, &moment) <= 0 && Steady::now() < end;
    printer.show(inbox.take());
    goes_on = goes_on && !printer.is_done();
  }
  return 0;
}

}  // namespace

Action add_events(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.option("--queue", options->filter.queue, "In this queue").type_name("QUEUE");
  arguments.option("--user", options->filter.user, "Of this user").type_name("USER");
  arguments.option("--state", options->state, "When a task enters this state, such as FAILED")
      .type_name("STATE");
  const Argument follow = arguments.flag(
      "--follow", options->follow, "Until it is told to stop, as also without --for and --count");
  arguments.option("--for", options->duration, "Stop after so long")
      .type_name("DURATION")
      .excludes(follow);
  arguments.option("--count", options->count, "Stop after so many")
      .type_name("N")
      .between(1, 1'000'000'000)
      .excludes(follow);
  return [options](Session& session) { return watch(session, *options); };
}

}  // namespace retsu::cli
