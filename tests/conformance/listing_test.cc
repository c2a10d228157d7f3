// Finding tasks by filter, page by page.

#include <algorithm>

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(Listing);

TEST_P(Listing, TheNewestTaskComesFirst) {
  push_each({"a", "b"});
  advance(1s);
  push_each({"c"});
  EXPECT_EQ(listed({}), (Ids{"c", "b", "a"}));
}

TEST_P(Listing, EachFilterPicksItsOwn) {
  push({.id = "a", .queue = "mail", .user = "ann", .type = "send", .tags = {"red", "blue"}});
  advance(1min);
  push({.id = "b", .user = "bob", .payload = R"({"isbn":"978"})", .unique_key = "key"});
  push({.id = "c", .depends_on = {{"b"}}});
  EXPECT_EQ(listed({.state = kDeferred}), Ids{"c"});
  EXPECT_EQ(listed({.queue = "mail"}), Ids{"a"});
  EXPECT_EQ(listed({.user = "bob"}), Ids{"b"});
  EXPECT_EQ(listed({.type = "send"}), Ids{"a"});
  EXPECT_EQ(listed({.tag = "blue"}), Ids{"a"});
  EXPECT_EQ(listed({.unique_key = "key"}), Ids{"b"});
  EXPECT_EQ(listed({.waits_for = "b"}), Ids{"c"});
  EXPECT_EQ(listed({.since = kStart + 1min}), (Ids{"c", "b"}));
  EXPECT_EQ(listed({.until = kStart + 1min}), Ids{"a"});
  EXPECT_EQ(listed({.queue = "mail", .user = "bob"}), Ids{});
  EXPECT_EQ(listed({.queue = "nowhere"}), Ids{});
}

TEST_P(Listing, TextIsFoundInPayloadErrorIdAndTags) {
  push({.id = "needle-1"});
  push({.id = "b", .payload = R"({"a":"a needle here"})"});
  push({.id = "c", .tags = {"needle"}});
  push({.id = "d", .queue = "q"});
  run_and_reject("d", "found a needle");
  push({.id = "e", .user = "needle"});
  Ids found = listed({.q = "needle"});
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (Ids{"b", "c", "d", "needle-1"}));
}

TEST_P(Listing, TextIsFoundWhateverItsCaseAndHoweverJsonHasItEscaped) {
  push({.id = "A", .payload = R"({"city":"\u6771\u4eac"})"});
  push({.id = "b", .payload = R"("Tōkyō 東京")", .tags = {"Station"}});
  push({.id = "c", .payload = R"({"said":"\"East\""})"});
  EXPECT_EQ(listed({.q = "東京"}), (Ids{"b", "A"}));
  EXPECT_EQ(listed({.q = R"(:"\U6771)"}), Ids{"A"});
  EXPECT_EQ(listed({.q = R"("east")"}), Ids{"c"});
  EXPECT_EQ(listed({.q = "sTATION"}), Ids{"b"});
  EXPECT_EQ(listed({.q = "west"}), Ids{});
}

TEST_P(Listing, PagesTogetherAreTheWholeList) {
  push_each(numbered("t", 25));
  Ids all;
  ListTasks request{.limit = 10};
  std::vector<std::size_t> sizes;
  while (true) {
    const TaskPage page = must(request);
    sizes.push_back(page.tasks.size());
    for (const Task& each : page.tasks) all.push_back(each.id);
    if (!page.next_cursor) break;
    request.cursor = *page.next_cursor;
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{10, 10, 5}));
  Ids expected = numbered("t", 25);
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(all, expected);
}

TEST_P(Listing, APageMissesNothingThatStoodWhenItsListBegan) {
  push_each(numbered("t", 20));
  ListTasks request{.limit = 10};
  TaskPage page = must(request);
  push_each(numbered("new", 5));
  ASSERT_TRUE(page.next_cursor);
  request.cursor = *page.next_cursor;
  page = must(request);
  Ids second;
  for (const Task& each : page.tasks) second.push_back(each.id);
  Ids expected = numbered("t", 10);
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(second, expected);
}

TEST_P(Listing, PagesOfAFilteredListHoldOnlyWhatMatches) {
  push_each(numbered("t", 30));
  push_each(numbered("m", 7), {.queue = "mail"});
  ListTasks request{.filter = {.queue = "mail"}, .limit = 3};
  Ids all;
  while (true) {
    const TaskPage page = must(request);
    for (const Task& each : page.tasks) all.push_back(each.id);
    if (!page.next_cursor) break;
    request.cursor = *page.next_cursor;
  }
  EXPECT_EQ(all, (Ids{"m7", "m6", "m5", "m4", "m3", "m2", "m1"}));
}

}  // namespace
}  // namespace retsu::conformance
