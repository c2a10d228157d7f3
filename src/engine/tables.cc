#include "engine/tables.h"

#include <algorithm>

#include "base/check.h"

namespace retsu::engine {
namespace {

const Options kNoOptions;
const Run kNoRun;
const QueuePolicy kDefaultPolicy;
constexpr std::size_t kSharedTypes = 10'000;      // more are stored with each task
constexpr std::size_t kExpectedChanges = 16'384;  // of a command, at most

}  // namespace

const Options& TaskNode::options() const { return row.options ? *row.options : kNoOptions; }
const Run& TaskNode::run() const { return row.run ? *row.run : kNoRun; }
std::int64_t TaskNode::bytes() const {
  return static_cast<std::int64_t>(row.payload.size() + run().result.size() + run().error.size());
}

Line::Line(boost::intrusive_ptr<Queue> in, Text for_user)
    : queue(std::move(in)), user(std::move(for_user)) {
  queue->lines.emplace(user.view(), this);
}
Line::~Line() { queue->lines.erase(user.view()); }

const QueuePolicy& Queue::policy() const { return row.policy ? *row.policy : kDefaultPolicy; }

Tables::~Tables() {
  log_.clear();
  std::vector<TaskNode*> all;
  ids_.for_each([&](TaskNode& task) { all.push_back(&task); });
  claims_.clear();
  timers_.clear();
  for (const auto& [name, queue] : queues_) {
    for (const auto& [user, line] : queue->lines) line->ready.clear();
    for (Retained& retained : queue->retained) retained.order.clear();
  }
  for (TaskNode* task : all) slab_.drop(task);
}

Tables::Mark Tables::mark() {
  seal();
  return log_.size();
}

// Rows that one part of a command changes again and again are logged once: the before at the first
// touch, the after here.
void Tables::seal() {
  for (QueueChange* change : open_queues_) change->after = change->queue->row;
  for (LineChange* change : open_lines_) change->after = change->line->row;
  if (open_meta_ != nullptr) open_meta_->after = meta_;
  open_queues_.clear();
  open_lines_.clear();
  open_meta_ = nullptr;
  ++epoch_;
}

void Tables::roll_back(Mark mark) {
  seal();
  while (log_.size() > mark) undo_last();
}

Changes Tables::take() {
  seal();
  Changes taken = std::exchange(log_, {});
  log_.reserve(std::min(taken.size(), kExpectedChanges));  // the next command is often like this
  return taken;
}

void Tables::undo(Changes changes) {
  RETSU_CHECK(log_.empty());
  log_ = std::move(changes);
  roll_back(0);
}

// Puts rows as they are after a change, or as they were before it.
struct Tables::Put {
  Tables& tables;
  bool forward;

