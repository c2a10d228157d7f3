#include "broker/wait_list.h"

#include <utility>

namespace retsu {

void WaitList::add(Number number, Reasons reasons) {
  for (const std::string& queue : reasons.queues) by_queue_[queue].insert(number);
  if (!reasons.task.empty()) by_task_[reasons.task].insert(number);
  if (reasons.at != kNever) by_time_.emplace(reasons.at, number);
  if (reasons.deadline != Steady::time_point::max()) by_deadline_.emplace(reasons.deadline, number);
  waiting_.emplace(number, std::move(reasons));
}

void WaitList::remove(Number number) {
  const auto found = waiting_.extract(number);
  if (found.empty()) return;
  const Reasons& reasons = found.mapped();
  for (const std::string& queue : reasons.queues) drop(by_queue_, queue, number);
  drop(by_task_, reasons.task, number);
  by_time_.erase({reasons.at, number});
  by_deadline_.erase({reasons.deadline, number});
}

void WaitList::drop(ByName& names, const std::string& name, Number number) {
  const auto found = names.find(name);
  if (found == names.end()) return;
  found->second.erase(number);
  if (found->second.empty()) names.erase(found);
}

std::vector<WaitList::Number> WaitList::all() const {
  std::vector<Number> numbers;
  for (const auto& [number, reasons] : waiting_) numbers.push_back(number);
  return numbers;
}

std::set<std::string> WaitList::queues() const {
  std::set<std::string> names;
  for (const auto& [name, numbers] : by_queue_) names.insert(name);
  return names;
}

std::vector<WaitList::Number> WaitList::due(TimePoint now, Steady::time_point steady_now) const {
  Numbers numbers;
  for (const auto& [time, number] : by_time_) {
    if (time > now) break;
    numbers.insert(number);
  }
  for (const auto& [time, number] : by_deadline_) {
    if (time > steady_now) break;
    numbers.insert(number);
  }
  return {numbers.begin(), numbers.end()};
}

std::vector<WaitList::Number> WaitList::of_task(std::string_view id) const {
  const auto found = by_task_.find(id);
  if (found == by_task_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::optional<WaitList::Number> WaitList::next_of_queue(std::string_view queue,
                                                        Number after) const {
  const auto found = by_queue_.find(queue);
  if (found == by_queue_.end()) return std::nullopt;
  const auto next = found->second.upper_bound(after);
  if (next == found->second.end()) return std::nullopt;
  return *next;
}

TimePoint WaitList::next_time() const {
  return by_time_.empty() ? kNever : by_time_.begin()->first;
}

WaitList::Steady::time_point WaitList::next_deadline() const {
  return by_deadline_.empty() ? Steady::time_point::max() : by_deadline_.begin()->first;
}

}  // namespace retsu
