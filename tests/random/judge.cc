#include "random/judge.h"

#include <algorithm>
#include <cmath>

#include "broker/codec.h"
#include "ingest/validate.h"

namespace retsu::random_runs {
namespace {

using Counts = std::map<std::string, std::int64_t>;

void drop_zeros(Counts& counts) {
  std::erase_if(counts, [](const auto& row) { return row.second == 0; });
}

void hide(std::optional<std::string>& cursor) {
  if (cursor) *cursor = "more";
}

// Which of several cycles is told is free, but it must be one.
bool is_cycle(const std::string& details) {
  const std::string_view open = R"({"cycle":[")";
  if (!details.starts_with(open) || !details.ends_with("\"]}")) return false;
  const std::string inside = details.substr(open.size(), details.size() - open.size() - 3);
  const std::string_view joint = "\",\"";
  const std::size_t first = inside.find(joint);
  const std::size_t last = inside.rfind(joint);
  return first != inside.npos && inside.substr(0, first) == inside.substr(last + joint.size());
}

void make_alike(Error& error) {
  error.message.clear();
  error.details =
      error.code == ErrorCode::kDependencyCycle && is_cycle(error.details) ? "cycle" : "";
}

void make_alike(QueueInfo& info) {
  drop_zeros(info.tasks);
  drop_zeros(info.counters);
  info.per_minute.clear();
}

void make_alike(ScheduleInfo& info) {
  if (!info.last_error.empty()) info.last_error = "some";
}

struct MakeAlike {
  void operator()(PushReply& reply) const {
    for (Pushed& pushed : reply.tasks) {
      if (!pushed.error) continue;
      make_alike(*pushed.error);
      pushed.state = {};
    }
  }
  void operator()(SettleReply& reply) const {
    for (Settled& settled : reply.results) {
      if (settled.error) make_alike(*settled.error);
    }
  }
  void operator()(TaskPage& page) const { hide(page.next_cursor); }
  void operator()(ClaimPage& page) const { hide(page.next_cursor); }
  void operator()(WhyReply& reply) const {
    for (WhyCause& cause : reply.causes) cause.detail.clear();
  }
  void operator()(GraphReply& reply) const {
    std::sort(reply.nodes.begin(), reply.nodes.end(),
              [](const GraphNode& a, const GraphNode& b) { return a.id < b.id; });
    std::sort(reply.edges.begin(), reply.edges.end(), [](const GraphEdge& a, const GraphEdge& b) {
      return std::tie(a.from, a.to) < std::tie(b.from, b.to);
    });
  }
  void operator()(QueueInfo& info) const { make_alike(info); }
  void operator()(QueueList& list) const {
    hide(list.next_cursor);
    for (QueueInfo& info : list.queues) make_alike(info);
  }
  void operator()(UserList& list) const {
    hide(list.next_cursor);
    for (UserInfo& user : list.users) {
      user.share_got = std::round(user.share_got * 1e6) / 1e6;
      user.share_due = std::round(user.share_due * 1e6) / 1e6;
      user.wait_p50_ms.reset();
      user.wait_p95_ms.reset();
    }
  }
  void operator()(ScheduleInfo& info) const { make_alike(info); }
  void operator()(ScheduleList& list) const {
    hide(list.next_cursor);
    for (ScheduleInfo& info : list.schedules) make_alike(info);
  }
  void operator()(StatsReply& reply) const {
    drop_zeros(reply.tasks);
    drop_zeros(reply.counters);
  }
  template <class Other>
  void operator()(Other&) const {}
};

// A person wants to see the item that differs, not the whole page.
template <class Item>
void keep_what_differs(std::vector<Item>& ours, std::vector<Item>& theirs) {
  for (std::size_t i = 0; i < ours.size() && i < theirs.size(); ++i) {
    if (ours[i] == theirs[i]) continue;
    ours = {Item(ours[i])};
    theirs = {Item(theirs[i])};
    return;
  }
}

std::string shown(const Command& command) {
  return std::string(operation_of(command).name) + " " + to_json(command);
}

}  // namespace

void forget_workers(Result<Reply>& reply) {
  auto* why = reply ? std::get_if<WhyReply>(&*reply) : nullptr;
  if (why == nullptr) return;
  std::erase_if(why->causes, [](const WhyCause& cause) { return cause.cause == Cause::kNoWorker; });
}

