#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/doorbell.h"
#include "base/uuid.h"
#include "broker/broker.h"
#include "broker/committer.h"
#include "broker/keeper.h"
#include "broker/wait_list.h"
#include "engine/engine.h"

namespace retsu {

// The engine behind the one seam. One thread owns it: it takes all commands that have arrived,
// applies them, serves the claims that were waiting for what they did, has the whole group kept,
// and only then answers. While a group is being committed the next one is made on top of it; if
// the first one fails, both are undone, the later first.
class EngineBroker : public Broker {
 public:
  // The clock is read by any thread. Without one it stands still until set_clock.
  using Clock = std::function<TimePoint()>;
  static Clock system_clock();

  ~EngineBroker() override;

  void submit(Command command, Context context, Done done) noexcept override;
  Subscription watch(EventFilter filter, EventSink sink) override;
  [[nodiscard]] Capabilities capabilities() const override;

  // For tests: sets the clock that stands still, backwards too, and returns when everything due by
  // then has happened and has been answered.
  void set_clock(TimePoint time);

 protected:
  // The engine holds what the keeper, if there is one, has kept so far.
  EngineBroker(Limits limits, Clock clock, std::unique_ptr<Engine> engine,
               std::unique_ptr<Keeper> keeper);

 private:
  struct Request {
    Command command;
    Context context;
    Done done;
    std::string fingerprint;                          // of the command, if it has a key
    std::optional<Result<Keeper::Found>> found = {};  // what it is about, if that was looked up
    Status valid;
    TimePoint until = kNever;  // for how long it may be answered late
  };
  // Applied, to be answered when it is kept.
  struct Served {
    Request request;
    Answer reply;
  };
  // What is told of a group when it is kept.
  struct Answers {
    std::vector<TaskEvent> events;  // if anybody watches
    std::vector<Served> served;
  };
  // What is kept, and answered, together.
  struct Group {
    std::uint64_t events_before = 0;  // last_event_ when it began
    engine::Changes changes;
    std::size_t bytes = 0;  // of what it adds, roughly
    // While it is being committed, the committer's: it tells of what it has kept.
    std::shared_ptr<Answers> answers = std::make_shared<Answers>();
  };
  // A claim that waits for work, or a look at a task that waits for its end.
  struct Waiter {
    Request request;
    std::unique_ptr<std::stop_callback<std::function<void()>>> on_stop;
  };
  // A list whose tasks are found, and shown by and by.
  struct Showing {
    Request request;
    std::vector<Task> tasks = {};  // so far
    std::size_t looked_at = 0;     // of those that were found
  };
  struct Watcher {
    EventFilter filter;
    EventSink sink;
  };

  void run();
  void work(std::vector<Request> requests);
  void serve(Request request);
  void apply(Request request);
  bool search(Request& request);
  void show(Showing showing);
  void show_some();
  void show_again();
  void give_up_searches();
  bool has_lost_payload();
  std::optional<Answer> earlier_answer(const Request& request);
  void remember(const Request& request, const Reply& reply);
  static bool is_worth_waiting(const Result<Reply>& reply);
  void wait(Request request, const Reply& reply);
  void catch_up();
  void serve_waiters();
  bool serve_waiter(std::uint64_t number);
  bool note_opening(const std::string& queue);
  std::set<std::string> take_openings();
  void drop_waiter(std::uint64_t number);
  void refuse_waiters(const Error& error);
  void answer(Request& request, Answer reply);
  void refuse(Request& request, Error error);
  void take_changes();
  void take_note(const engine::AnyChange& change);
  void complete_group();
  void launch();
  void take_off();
  void land_here();
  void land_if_done();
  std::optional<engine::Changes> land(Keeper::Kept kept);
  [[nodiscard]] bool only_time_has_passed() const;
  Group next_group();
  void do_without_growth(Group failed);
  void lose_track(Group failed);
  void serve_again(std::vector<Served> served);
  void reopen();
  void tidy();
  void serve_deferred();
  void refuse_all();
  void deliver(Answers& answers);
  void tell_of_gap();
  void poke();
  [[nodiscard]] TimePoint now() const;
  [[nodiscard]] std::chrono::steady_clock::time_point wake_time() const;

  const Limits limits_;
  const Clock clock_;
  UuidSource ids_;

  // Shared.
  mutable std::mutex mutex_;
  Doorbell wake_;
  std::condition_variable idle_;
  std::vector<Request> inbox_;
  std::vector<std::pair<std::uint64_t, Result<Keeper::Found>>> found_;  // for searching_
  TimePoint manual_time_{};
  std::vector<std::uint64_t> given_up_;  // of the waiters
  std::uint64_t asked_ = 0;              // set_clock calls
  std::uint64_t heard_ = 0;              // of these, by the owner
  std::uint64_t done_ = 0;
  bool poked_ = false;  // there is something to be done, or a commit is over
  bool stopping_ = false;
  std::mutex watchers_mutex_;
  std::map<std::uint64_t, Watcher> watchers_;
  std::atomic<std::size_t> watching_ = 0;
  std::uint64_t last_watcher_ = 0;

  // The owner thread's.
  std::unique_ptr<Engine> engine_;  // none: the store cannot be read at the moment
  std::unique_ptr<Keeper> keeper_;
  Error broken_;       // why there is no engine
  bool full_ = false;  // the store takes nothing that adds to it
  std::chrono::steady_clock::time_point look_again_ =
      std::chrono::steady_clock::time_point::max();  // at the store
  std::unordered_map<std::uint64_t, Waiter> waiters_;
  WaitList wait_list_;  // of them: first come, first served
  std::uint64_t last_waiter_ = 0;
  std::vector<std::uint64_t> stopped_;                    // of them: may have given up
  std::vector<std::uint64_t> ended_;                      // of them: their task may have ended
  std::set<engine::Queue*> touched_;                      // may have got something to give
  std::set<std::pair<TimePoint, std::string>> openings_;  // of queues, when pace lets them give
  bool all_touched_ = false;
  std::map<std::uint64_t, Request> searching_;  // the keeper looks for what they are about
  std::vector<Request> deferred_;               // until the keeper can be asked
  std::deque<Showing> showing_;                 // in turn
  std::uint64_t last_search_ = 0;
  std::uint64_t last_event_ = 0;
  std::deque<Request> arrived_;                        // taken from the inbox, not served yet
  Group group_;                                        // being made
  std::optional<Group> in_flight_;                     // being committed
  std::chrono::steady_clock::time_point rests_until_;  // no group is begun before

  std::unique_ptr<Committer> committer_;
  std::thread owner_;
};

}  // namespace retsu
