#include <algorithm>
#include <limits>

#include "server/alerts.h"

namespace retsu::server {
namespace {

constexpr int kSamples = 360;  // over the longest window

double value_in(const Sample& sample, const std::string& queue, std::string_view name) {
  const auto found = sample.values.find(queue);
  if (found == sample.values.end()) return 0;
  const auto value = found->second.find(name);
  return value == found->second.end() ? 0 : value->second;
}

double rise(const Sample& from, const Sample& to, const std::string& queue,
            const std::vector<std::string>& names) {
  double sum = 0;
  for (const std::string& name : names) {
    sum += value_in(to, queue, name) - value_in(from, queue, name);
  }
  return sum;
}

}  // namespace

AlertBook::AlertBook(AlertRules rules) {
  for (auto& [name, rule] : rules) {
    longest_ = std::max(longest_, Millis(rule.window_ms));
    states_[name] = {.name = name, .rule = std::move(rule)};
  }
}

std::vector<AlertState> AlertBook::add(Sample sample) {
  // The last but one is as old as it must be for the last one to be news.
  const bool is_close =
      past_.size() > 1 && sample.at - past_[past_.size() - 2].at < longest_ / kSamples;
  if (is_close) past_.pop_back();
  const TimePoint now = sample.at;
  past_.push_back(std::move(sample));
  while (past_.size() > 1 && past_[1].at <= now - longest_) past_.pop_front();

  std::vector<AlertState> changed;
  for (auto& [name, state] : states_) {
    state.value = value_of_rule(state.rule);
    const bool fires = state.rule.enabled && state.value && *state.value > state.rule.above;
    if (fires == state.firing) continue;
    state.firing = fires;
    state.since = fires ? std::optional(now) : std::nullopt;
    changed.push_back(state);
  }
  return changed;
}

std::vector<AlertState> AlertBook::states() const {
  std::vector<AlertState> all;
  for (const auto& [name, state] : states_) all.push_back(state);
  return all;
}

std::optional<double> AlertBook::value_of_rule(const AlertRule& rule) const {
  const Sample& last = past_.back();
  const TimePoint begin = last.at - Millis(rule.window_ms);
  // The last one before the window, or the first that there is.
  auto first = std::ranges::upper_bound(past_, begin, {}, &Sample::at);
  if (first != past_.begin()) --first;
  if (!rule.gauge.empty()) {
    if (first->at > begin) return std::nullopt;  // not for that long yet
    double lowest = std::numeric_limits<double>::max();
    for (auto each = first; each != past_.end(); ++each) {
      lowest = std::min(lowest, value_in(*each, rule.queue, rule.gauge));
    }
    return lowest;
  }
  const double count = rise(*first, last, rule.queue, rule.count);
  const double whole = rule.of.empty() ? 1 : rise(*first, last, rule.queue, rule.of);
  const double events = rule.of.empty() ? count : whole;
  if (whole <= 0 || events < static_cast<double>(rule.from_events)) return std::nullopt;
  return count / whole;
}

}  // namespace retsu::server