  template <class Row>
  void operator()(const std::unique_ptr<Change<Row>>& change) const {
    const auto& [before, after] = *change;
    forward ? tables.put(before, after) : tables.put(after, before);
  }
  void operator()(const std::unique_ptr<QueueChange>& change) const {
    Queue& queue = *change->queue;
    queue.row = forward ? change->after : change->before;
    for (int end = 0; end < kEndStates; ++end) tables.refresh_retention(queue, end);
  }
  void operator()(const std::unique_ptr<LineChange>& change) const {
    Line& line = *change->line;
    if (line.row.place != 0) line.queue->ring.erase(&line);
    line.row = forward ? change->after : change->before;
    if (line.row.place != 0) line.queue->ring.insert(&line);
  }
  void operator()(const std::unique_ptr<MetaChange>& change) const {
    tables.meta_ = forward ? change->after : change->before;
  }
};

void Tables::undo_last() {
  std::visit(Put{*this, false}, log_.back());
  log_.pop_back();
}

void Tables::restore(const Changes& changes) {
  RETSU_CHECK(log_.empty());
  for (const AnyChange& change : changes) std::visit(Put{*this, true}, change);
}

MetaRow& Tables::edit_meta() {
  if (open_meta_ == nullptr) {
    auto change = std::make_unique<MetaChange>(MetaChange{meta_, {}});
    open_meta_ = change.get();
    log_.emplace_back(std::move(change));
  }
  return meta_;
}

std::int64_t Tables::next_front(std::int64_t keys) { return edit_meta().front -= keys; }

Queue& Tables::queue(std::string_view name) {
  const auto found = queues_.find(name);
  if (found != queues_.end()) return *found->second;
  // Names that were tried and never used, or deleted, must not pile up.
  if (queues_.size() > 2 * static_cast<std::size_t>(limits.queues)) {
    erase_if(queues_, [](const auto& entry) {
      return !entry.second->row.exists && entry.second->use_count() == 1;
    });
  }
  boost::intrusive_ptr<Queue> made(new Queue(name));
  queues_.emplace(made->name.view(), made);
  return *made;
}

Queue* Tables::find_queue(std::string_view name) const {
  const auto found = queues_.find(name);
  return found != queues_.end() && found->second->row.exists ? found->second.get() : nullptr;
}

QueueRow& Tables::edit(Queue& queue) {
  if (queue.stamp != epoch_) {
    queue.stamp = epoch_;
    auto change = std::make_unique<QueueChange>(QueueChange{&queue, queue.row, {}});
    open_queues_.push_back(change.get());
    log_.emplace_back(std::move(change));
  }
  return queue.row;
}

void Tables::set_policy(Queue& queue, std::shared_ptr<const QueuePolicy> policy) {
  QueueRow& row = edit(queue);
  row.exists = true;
  row.policy = std::move(policy);
  for (int end = 0; end < kEndStates; ++end) refresh_retention(queue, end);
}

void Tables::count(Queue& queue, Counter counter, std::int64_t by) {
  QueueRow& row = edit(queue);
  row.counters[static_cast<std::size_t>(counter)] += by;
  for (std::size_t i = 0; i < kPerMinute; ++i) {
    if (kMinuteCounters[i] != counter) continue;
    const std::int64_t minute = now().time_since_epoch() / Millis(kMinute);
    if (minute != row.minute) {
      row.last_minute = minute == row.minute + 1 ? row.this_minute : decltype(row.last_minute){};
      row.this_minute = {};
      row.minute = minute;
    }
    row.this_minute[i] += by;
  }
}

boost::intrusive_ptr<Line> Tables::line(Queue& queue, std::string_view user) {
  const auto found = queue.lines.find(user);
  if (found != queue.lines.end()) return found->second;
  boost::intrusive_ptr<Line> made(new Line(&queue, user));
  refresh_entitlement(*made);
  return made;
}

LineRow& Tables::edit(Line& line) {
  if (line.stamp != epoch_) {
    line.stamp = epoch_;
    auto change = std::make_unique<LineChange>(LineChange{&line, line.row, {}});
    open_lines_.push_back(change.get());
    log_.emplace_back(std::move(change));
  }
  return line.row;
}

void Tables::set_place(Line& line, std::uint64_t place, std::int64_t turns) {
  LineRow& row = edit(line);
  Ring& ring = line.queue->ring;
  Ring::node_type moved;
  if (row.place != 0) {
    // Nearly always the first one.
    moved = *ring.begin() == &line ? ring.extract(ring.begin()) : ring.extract(&line);
  }
  row.place = place;
  row.turns = turns;
  if (place == 0) return;
  // Nearly always the last one.
  moved.empty() ? ring.insert(ring.end(), &line) : ring.insert(ring.end(), std::move(moved));
}

void Tables::refresh_ring(Line& line) {
  const bool belongs = line.belongs_in_ring();
  if (belongs == (line.row.place != 0)) return;
  set_place(line, belongs ? ++edit_meta().place : 0, 0);
}

void Tables::set_settings(SettingsRow row) {
  std::optional<SettingsRow> before;
  if (const UserSettings* old = settings(row.queue, row.user)) {
    before = SettingsRow{row.queue, row.user, *old};
  }
  std::optional<SettingsRow> after;
  if (row.settings != UserSettings{}) after = row;
  if (!before && !after) return;
  change(std::move(before), std::move(after));
  for (const auto& [name, queue] : queues_) {
    const auto found = queue->lines.find(row.user);
    if (found != queue->lines.end()) refresh_ring(*found->second);
  }
}

void Tables::put(const std::optional<SettingsRow>& from, const std::optional<SettingsRow>& to) {
  const SettingsRow& row = to ? *to : *from;
  if (to) {
    settings_[{row.user, row.queue}] = row.settings;
  } else {
    settings_.erase({row.user, row.queue});
  }
  for (const auto& [name, queue] : queues_) {
    const auto found = queue->lines.find(row.user);
    if (found != queue->lines.end()) refresh_entitlement(*found->second);
  }
}

const UserSettings* Tables::settings(std::string_view queue, std::string_view user) const {
  const auto found = settings_.find({std::string(user), std::string(queue)});
  return found == settings_.end() ? nullptr : &found->second;
}

void Tables::refresh_entitlement(Line& line) const {
  line.due = {};
  for (const std::string_view queue : {std::string_view(), line.queue->name.view()}) {
    const UserSettings* set = settings_.empty() ? nullptr : settings(queue, line.user);
    if (set == nullptr) continue;
    line.due.weight = set->weight.value_or(line.due.weight);
    line.due.max_running = set->max_running.value_or(line.due.max_running);
    line.due.max_waiting = set->max_waiting.value_or(line.due.max_waiting);
    line.due.max_waiting_bytes = set->max_waiting_bytes.value_or(line.due.max_waiting_bytes);
  }
}

Text Tables::shared_type(std::string_view type) {
  if (type.empty()) return {};
  const auto found = types_.find(type);
  if (found != types_.end()) return found->second;
  Text made(type);
  if (types_.size() < kSharedTypes) types_.emplace(made.view(), made);
  return made;
}

}  // namespace retsu::engine
