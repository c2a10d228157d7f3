#include "spool/spool.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/temporary_directory.h"
#include "base/wall_clock.h"
#include "spool/dead_letters.h"

namespace retsu::spool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const TimePoint kStart = *parse_time("2026-11-16T10:00:00Z");

Entry entry(std::string id, Urgency urgency = Urgency::kNormal, TimePoint created = kStart) {
  return {.id = std::move(id),
          .type = "sync",
          .payload = Json("{}"),
          .priority = urgency,
          .created_at = created};
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

class SpoolTest : public testing::Test {
 protected:
  Spool open(Limits limits = {}) {
    return Spool(path_, limits, [this] { return now_; });
  }
  std::vector<std::string> ids() {
    std::vector<std::string> ids;
    const auto contents = open().read();
    EXPECT_TRUE(contents);
    for (const Line& line : contents->in_order()) ids.push_back(contents->entry_of(line)->id);
    return ids;
  }
  std::vector<DeadEntry> dead() {
    std::vector<DeadEntry> found;
    std::ifstream file(dead_file_of(path_));
    for (std::string line; std::getline(file, line);) found.push_back(*parse_dead_entry(line));
    return found;
  }
  std::vector<std::string> dead_ids() {
    std::vector<std::string> ids;
    for (const DeadEntry& each : dead()) ids.push_back(each.entry.id + " " + each.reason);
    return ids;
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/queue.jsonl";
  TimePoint now_ = kStart;
};

TEST_F(SpoolTest, IsOneLineATask) {
  Spool spool = open();
  ASSERT_TRUE(spool.add(entry("a")));
  ASSERT_TRUE(spool.add(entry("b", Urgency::kHigh)));
  EXPECT_EQ(
      contents_of(path_),
      R"({"id":"a","type":"sync","payload":{},"priority":"normal","createdAt":"2026-11-16T10:00:00.000Z","retries":0})"
      "\n"
      R"({"id":"b","type":"sync","payload":{},"priority":"high","createdAt":"2026-11-16T10:00:00.000Z","retries":0})"
      "\n");
  struct stat found {};
  ASSERT_EQ(::stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
}

TEST_F(SpoolTest, GivesUrgentOnesFirstThenTheOldest) {
  Spool spool = open();
  const auto later = [](int s) { return kStart + Millis(s * 1'000); };
  for (const Entry& each :
       {entry("low", Urgency::kLow, later(0)), entry("new", Urgency::kNormal, later(9)),
        entry("old", Urgency::kNormal, later(1)), entry("twin", Urgency::kNormal, later(1)),
        entry("high", Urgency::kHigh, later(10))}) {
    ASSERT_TRUE(spool.add(each));
  }
  EXPECT_THAT(ids(), ElementsAre("high", "old", "twin", "new", "low"));
}

TEST_F(SpoolTest, ThatIsNotThereIsEmptyAndIsNotMadeByLooking) {
  EXPECT_THAT(ids(), IsEmpty());
  EXPECT_FALSE(*open().peek());
  EXPECT_FALSE(open().take()->entry);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_EQ(Spool(directory_.path() + "/no/queue.jsonl").add(entry("a")).error().code,
            ErrorCode::kNotFound);
}

TEST_F(SpoolTest, HidesWhatWasTakenForAMinuteAndLosesNothing) {
  Spool spool = open();
  ASSERT_TRUE(spool.add(entry("a")));
  ASSERT_TRUE(spool.add(entry("b")));
  now_ += Millis(5);
  const auto taken = spool.take();
  ASSERT_TRUE(taken && taken->entry);
  EXPECT_EQ(taken->entry->id, "a");
  EXPECT_EQ(taken->entry->last_attempt, now_);
  EXPECT_EQ(taken->entry->next_retry_at, now_ + Millis(60'000));
  EXPECT_EQ(taken->entry->retries, 0);
  EXPECT_EQ((*spool.peek())->id, "b");
  EXPECT_EQ(spool.take()->entry->id, "b");
  EXPECT_FALSE(spool.take()->entry);
  EXPECT_THAT(ids(), ElementsAre("a", "b"));
  now_ += Millis(60'000);
  EXPECT_EQ(spool.take()->entry->id, "a");
}

TEST_F(SpoolTest, RemovesWhatIsDone) {
  Spool spool = open();
  ASSERT_TRUE(spool.add(entry("a")));
  ASSERT_TRUE(spool.add(entry("b")));
  ASSERT_TRUE(spool.done("a"));
  EXPECT_THAT(ids(), ElementsAre("b"));
  EXPECT_EQ(spool.done("a").error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(spool.add(entry("c")));  // into the new file
  EXPECT_THAT(ids(), ElementsAre("b", "c"));
}

// The original made a new id, a new time and no retries of it.
TEST_F(SpoolTest, ARequeueKeepsIdAndTimeAndCounts) {
  Spool spool = open();
  ASSERT_TRUE(spool.add(entry("a")));
  for (int n = 1; n <= 5; ++n) {
    now_ += Millis(100'000);
    const auto failed = spool.fail("a", fmt::format("no {}", n));
    ASSERT_TRUE(failed);
    EXPECT_FALSE(failed->is_dead);
    EXPECT_EQ(failed->entry.id, "a");
    EXPECT_EQ(failed->entry.created_at, kStart);
    EXPECT_EQ(failed->entry.retries, n);
    EXPECT_EQ(failed->entry.last_attempt, now_);
    EXPECT_EQ(failed->entry.error, fmt::format("no {}", n));
    const Millis delay = *failed->entry.next_retry_at - now_;
    EXPECT_GE(delay, Millis(750 << (n - 1)));
    EXPECT_LE(delay, Millis(1'250 << (n - 1)));
    EXPECT_FALSE(*spool.peek()) << "it is honoured";
  }
  EXPECT_THAT(dead(), IsEmpty());
  const auto last = spool.fail("a", "no 6");
  ASSERT_TRUE(last && last->is_dead);
  EXPECT_THAT(ids(), IsEmpty());
  ASSERT_THAT(dead(), SizeIs(1));
  EXPECT_EQ(dead()[0].entry.retries, 6);
  EXPECT_EQ(dead()[0].entry.error, "no 6");
  EXPECT_EQ(dead()[0].moved_at, now_);
  EXPECT_EQ(dead()[0].reason, "max_retries");
}

TEST(Delays, DoubleUpToAMinuteGiveOrTakeAQuarter) {
  for (int n = 1; n <= 20; ++n) {
    const std::int64_t whole = std::min(1'000LL << (n - 1), 64'000LL);
    EXPECT_EQ(delay_after(n, 0.5).count(), whole) << n;
    EXPECT_EQ(delay_after(n, 0).count(), whole * 3 / 4) << n;
    EXPECT_EQ(delay_after(n, 1).count(), whole * 5 / 4) << n;
  }
}

// ---------------------------------------------------------------------------------------- limits

TEST_F(SpoolTest, HoldsAThousandTasksTheOldestGoes) {
  Spool spool = open();
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(spool.add(entry(fmt::format("{:04}", i), Urgency::kHigh, kStart + Millis(i))));
  }
  EXPECT_THAT(dead(), IsEmpty());
  const auto added = spool.add(entry("last", Urgency::kLow, kStart + Millis(2'000)));
  ASSERT_TRUE(added);
  ASSERT_THAT(added->dropped, SizeIs(1));
  EXPECT_EQ(added->dropped[0].id, "0000");
  EXPECT_THAT(dead_ids(), ElementsAre("0000 max_tasks"));
  EXPECT_THAT(ids(), SizeIs(1'000));
  ASSERT_TRUE(open().add(entry("more", Urgency::kLow, kStart + Millis(3'000))));
  EXPECT_THAT(dead_ids(), ElementsAre("0000 max_tasks", "0001 max_tasks"));
}

TEST_F(SpoolTest, HoldsTenMegabytesTheOldestGoes) {
  Spool spool = open();
  Entry large = entry("", Urgency::kNormal);
  large.payload = Json(fmt::format("\"{}\"", std::string(1'000'000, 'x')));
  for (int i = 0; i < 12; ++i) {
    large.id = fmt::format("{:02}", i);
    large.created_at = kStart + Millis(i);
    ASSERT_TRUE(spool.add(large));
  }
  EXPECT_LE(std::filesystem::file_size(path_), 10U << 20);
  EXPECT_THAT(dead_ids(), ElementsAre("00 max_bytes", "01 max_bytes"));
  EXPECT_THAT(ids(), SizeIs(10));
}

TEST_F(SpoolTest, KeepsATaskForAWeek) {
  Spool spool = open();
  ASSERT_TRUE(spool.add(entry("old")));
  now_ = kStart + std::chrono::hours(168) - Millis(1);
  ASSERT_TRUE(spool.add(entry("young", Urgency::kNormal, now_)));
  EXPECT_THAT(dead(), IsEmpty());
  now_ += Millis(1);
  ASSERT_TRUE(spool.add(entry("new", Urgency::kNormal, now_)));
  EXPECT_THAT(dead_ids(), ElementsAre("old max_age"));
  EXPECT_THAT(ids(), ElementsAre("young", "new"));
}

TEST_F(SpoolTest, DoesNotSendAgainWhatTheServerMayHaveForgotten) {
  Spool spool = open();
  Entry tried = entry("tried");
  tried.last_attempt = kStart;
  ASSERT_TRUE(spool.add(tried));
  ASSERT_TRUE(spool.add(entry("untried")));
  now_ = kStart + std::chrono::hours(72);
  EXPECT_THAT(*spool.tidy(), IsEmpty());
  now_ += Millis(1);
  EXPECT_EQ((*spool.peek())->id, "untried");
  EXPECT_EQ(spool.take()->entry->id, "untried");
  EXPECT_THAT(dead_ids(), ElementsAre("tried key_expired"));
}

TEST_F(SpoolTest, RefusesWhatWouldNotFit) {
  Spool spool = open();
  Entry large = entry("a");
  large.payload = Json(fmt::format("\"{}\"", std::string(5 << 20, 'x')));
  EXPECT_EQ(spool.add(large).error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(ids(), IsEmpty());
}

// ---------------------------------------------------------------------------------------- damage

TEST_F(SpoolTest, ReadsEveryOtherLineAndSetsDamagedOnesAside) {
  const std::string a = line_of(entry("a"));
  const std::string b = line_of(entry("b"));
  const std::string zeros(40, '\0');
  write(path_, a + "\n{\"id\":\"half\n\n" + zeros + "\n" + b + "\r\n[1]\n");
  Spool spool = open();
  const auto contents = spool.read();
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->damaged(), 3);
  ASSERT_THAT(contents->damage(), SizeIs(3));
  EXPECT_EQ(contents->damage()[0].number, 2);
  EXPECT_EQ(contents->damage()[1].number, 4);
  EXPECT_EQ(contents->damage()[2].number, 6);
  EXPECT_THAT(ids(), ElementsAre("a", "b"));
  EXPECT_FALSE(std::filesystem::exists(corrupt_file_of(path_))) << "looking changes nothing";
  ASSERT_TRUE(spool.done("a"));
  EXPECT_EQ(contents_of(corrupt_file_of(path_)), "{\"id\":\"half\n" + zeros + "\n[1]\n");
  EXPECT_EQ(contents_of(path_), b + "\r\n");
}

TEST_F(SpoolTest, ATornLastLineDoesNotTakeTheNextOneWithIt) {
  const std::string a = line_of(entry("a"));
  write(path_, a + "\n" + a.substr(0, 30));
  Spool spool = open();
  ASSERT_TRUE(spool.add(entry("b")));
  EXPECT_THAT(ids(), ElementsAre("a", "b"));
  ASSERT_TRUE(spool.tidy());
  EXPECT_EQ(contents_of(corrupt_file_of(path_)), a.substr(0, 30) + "\n");
  EXPECT_EQ(contents_of(path_), a + "\n" + line_of(entry("b")) + "\n");
}

TEST_F(SpoolTest, AWholeLastLineWithoutAnEndCounts) {
  write(path_, line_of(entry("a")));
  Spool spool = open();
  EXPECT_THAT(ids(), ElementsAre("a"));
  ASSERT_TRUE(spool.add(entry("b")));
  EXPECT_THAT(ids(), ElementsAre("a", "b"));
}

TEST_F(SpoolTest, ALineLongerThanAnybodyWritesIsSetAsideWhole) {
  const std::string monster = "{" + std::string(9'000'000, 'y');
  write(path_, monster + "\n" + line_of(entry("a")) + "\n");
  Spool spool = open();
  EXPECT_THAT(ids(), ElementsAre("a"));
  ASSERT_TRUE(spool.tidy());
  EXPECT_EQ(contents_of(corrupt_file_of(path_)), monster + "\n");
  EXPECT_THAT(ids(), ElementsAre("a"));
}

TEST_F(SpoolTest, LongLinesOfAnyLengthArePassedOver) {
  for (std::size_t length = 4 << 20; length <= 5 << 20; length += 64 << 10) {
    const std::string monster = "{" + std::string(length, 'y');
    write(path_,
          line_of(entry("a")) + "\n" + monster + "\n" + line_of(entry("b")) + "\n" + monster);
    EXPECT_THAT(ids(), ElementsAre("a", "b")) << length;
    EXPECT_EQ(open().read()->damaged(), 2) << length;
  }
}

TEST_F(SpoolTest, AMarkOfTheOrderOfBytesIsNoDamage) {
  write(path_, "\xEF\xBB\xBF" + line_of(entry("a")) + "\n" + line_of(entry("b")) + "\n");
  EXPECT_THAT(ids(), ElementsAre("a", "b"));
  ASSERT_TRUE(open().done("b"));
  EXPECT_EQ(contents_of(path_), line_of(entry("a")) + "\n");
}

TEST_F(SpoolTest, ADeadLetterThatIsLikeAnotherIsKeptIfItSaysSomethingElse) {
  Entry one = entry("a");
  one.retries = 5;
  Entry other = one;
  other.payload = Json(R"({"corrected":true})");
  for (const Entry& each : {one, other}) {
    write(path_, line_of(each) + "\n");
    ASSERT_TRUE(open().fail("a", "no"));
  }
  EXPECT_THAT(dead(), SizeIs(2));
}

TEST_F(SpoolTest, WhatMayBeWithAServerGoesLast) {
  Spool spool = open({.tasks = 2});
  ASSERT_TRUE(spool.add(entry("sent", Urgency::kNormal, kStart)));
  ASSERT_TRUE(spool.add(entry("waits", Urgency::kNormal, kStart + Millis(1))));
  const auto sending = Lock::take(path_, Lock::What::kSending);
  ASSERT_TRUE(spool.begin(1, 1'000'000));
  ASSERT_TRUE(spool.add(entry("new", Urgency::kNormal, kStart + Millis(2))));
  EXPECT_THAT(dead_ids(), ElementsAre("waits max_tasks"));
}

TEST_F(SpoolTest, AnOldOneThatMayHaveBeenReceivedIsDoubtful) {
  Entry old = entry("a");
  old.last_attempt = kStart;
  ASSERT_TRUE(open().add(old));
  now_ = kStart + std::chrono::hours(200);
  ASSERT_TRUE(open().tidy());
  EXPECT_THAT(dead_ids(), ElementsAre("a key_expired"));
}

TEST_F(SpoolTest, WhatOthersAddWithoutALockSurvivesAChange) {
  constexpr int kAppended = 300;
  std::atomic<bool> over = false;
  std::thread other([&] {
    for (int i = 0; i < kAppended; ++i) {  // opened anew, as the original does
      std::ofstream(path_, std::ios::app) << line_of(entry(fmt::format("o{}", i))) + "\n";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    over = true;
  });
  Spool spool = open();
  for (int i = 0; !over; ++i) {
    ASSERT_TRUE(spool.add(entry(fmt::format("e{}", i))));
    ASSERT_TRUE(spool.done(fmt::format("e{}", i)));
  }
  other.join();
  // Only who opened the file before it was replaced, and wrote after we looked, is not seen.
  EXPECT_GT(ids().size(), kAppended * 9U / 10);
}

TEST_F(SpoolTest, NothingIsWrittenThroughALinkThatSomebodyLeft) {
  const std::string victim = directory_.path() + "/victim";
  write(victim, "mine");
  ASSERT_TRUE(open().add(entry("a")));
  std::filesystem::create_symlink(victim, draft_file_of(path_));
  ASSERT_TRUE(open().done("a"));
  EXPECT_EQ(contents_of(victim), "mine");
  EXPECT_FALSE(std::filesystem::is_symlink(path_));
}

TEST_F(SpoolTest, ALinkToNothingYetIsFollowed) {
  const std::string link = directory_.path() + "/link.jsonl";
  std::filesystem::create_symlink("queue.jsonl", link);
  Spool spool(link);
  ASSERT_TRUE(spool.add(entry("a", Urgency::kNormal, wall_clock())));
  EXPECT_EQ(spool.path(), path_);
  ASSERT_TRUE(spool.done("a"));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

TEST_F(SpoolTest, APipeIsNotASpool) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(open().read().error().code, ErrorCode::kInvalid);
  EXPECT_EQ(open().add(entry("a")).error().code, ErrorCode::kInvalid);
}

TEST_F(SpoolTest, AnEntryThatGrowsStaysReadable) {
  Entry large = entry("a");
  large.payload = Json('"' + std::string(static_cast<std::size_t>(kLongestEntry) - 130, 'x') + '"');
  ASSERT_TRUE(open().add(large));
  EXPECT_TRUE(open().take()->entry);
  ASSERT_TRUE(open().fail("a", std::string(1 << 20, 'e')));
  EXPECT_THAT(ids(), ElementsAre("a"));
  large.payload = Json('"' + std::string(static_cast<std::size_t>(kLongestEntry), 'x') + '"');
  EXPECT_EQ(open().add(large).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(open().add_all({large}).error().code, ErrorCode::kTooLarge);
}

TEST_F(SpoolTest, ADeadLetterThatWasMovedHalfIsNotThereTwice) {
  Spool spool = open();
  ASSERT_TRUE(spool.add(entry("a")));
  const std::string before = contents_of(path_);
  now_ += std::chrono::hours(168);
  ASSERT_THAT(*spool.tidy(), SizeIs(1));
  write(path_, before);  // as if it had died in between
  ASSERT_THAT(*open().tidy(), SizeIs(1));
  EXPECT_THAT(dead_ids(), ElementsAre("a max_age"));
  EXPECT_THAT(ids(), IsEmpty());
}

// ------------------------------------------------------------------------------- other processes

TEST_F(SpoolTest, SeesWhatOthersAddAndReplace) {
  Spool one = open({.tasks = 3});
  Spool two = open({.tasks = 3});
  ASSERT_TRUE(one.add(entry("a", Urgency::kNormal, kStart)));
  ASSERT_TRUE(two.add(entry("b", Urgency::kNormal, kStart + Millis(1))));
  ASSERT_TRUE(one.add(entry("c", Urgency::kNormal, kStart + Millis(2))));
  EXPECT_THAT(dead(), IsEmpty());
  ASSERT_THAT(two.add(entry("d", Urgency::kNormal, kStart + Millis(3)))->dropped, SizeIs(1));
  ASSERT_TRUE(one.done("c"));
  ASSERT_THAT(two.add(entry("e", Urgency::kNormal, kStart + Millis(4)))->dropped, IsEmpty());
  ASSERT_THAT(one.add(entry("f", Urgency::kNormal, kStart + Millis(5)))->dropped, SizeIs(1));
  EXPECT_THAT(ids(), ElementsAre("d", "e", "f"));
  EXPECT_THAT(dead_ids(), ElementsAre("a max_tasks", "b max_tasks"));
}

TEST_F(SpoolTest, ReplacesTheFileBehindALinkAndKeepsWhoMayReadIt) {
  const std::string link = directory_.path() + "/link.jsonl";
  std::filesystem::create_symlink(path_, link);
  write(path_, line_of(entry("a")) + "\n");
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  Spool spool(link);
  ASSERT_TRUE(spool.done("a"));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(contents_of(path_), "");
  struct stat found {};
  ASSERT_EQ(::stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0640U);
}

TEST_F(SpoolTest, IsNotWaitedForForEver) {
  const auto held = Lock::take(path_, Lock::What::kFile);
  ASSERT_TRUE(held);
  const auto refused = Lock::take(path_, Lock::What::kFile, Millis(20));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("queue.jsonl.lock"));
  EXPECT_TRUE(Lock::take(path_, Lock::What::kSending, Millis(20))) << "that is another part";
}

// --------------------------------------------------------------------------------------- sending

TEST_F(SpoolTest, ABatchIsMarkedAsTriedBeforeItIsSent) {
  Spool spool = open();
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(spool.add(entry(id)));
  now_ += Millis(7);
  const auto batch = spool.begin(2, 1'000'000);
  ASSERT_TRUE(batch);
  ASSERT_THAT(batch->entries, SizeIs(2));
  EXPECT_EQ(batch->left, 1);
  EXPECT_FALSE(batch->entries[0].entry.last_attempt);
  EXPECT_THAT(contents_of(path_), HasSubstr(batch->entries[0].marked));
  EXPECT_EQ(parse_entry(batch->entries[0].marked)->last_attempt, now_);
}

TEST_F(SpoolTest, WhatBecameOfABatchIsWrittenInOneGo) {
  using How = Spool::Ended::How;
  Spool spool = open();
  for (const char* id : {"done", "failed", "refused", "untried", "waits", "silent"}) {
    ASSERT_TRUE(spool.add(entry(id)));
  }
  const auto batch = spool.begin(10, 1'000'000);
  ASSERT_TRUE(batch);
  ASSERT_TRUE(spool.add(entry("meanwhile")));
  const auto& all = batch->entries;
  const TimePoint soon = now_ + Millis(9'999);
  const auto dropped = spool.end({{&all[0], How::kDone},
                                  {&all[1], How::kFailed, "503", soon},
                                  {&all[2], How::kRefused, "400"},
                                  {&all[3], How::kUntried},
                                  {&all[4], How::kWaits, "409", soon}});
  ASSERT_TRUE(dropped);
  EXPECT_THAT(dead_ids(), ElementsAre("refused refused"));
  EXPECT_THAT(ids(), ElementsAre("failed", "untried", "waits", "silent", "meanwhile"));
  const auto contents = spool.read();
  const auto at = [&](std::size_t i) { return *contents->entry_of(contents->lines()[i]); };
  EXPECT_EQ(at(0).retries, 1);
  EXPECT_EQ(at(0).next_retry_at, soon) << "what the server asks for, if that is longer";
  EXPECT_EQ(at(1), entry("untried"));
  EXPECT_EQ(at(2).retries, 0);
  EXPECT_EQ(at(2).next_retry_at, soon);
  EXPECT_TRUE(at(3).last_attempt) << "nobody knows whether it was received";
}

TEST_F(SpoolTest, WhatSomebodyElseChangedMeanwhileStaysAsItIs) {
  using How = Spool::Ended::How;
  Spool spool = open();
  ASSERT_TRUE(spool.add(entry("a")));
  const auto batch = spool.begin(10, 1'000'000);
  ASSERT_TRUE(batch);
  ASSERT_TRUE(open().fail("a", "by hand"));
  ASSERT_TRUE(spool.end({{&batch->entries[0], How::kFailed, "ours"}}));
  const auto contents = spool.read();
  EXPECT_EQ(contents->entry_of(contents->lines()[0])->error, "by hand");
}

TEST_F(SpoolTest, ABatchKeepsTheOrderWhenAnEntryIsTooLargeForIt) {
  Spool spool = open();
  Entry large = entry("large");
  large.payload = Json(fmt::format("\"{}\"", std::string(5'000, 'x')));
  for (const Entry& each : {entry("a"), large, entry("small")}) ASSERT_TRUE(spool.add(each));
  const auto first = spool.begin(10, 1'000);
  ASSERT_TRUE(first);
  ASSERT_THAT(first->entries, SizeIs(1));
  EXPECT_EQ(first->left, 2);
  ASSERT_TRUE(spool.done("a"));
  const auto second = spool.begin(10, 1'000);
  ASSERT_THAT(second->entries, SizeIs(1)) << "one is always sent";
  EXPECT_EQ(second->entries[0].entry.id, "large");
}

TEST_F(SpoolTest, WhatIsBuriedWhileOthersArePutBackIsNotLost) {
  constexpr int kEach = 100;
  std::string text;
  for (int i = 0; i < kEach; ++i) {
    Entry each = entry(fmt::format("{:03}", i), Urgency::kNormal, wall_clock());
    each.retries = 5;
    text += line_of(each) + "\n";
  }
  write(path_, text);
  std::atomic<bool> over = false;
  std::thread redriver([&] {
    Spool own(path_);
    while (!over) ASSERT_TRUE(redrive_dead(own, [](const DeadEntry&) { return true; }));
  });
  Spool spool(path_);
  for (int i = 0; i < kEach; ++i) ASSERT_TRUE(spool.fail(fmt::format("{:03}", i), "no"));
  over = true;
  redriver.join();
  std::vector<std::string> found = ids();
  for (const DeadEntry& each : dead()) found.push_back(each.entry.id);
  std::ranges::sort(found);
  EXPECT_THAT(found, SizeIs(kEach));
  EXPECT_EQ(std::ranges::adjacent_find(found), found.end());
}

TEST_F(SpoolTest, WhoeverMayUseItMayLockIt) {
  write(path_, "");
  ASSERT_EQ(::chmod(path_.c_str(), 0660), 0);
  ASSERT_TRUE(open().add(entry("a")));
  struct stat found {};
  ASSERT_EQ(::stat((path_ + ".lock").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0660U);
}

TEST_F(SpoolTest, TwoWritersAndAReaderLoseNothing) {
  constexpr int kEach = 300;
  const auto write_many = [this](const std::string& name) {
    Spool spool(path_);
    for (int i = 0; i < kEach; ++i) {
      Entry each = entry(fmt::format("{}{:03}", name, i), Urgency::kNormal, wall_clock());
      ASSERT_TRUE(spool.add(each));
      if (i % 10 == 9) {
        ASSERT_TRUE(spool.done(fmt::format("{}{:03}", name, i - 5)));
      }
    }
  };
  std::atomic<bool> over = false;
  std::thread reader([&] {
    std::size_t most = 0;
    while (!over) {
      const auto contents = Spool(path_).read();
      ASSERT_TRUE(contents);
      ASSERT_EQ(contents->damaged(), 0);
      most = std::max(most, contents->lines().size());
      for (const Line& line : contents->in_order()) ASSERT_TRUE(contents->entry_of(line));
    }
    EXPECT_GT(most, 0U);
  });
  std::thread one(write_many, "a");
  std::thread two(write_many, "b");
  one.join();
  two.join();
  over = true;
  reader.join();
  EXPECT_THAT(ids(), SizeIs(2 * kEach * 9 / 10));
}

}  // namespace
}  // namespace retsu::spool
