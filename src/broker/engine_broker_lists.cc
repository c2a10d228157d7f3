#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "broker/engine_broker.h"
#include "broker/refusals.h"

// Long lists: found in the keeper's tables, beside other work, and shown by the engine.
namespace retsu {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kShownAtOnce = 50;  // tasks

// The list of tasks that it asks for, if it does.
std::optional<ListTasks> list_of(const Command& command) {
  if (const auto* list = std::get_if<ListTasks>(&command)) return *list;
  const auto* dead = std::get_if<ListDead>(&command);
  if (dead == nullptr || dead->group != DeadGroupBy::kNothing) return std::nullopt;
  if (dead->filter.state && dead->filter.state != State::kFailed) return std::nullopt;
  ListTasks list{dead->filter, dead->limit, dead->cursor};
  list.filter.state = State::kFailed;
  return list;
}

}  // namespace

// False: the engine is to make the list.
bool EngineBroker::search(Request& request) {
  if (!keeper_ || full_) return false;  // what the tables lack cannot be written there now
  const std::optional<ListTasks> list = list_of(request.command);
  if (!list || !list->filter.waits_for.empty()) return false;
  if (in_flight_) {  // the keeper is not to be asked now
    deferred_.push_back(std::move(request));
    return true;
  }
  const std::uint64_t number = ++last_search_;
  const bool begun =
      keeper_->search(*list, engine_->size(), [this, number](Result<Keeper::Found> found) {
        const std::lock_guard lock(mutex_);
        found_.emplace_back(number, std::move(found));
        poked_ = true;
        wake_.ring();
      });
  if (!begun) return false;
  searching_.emplace(number, std::move(request));
  if (keeper_->is_awaited()) look_again_ = Steady::now();  // it has to tidy up first
  return true;
}

// A few tasks at once, so that nobody waits long for those who look.
void EngineBroker::show(Showing showing) {
  Request& request = showing.request;
  if (!*request.found) return refuse(request, request.found->error());
  engine_->advance(now());
  take_changes();
  const Keeper::Found& found = **request.found;
  const auto rest = std::span<const std::string>(found.ids).subspan(showing.looked_at);
  const auto some = rest.first(std::min(rest.size(), kShownAtOnce));
  std::ranges::move(engine_->view_matching(some, list_of(request.command)->filter),
                    std::back_inserter(showing.tasks));
  if (has_lost_payload()) return refuse(request, payload_lost());
  showing.looked_at += some.size();
  if (some.size() < rest.size()) {
    showing_.push_back(std::move(showing));
  } else if (std::holds_alternative<ListTasks>(request.command)) {
    answer(request, Result<Reply>(TaskPage{std::move(showing.tasks), found.next_cursor}));
  } else {
    answer(request,
           Result<Reply>(DeadPage{std::move(showing.tasks), std::nullopt, found.next_cursor}));
  }
}

void EngineBroker::show_some() {
  if (showing_.empty()) return;
  Showing showing = std::move(showing_.front());
  showing_.pop_front();
  if (auto error = given_up(showing.request.context)) return refuse(showing.request, *error);
  if (!engine_) return refuse(showing.request, broken_);
  show(std::move(showing));
}

// What was shown may not be true any more.
void EngineBroker::show_again() {
  for (Showing& showing : showing_) {
    showing.tasks.clear();
    showing.looked_at = 0;
  }
}

void EngineBroker::give_up_searches() {
  for (auto search = searching_.begin(); search != searching_.end();) {
    const auto error = given_up(search->second.context);
    if (error) refuse(search->second, *error);
    search = error ? searching_.erase(search) : std::next(search);
  }
}

}  // namespace retsu
