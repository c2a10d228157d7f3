#include <algorithm>

#include "server/alerts.h"

namespace retsu::server {
namespace {

constexpr int kPoints = 360;  // over a window

double value_in(const Sample& sample, const std::string& queue, std::string_view name) {
  const auto found = sample.values.find(queue);
  if (found == sample.values.end()) return 0;
  const auto value = found->second.find(name);
  return value == found->second.end() ? 0 : value->second;
}

double sum_in(const Sample& sample, const std::string& queue,
              const std::vector<std::string>& names) {
  double sum = 0;
  for (const std::string& name : names) sum += value_in(sample, queue, name);
  return sum;
}

}  // namespace

AlertBook::AlertBook(AlertRules rules) {
  for (auto& [name, rule] : rules) {
    watched_[name] = {.state = {.name = name, .rule = std::move(rule)}};
  }
}

std::vector<AlertState> AlertBook::add(const Sample& sample) {
  std::vector<AlertState> changed;
  for (auto& [name, watched] : watched_) {
    AlertState& state = watched.state;
    const AlertRule& rule = state.rule;
    const double count = rule.gauge.empty() ? sum_in(sample, rule.queue, rule.count)
                                            : value_in(sample, rule.queue, rule.gauge);
    remember(watched, {sample.at, count, sum_in(sample, rule.queue, rule.of)});
    state.value = value_of(watched);
    const bool fires = rule.enabled && state.value && *state.value > rule.above;
    if (fires == state.firing) continue;
    state.firing = fires;
    state.since = fires ? std::optional(sample.at) : std::nullopt;
    changed.push_back(state);
  }
  return changed;
}

std::vector<AlertState> AlertBook::states() const {
  std::vector<AlertState> all;
  for (const auto& [name, watched] : watched_) all.push_back(watched.state);
  return all;
}

void AlertBook::remember(Watched& watched, const Point& point) {
  auto& past = watched.past;
  if (!past.empty() && point.at < past.back().at) return;  // overtaken
  // A queue that was removed counts from nothing again.
  const bool counts = watched.state.rule.gauge.empty();
  if (!past.empty() && counts &&
      (point.count < past.back().count || point.whole < past.back().whole)) {
    past.clear();
  }
  const Millis window(watched.state.rule.window_ms);
  // The last but one is as old as it must be for the last one to be news.
  const bool is_close = past.size() > 1 && point.at - past[past.size() - 2].at < window / kPoints;
  if (is_close && counts) past.pop_back();
  if (is_close && !counts) {  // its lowest is not to be lost
    past.back() = {point.at, std::min(past.back().count, point.count), 0};
  } else {
    past.push_back(point);
  }
  while (past.size() > 1 && past[1].at <= point.at - window) past.pop_front();
}

std::optional<double> AlertBook::value_of(const Watched& watched) {
  const AlertRule& rule = watched.state.rule;
  const Point& first = watched.past.front();
  const Point& last = watched.past.back();
  if (!rule.gauge.empty()) {
    if (last.at - first.at < Millis(rule.window_ms)) return std::nullopt;  // not for that long yet
    return std::ranges::min(watched.past, {}, &Point::count).count;
  }
  const double count = last.count - first.count;
  const double whole = rule.of.empty() ? 1 : last.whole - first.whole;
  const double events = rule.of.empty() ? count : whole;
  if (whole <= 0 || events < static_cast<double>(rule.from_events)) return std::nullopt;
  return count / whole;
}

}  // namespace retsu::server
