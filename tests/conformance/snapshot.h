// All that can be seen of a queue from outside, to prove that a refusal changed nothing.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "broker/broker.h"
#include "conformance/answers.h"

namespace retsu::conformance {

// Every page of a list, put together.
template <class List, class Page, class Item>
std::vector<Item> all_pages(Broker& broker, List request, std::vector<Item> Page::*items) {
  std::vector<Item> all;
  while (true) {
    Result<Page> page = call(broker, request);
    if (!page) throw Unexpected("a list was refused: " + page.error().message);
    for (Item& item : (*page).*items) all.push_back(std::move(item));
    if (!page->next_cursor) return all;
    if (page->next_cursor == request.cursor) throw Unexpected("a cursor does not move");
    request.cursor = *page->next_cursor;
  }
}

struct Snapshot {
  StatsReply stats;
  std::vector<Task> tasks;
  std::vector<QueueInfo> queues;
  std::vector<ClaimInfo> claims;
  std::vector<ScheduleInfo> schedules;
  std::vector<UserInfo> users;
};

inline Snapshot snapshot_of(Broker& broker) {
  Result<StatsReply> stats = call(broker, Stats{});
  if (!stats) throw Unexpected("stats were refused: " + stats.error().message);
  stats->now = {};
  return {.stats = std::move(*stats),
          .tasks = all_pages(broker, ListTasks{}, &TaskPage::tasks),
          .queues = all_pages(broker, ListQueues{}, &QueueList::queues),
          .claims = all_pages(broker, ListClaims{}, &ClaimPage::claims),
          .schedules = all_pages(broker, ListSchedules{}, &ScheduleList::schedules),
          .users = all_pages(broker, ListUsers{}, &UserList::users)};
}

inline testing::AssertionResult is_same(const Snapshot& before, const Snapshot& after) {
  const auto differ = [](std::string_view what) {
    return testing::AssertionFailure() << what << " changed";
  };
  if (before.tasks.size() != after.tasks.size()) return differ("the number of tasks");
  for (std::size_t i = 0; i < before.tasks.size(); ++i) {
    if (before.tasks[i] != after.tasks[i]) return differ("task " + before.tasks[i].id);
  }
  if (before.queues != after.queues) return differ("a queue");
  if (before.claims != after.claims) return differ("a claim");
  if (before.schedules != after.schedules) return differ("a schedule");
  if (before.users != after.users) return differ("a user");
  if (before.stats.counters != after.stats.counters) return differ("a counter");
  if (before.stats != after.stats) return differ("the statistics");
  return testing::AssertionSuccess();
}

}  // namespace retsu::conformance
