#include <algorithm>
#include <utility>

#include "broker/engine_broker.h"
#include "broker/refusals.h"

// Calls that wait: claims for work, looks at tasks for their ends.
namespace retsu {
namespace {

using Steady = std::chrono::steady_clock;

}  // namespace

bool EngineBroker::is_worth_waiting(const Result<Reply>& reply) {
  if (!reply) return false;
  if (const auto* claimed = std::get_if<ClaimReply>(&*reply)) return claimed->tasks.empty();
  if (const auto* task = std::get_if<Task>(&*reply)) return is_live(task->state);
  return false;
}

void EngineBroker::wait(Request request, const Reply& reply) {
  const std::uint64_t number = ++last_waiter_;
  WaitList::Reasons reasons{.at = request.until, .deadline = request.context.deadline};
  if (const auto* claim = std::get_if<Claim>(&request.command)) {
    reasons.queues = claim->queues;
    for (const std::string& queue : claim->queues) note_opening(queue);
  }
  if (const auto* task = std::get_if<Task>(&reply)) reasons.task = task->id;  // not its alias
  wait_list_.add(number, std::move(reasons));
  Waiter& waiter = waiters_[number];
  waiter.request = std::move(request);
  if (!waiter.request.context.stop.stop_possible()) return;
  waiter.on_stop = std::make_unique<std::stop_callback<std::function<void()>>>(
      waiter.request.context.stop, [this, number] {
        const std::lock_guard lock(mutex_);
        given_up_.push_back(number);
        poked_ = true;
        wake_.ring();
      });
}

void EngineBroker::serve_waiters() {
  if (wait_list_.empty()) {
    touched_.clear();
    openings_.clear();
    return;
  }
  bool served = false;
  const auto serve_all = [&](const std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t number : numbers) served |= serve_waiter(number);
  };
  serve_all(std::exchange(stopped_, {}));
  serve_all(wait_list_.due(engine_->now(), Steady::now()));
  std::set<std::string> open = take_openings();
  if (std::exchange(all_touched_, false)) {
    serve_all(wait_list_.all());
    open.merge(wait_list_.queues());
  }
  // What one is given may make something ready for another.
  do {
    served = false;
    serve_all(std::exchange(ended_, {}));
    for (const engine::Queue* queue : std::exchange(touched_, {})) open.insert(queue->name.str());
    for (const std::string& name : std::exchange(open, {})) {
      auto number = wait_list_.next_of_queue(name, 0);
      for (; number && note_opening(name); number = wait_list_.next_of_queue(name, *number)) {
        served |= serve_waiter(*number);
      }
    }
  } while (served);
}

// Whether the queue has something to give. If it will, when pace lets it, it is looked at then.
bool EngineBroker::note_opening(const std::string& queue) {
  const TimePoint at = engine_->claimable_at(queue);
  if (at <= engine_->now()) return true;
  if (at != kNever) openings_.emplace(at, queue);
  return false;
}

std::set<std::string> EngineBroker::take_openings() {
  std::set<std::string> open;
  while (!openings_.empty() && openings_.begin()->first <= engine_->now()) {
    open.insert(openings_.extract(openings_.begin()).value().second);
  }
  return open;
}

// False: it waits on.
bool EngineBroker::serve_waiter(std::uint64_t number) {
  const auto found = waiters_.find(number);
  if (found == waiters_.end()) return false;
  Request& request = found->second.request;
  if (auto error = given_up(request.context)) {
    refuse(request, *error);
    drop_waiter(number);
    return true;
  }
  const bool over = engine_->now() >= request.until;
  Result<Reply> reply = engine_->apply(request.command, engine_->now());
  if (has_lost_payload()) {
    refuse(request, payload_lost());
    drop_waiter(number);
    return true;
  }
  take_changes();
  if (!over && is_worth_waiting(reply)) return false;
  answer(request, std::move(reply));
  drop_waiter(number);
  return true;
}

void EngineBroker::drop_waiter(std::uint64_t number) {
  wait_list_.remove(number);
  waiters_.erase(number);
}

void EngineBroker::refuse_waiters(const Error& error) {
  for (const std::uint64_t number : wait_list_.all()) {
    refuse(waiters_.at(number).request, error);
    drop_waiter(number);
  }
}

}  // namespace retsu
