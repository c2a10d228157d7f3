// The specification of the Hardcover queue, point by point, through the server's door.
#include <sqlite3.h>

#include <regex>
#include <thread>

#include "library/library_test.h"

namespace retsu {
namespace {

using library::MissingBooks;
using library::RemovedCount;
using library::ResetCount;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class HardcoverSeed : public LibraryTest {
 protected:
  std::int64_t reset(const std::string& query = "") {
    return done<ResetCount>("POST", std::string(kAdmin) + "/reset" + query).reset_count;
  }
  std::int64_t cleanup() {
    return done<RemovedCount>("POST", std::string(kAdmin) + "/cleanup").removed_count;
  }
  void give_id(const std::string& id) {
    EXPECT_EQ(ask("PATCH", "/api/books/" + id, R"({"hardcoverId":5})").status, 200);
  }
  void run_sql(const std::string& sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open((directory_.path() + "/library.db").c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
};

// -- Queue initialization, migration

TEST_F(HardcoverSeed, BooksThatWereThereBeforeTheQueueAreQueuedAtTheStart) {
  close();
  run_sql(
      "INSERT INTO books(id, title, created_at, updated_at, hardcover_id) VALUES"
      "('old-1', 'One', 1, 1, NULL), ('old-2', 'Two', 2, 2, 77), ('old-3', 'Three', 3, 3, NULL)");
  open();
  EXPECT_THAT(ids_of(claim()), ElementsAre("old-1", "old-3"));
  reopen();  // once is enough
  EXPECT_THAT(claim().books, IsEmpty());
}

TEST_F(HardcoverSeed, ANewBookIsQueuedAndOneWithAnIdIsNot) {
  const auto created = done<library::CreatedBooks>(
      "POST", "/api/books", R"({"books":[{"title":"A"},{"title":"B","hardcoverId":3}]})");
  EXPECT_TRUE(created.books[0].queued);
  EXPECT_FALSE(created.books[1].queued);
  EXPECT_THAT(ids_of(claim()), ElementsAre(created.books[0].id));
}

// -- GET /api/missing/hardcover

TEST_F(HardcoverSeed, Behavior1APreviousIdTakesItsBooksOutOfTheQueue) {
  add(150);
  const MissingBooks first = claim();
  const MissingBooks second = claim(previous(first));
  EXPECT_THAT(second.books, SizeIs(50));
  EXPECT_EQ(reset("?olderThan=0"), 50);  // nothing of the first comes back
  EXPECT_THAT(claim().books, SizeIs(50));
  EXPECT_EQ(status().without_match, 100);
}

TEST_F(HardcoverSeed, Behavior2UpToAHundredAreGivenTheOldestFirst) {
  const auto ids = add(120);
  EXPECT_THAT(ids_of(claim()), ElementsAreArray(ids.begin(), ids.begin() + 100));
  EXPECT_THAT(ids_of(claim()), ElementsAreArray(ids.begin() + 100, ids.end()));
}

TEST_F(HardcoverSeed, Behavior3EachClaimHasANewUuid) {
  add(1);
  const std::regex uuid("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
  const std::string first = claim().processing_id;
  const std::string second = claim().processing_id;
  EXPECT_TRUE(std::regex_match(first, uuid)) << first;
  EXPECT_NE(first, second);
}

TEST_F(HardcoverSeed, Behavior4WhatIsClaimedSaysByWhomAndSinceWhen) {
  add(2);
  const std::string id = claim("?client=ann").processing_id;
  const auto claims = call(queue_, ListClaims{});
  ASSERT_THAT(claims->claims, SizeIs(1));
  EXPECT_EQ(claims->claims[0].claim_id, "hardcover:" + id);
  EXPECT_EQ(claims->claims[0].worker, "ann");
  EXPECT_EQ(claims->claims[0].claimed_at, now_);
  EXPECT_EQ(claims->claims[0].lease_until, std::nullopt);  // until it is settled, released or reset
  EXPECT_THAT(claims->claims[0].tasks, SizeIs(2));
}

TEST_F(HardcoverSeed, Behavior5TheAnswerHasBooksProcessingIdAndRemainingUnclaimed) {
  done<library::CreatedBooks>(
      "POST", "/api/books",
      R"({"title":"Beautiful Code","isbn13":"4-87311-394-6","authors":["Andy Oram"]})");
  add(100);
  const HttpAnswer answer = ask("GET", kMissing);
  EXPECT_EQ(answer.status, 200);
  std::vector<std::string> names;
  JsonReader in(answer.body);
  in.read_object([&](std::string_view name) {
    names.emplace_back(name);
    in.skip();
    return true;
  });
  EXPECT_THAT(names, ElementsAre("books", "processingId", "remainingUnclaimed"));
  const auto claimed = from_json<MissingBooks>(answer.body);
  EXPECT_EQ(claimed->remaining_unclaimed, 1);
  const library::MissingBook& book = claimed->books[0];
  EXPECT_EQ(book.title, "Beautiful Code");
  EXPECT_EQ(book.isbn13, "9784873113944");
  ASSERT_THAT(book.authors, SizeIs(1));
  EXPECT_EQ(book.authors[0].name, "Andy Oram");
  EXPECT_THAT(book.edition_id, Not(IsEmpty()));
  for (const char* field :
       {R"("bookHardcoverId":null)", R"("bookHardcoverSlug":null)", R"("bookOpenLibraryId":null)",
        R"("bookGoodReadsId":null)", R"("openLibraryId":null)", R"("goodReadsId":null)"}) {
    EXPECT_THAT(answer.body, testing::HasSubstr(field));
  }
}

// -- POST /api/admin/hardcover-queue/reset

TEST_F(HardcoverSeed, ResetBringsBackWhatWasClaimedSoManyMinutesAgo) {
  add(250);
  claim();
  advance(Millis(10 * kMinute));
  claim();
  advance(Millis(20 * kMinute) - Millis(1));
  EXPECT_EQ(reset("?olderThan=30"), 0);
  advance(Millis(1));
  EXPECT_EQ(reset("?olderThan=30"), 100);
  EXPECT_EQ(status().unclaimed, 150);
  EXPECT_EQ(reset("?olderThan=0"), 100);
  EXPECT_EQ(status().claimed, 0);
}

TEST_F(HardcoverSeed, ResetMeansThirtyMinutesUnlessSaid) {
  add(1);
  claim();
  advance(Millis(30 * kMinute) - Millis(1));
  EXPECT_EQ(reset(), 0);
  advance(Millis(1));
  EXPECT_EQ(reset(), 1);
}

TEST_F(HardcoverSeed, ResetRefusesWhatIsNoNumberOfMinutes) {
  add(1);
  claim();
  for (const char* bad : {"x", "-1", "", "1.5", "99999999999999999999", "1e3", "%00"}) {
    const auto answer = ask("POST", std::string(kAdmin) + "/reset?olderThan=" + std::string(bad));
    EXPECT_EQ(answer.status, 400) << bad;
  }
  EXPECT_EQ(ask("POST", std::string(kAdmin) + "/reset?older=1").status, 400);
  EXPECT_EQ(status().claimed, 1);
}

TEST_F(HardcoverSeed, ResetLeavesClaimsOfOtherQueuesAlone) {
  call(queue_, Push{.tasks = {{.id = "mail-1", .queue = "mail"}}});
  call(queue_, Claim{.queues = {"mail"}});
  EXPECT_EQ(reset("?olderThan=0"), 0);
  EXPECT_EQ(call(queue_, GetTask{.id = "mail-1"})->state, State::kStarted);
}

// -- DELETE /api/admin/hardcover-queue/claims/{processingId}

TEST_F(HardcoverSeed, OneClaimCanBeResetByItself) {
  add(150);
  const MissingBooks first = claim();
  const MissingBooks second = claim();
  const auto target = std::string(kAdmin) + "/claims/" + first.processing_id;
  EXPECT_EQ(done<ResetCount>("DELETE", target).reset_count, 100);
  EXPECT_EQ(done<ResetCount>("DELETE", target).reset_count, 0);
  EXPECT_EQ(status().claimed, std::ssize(second.books));
  EXPECT_EQ(ids_of(claim()), ids_of(first));
}

TEST_F(HardcoverSeed, ResettingAClaimThatIsNotThereResetsNothing) {
  add(1);
  claim();
  EXPECT_EQ(done<ResetCount>("DELETE", std::string(kAdmin) + "/claims/nobody").reset_count, 0);
  EXPECT_EQ(done<ResetCount>("DELETE", std::string(kAdmin) + "/claims/%20").reset_count, 0);
}

// -- POST /api/admin/hardcover-queue/cleanup, automatic cleanup

TEST_F(HardcoverSeed, CleanupTakesOutWhatGotItsIdBehindTheLibrarysBack) {
  const auto ids = add(5);
  claim("?limit=2");
  run_sql("UPDATE books SET hardcover_id = 9 WHERE title IN ('Book 1', 'Book 4')");
  EXPECT_EQ(cleanup(), 2);
  EXPECT_EQ(cleanup(), 0);
  EXPECT_EQ(status().claimed, 1);
  EXPECT_THAT(ids_of(claim()), ElementsAre(ids[2], ids[4]));
}

TEST_F(HardcoverSeed, ABookThatGotItsIdBehindTheLibrarysBackIsNotHandedOut) {
  const auto ids = add(3);
  run_sql("UPDATE books SET hardcover_id = 9 WHERE title = 'Book 1'");
  EXPECT_THAT(ids_of(claim("?limit=1")), ElementsAre(ids[1]));
}

TEST_F(HardcoverSeed, ABookThatGetsItsIdLeavesTheQueueWhateverItsState) {
  const auto ids = add(4);
  const MissingBooks claimed = claim("?limit=2");
  give_id(ids[0]);  // with a client
  give_id(ids[2]);  // unclaimed
  EXPECT_EQ(status().claimed, 1);
  EXPECT_EQ(status().unclaimed, 1);
  EXPECT_EQ(reset("?olderThan=0"), 1);
  EXPECT_THAT(ids_of(claim()), ElementsAre(ids[1], ids[3]));
  EXPECT_EQ(cleanup(), 0);
}

TEST_F(HardcoverSeed, WritingBackAnIdIsSuchAnUpdateToo) {
  const auto ids = add(1);
  const MissingBooks claimed = claim();
  const std::string body = R"({"edition":{"id":")" + claimed.books[0].edition_id +
                           R"(","hardcoverId":11},"book":{"id":")" + ids[0] +
                           R"(","hardcoverId":12,"hardcoverSlug":"book-1"},"authors":[]})";
  EXPECT_EQ(ask("POST", kMissing, body).body, R"({"status":"ok"})");
  EXPECT_EQ(book(ids[0]).fields.hardcover_id, 12);
  EXPECT_EQ(book(ids[0]).editions[0].hardcover_id, 11);
  EXPECT_EQ(status().claimed, 0);
}

TEST_F(HardcoverSeed, ABookThatLosesItsIdIsQueuedAgain) {
  const auto ids = add(1);
  give_id(ids[0]);
  EXPECT_THAT(claim().books, IsEmpty());
  ask("PATCH", "/api/books/" + ids[0], R"({"hardcoverId":null})");
  EXPECT_THAT(ids_of(claim()), ElementsAre(ids[0]));
}

// -- Edge cases

TEST_F(HardcoverSeed, AnInvalidPreviousIdIsNoError) {
  add(300);
  for (const char* id : {"01a1e76a-cee9-7764-8ce1-6fa51e3507c9", "", "x", "%27%20OR%201%3D1",
                         "%F0%9F%93%9A", "..%2F..", "%00"}) {
    EXPECT_EQ(ask("GET", std::string(kMissing) + "?limit=1&previousProcessingId=" + id).status, 200)
        << id;
  }
  EXPECT_EQ(
      ask("GET", std::string(kMissing) + "?limit=1&previousProcessingId=" + std::string(5'000, 'a'))
          .status,
      200);
}

TEST_F(HardcoverSeed, APreviousIdCannotNameAClaimOfAnotherQueue) {
  call(queue_, Push{.tasks = {{.id = "mail-1", .queue = "mail"}}});
  call(queue_, Claim{.queues = {"mail"}, .claim_id = "theirs"});
  claim("?previousProcessingId=theirs");
  EXPECT_EQ(call(queue_, GetTask{.id = "mail-1"})->state, State::kStarted);
}

TEST_F(HardcoverSeed, WithNothingLeftTheAnswerIsEmptyWithANewId) {
  for (int i = 0; i < 2; ++i) {
    const MissingBooks nothing = claim();
    EXPECT_THAT(nothing.books, IsEmpty());
    EXPECT_THAT(nothing.processing_id, SizeIs(36));
    EXPECT_EQ(nothing.remaining_unclaimed, 0);
  }
}

TEST_F(HardcoverSeed, TwoClientsThatUseOnePreviousIdBothGoOn) {
  add(300);
  const MissingBooks first = claim();
  EXPECT_THAT(claim(previous(first)).books, SizeIs(100));
  EXPECT_THAT(claim(previous(first)).books, SizeIs(100));
}

// -- Implementation notes

TEST_F(HardcoverSeed, TransactionSafetyNoBookIsGivenTwiceToFiftyClientsAtOnce) {
  constexpr int kBooks = 6'000;
  add(kBooks);
  std::mutex mutex;
  std::multiset<std::string> given;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 50; ++i) {
      clients.emplace_back([&] {
        for (std::string query;;) {
          const MissingBooks claimed = claim(query);
          if (claimed.books.empty()) return;
          query = previous(claimed);
          const std::lock_guard lock(mutex);
          for (const auto& id : ids_of(claimed)) given.insert(id);
        }
      });
    }
  }
  EXPECT_EQ(given.size(), kBooks);
  EXPECT_EQ(std::set<std::string>(given.begin(), given.end()).size(), kBooks);
}

TEST_F(HardcoverSeed, MonitoringRemainingUnclaimedCountsWhatNobodyHas) {
  add(250);
  EXPECT_EQ(claim().remaining_unclaimed, 150);
  EXPECT_EQ(claim().remaining_unclaimed, 50);
  EXPECT_EQ(claim().remaining_unclaimed, 0);
}

TEST_F(HardcoverSeed, BackwardsCompatibilityAClientWithoutAPreviousIdGetsThroughAll) {
  add(220);
  std::set<std::string> seen;
  for (MissingBooks claimed = claim(); !claimed.books.empty(); claimed = claim()) {
    for (const auto& id : ids_of(claimed)) EXPECT_TRUE(seen.insert(id).second);
  }
  EXPECT_EQ(seen.size(), 220);
}

// -- Success criteria

TEST_F(HardcoverSeed, SuccessClientsCanGoOnAfterARestartOfAnybody) {
  add(150);
  const MissingBooks before = claim("?processingId=mine");
  reopen();                                                        // of the server
  EXPECT_EQ(ids_of(claim("?processingId=mine")), ids_of(before));  // of the client
  EXPECT_THAT(claim().books, SizeIs(50));                          // others get other books
}

TEST_F(HardcoverSeed, SuccessAnAdministratorCanResetStuckClaims) {
  const auto ids = add(10);
  claim();
  advance(Millis(45 * kMinute));
  EXPECT_EQ(reset("?olderThan=30"), 10);
  EXPECT_EQ(ids_of(claim()), ids);
}

}  // namespace
}  // namespace retsu