Result<Reply> comparable(Result<Reply> reply) {
  if (reply) {
    std::visit(MakeAlike{}, *reply);
  } else {
    make_alike(reply.error());
  }
  return reply;
}

std::string shown(const Result<Reply>& reply) {
  return reply ? to_json(*reply) : to_json(reply.error());
}

std::string shown(const Step& step) {
  return format_time(step.clock) + " " + (step.key ? "[" + *step.key + "] " : "") +
         shown(step.command);
}

std::optional<Mismatch> Judge::ask(const Command& command, const std::optional<std::string>& key) {
  bool replayed = false;
  if (const Status valid = validate(command, limits_); !valid) {
    answer_ = tl::unexpected(valid.error());
  } else if (key) {
    const IdempotencyKey whole{"", std::string(operation_of(command).name), *key};
    Answer answer = model_.apply_once(command, clock_, whole, canonical_json(to_json(command)));
    replayed = answer.replayed;
    answer_ = std::move(answer);
  } else {
    answer_ = model_.apply(command, clock_);
  }
  Context context;
  context.idempotency_key = key;
  Answer theirs = call_any(subject_.broker(), command, std::move(context));
  const bool agree = theirs.replayed == replayed;
  Result<Reply> got = comparable(std::move(theirs));
  Result<Reply> expected = comparable(answer_);
  if (subject_.forgets_workers()) {
    for (Result<Reply>* reply : {&got, &expected}) forget_workers(*reply);
  }
  if (expected == got && agree) return std::nullopt;
  const std::string note = agree ? "" : replayed ? " (replayed)" : " (not replayed)";
  return Mismatch{steps_, shown(command), shown(expected) + note, shown(got)};
}

std::optional<Mismatch> Judge::take(const Step& step) {
  ++steps_;
  clock_ = step.clock;
  subject_.set_clock(clock_);
  model_.advance(clock_);
  if (!subject_.is_remote()) return ask(step.command, step.key);
  auto sent = command_from_json(operation_of(step.command).name, to_json(step.command));
  return sent ? ask(*sent, step.key) : std::nullopt;
}

// Each follows its own cursors.
template <class List, class Page, class Item>
std::optional<Mismatch> Judge::ask_pages(List list, std::vector<Item> Page::*items,
                                         std::vector<Item>* all) {
  List theirs = list;
  while (true) {
    Result<Reply> expected = model_.apply(list, clock_);
    Result<Reply> got = call_any(subject_.broker(), theirs);
    const std::optional<std::string> ours = std::get<Page>(*expected).next_cursor;
    if (all) std::ranges::copy(std::get<Page>(*expected).*items, std::back_inserter(*all));
    std::optional<std::string> next;
    if (got) next = std::get<Page>(*got).next_cursor;
    expected = comparable(std::move(expected));
    got = comparable(std::move(got));
    if (expected != got) {
      if (got) keep_what_differs(std::get<Page>(*expected).*items, std::get<Page>(*got).*items);
      return Mismatch{steps_, "all pages: " + shown(Command(list)), shown(expected), shown(got)};
    }
    if (!ours) return std::nullopt;
    list.cursor = *ours;
    theirs.cursor = *next;
  }
}

std::optional<Mismatch> Judge::compare_everything() {
  std::vector<Task> tasks;
  ListTasks list;
  list.limit = 37;
  if (auto found = ask_pages(list, &TaskPage::tasks, &tasks)) return found;
  for (const Task& task : tasks) {
    if (auto found = ask(GetTask{task.id, 0})) return found;
    if (!is_waiting(task.state)) continue;
    if (auto found = ask(Why{task.id})) return found;
  }
  if (auto found = ask_pages(ListQueues{2, ""}, &QueueList::queues)) return found;
  if (auto found = ask_pages(ListUsers{"", 5, ""}, &UserList::users)) return found;
  if (auto found = ask_pages(ListClaims{3, ""}, &ClaimPage::claims)) return found;
  if (auto found = ask_pages(ListSchedules{2, ""}, &ScheduleList::schedules)) return found;
  return ask(Stats{});
}

}  // namespace retsu::random_runs
