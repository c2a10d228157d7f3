// What the library has beyond the seed: settling book by book, requeueing, idempotency, limits.
#include <latch>

#include "library/library_test.h"
#include "server/tokens.h"

namespace retsu {
namespace {

using library::MissingBooks;
using library::SettledBooks;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class LibraryBooks : public LibraryTest {
 protected:
  SettledBooks settle(const MissingBooks& claimed, const std::string& results) {
    return done<SettledBooks>("POST",
                              std::string(kMissing) + "/" + claimed.processing_id + "/settle",
                              R"({"results":[)" + results + "]}");
  }
  static std::string one(const std::string& id, const std::string& rest) {
    return R"({"bookId":")" + id + R"(",)" + rest + "}";
  }
  static std::string error_of(const library::SettledBook& settled) {
    return settled.error ? std::string(row_of(settled.error->code).name) : "";
  }
  State state_of(const library::Book& book) {
    const auto page = call(queue_, ListTasks{.filter = {.queue = "hardcover", .q = book.id}});
    return page->tasks.front().state;
  }
};

TEST_F(LibraryBooks, AMatchIsWrittenBackAndLeavesTheQueue) {
  done<library::CreatedBooks>("POST", "/api/books", R"({"title":"A","authors":["x","y"]})");
  const MissingBooks claimed = claim();
  const auto& book = claimed.books[0];
  const auto settled = settle(
      claimed, one(book.book_id,
                   R"("outcome":"matched","hardcoverId":41,"hardcoverSlug":"a","edition":{"id":")" +
                       book.edition_id + R"(","hardcoverId":42},"authors":[{"id":")" +
                       book.authors[1].id + R"(","hardcoverId":43,"hardcoverSlug":"y"}])"));
  EXPECT_TRUE(settled.results[0].ok);
  const library::Book now = this->book(book.book_id);
  EXPECT_EQ(now.fields.hardcover_id, 41);
  EXPECT_EQ(now.fields.hardcover_slug, "a");
  EXPECT_EQ(now.editions[0].hardcover_id, 42);
  EXPECT_EQ(now.author_details[0].hardcover_id, std::nullopt);
  EXPECT_EQ(now.author_details[1].hardcover_id, 43);
  EXPECT_FALSE(now.search.queued);
  EXPECT_EQ(status().claimed, 0);
}

TEST_F(LibraryBooks, ABookWithoutAMatchKeepsTheReasonAndCanBeQueuedAgain) {
  const auto ids = add(2);
  const MissingBooks claimed = claim();
  settle(claimed, one(ids[0], R"("outcome":"unmatched","reason":"no edition of this ISBN")"));
  EXPECT_EQ(book(ids[0]).search.reason, "no edition of this ISBN");
  EXPECT_EQ(book(ids[0]).search.attempts, 1);
  EXPECT_EQ(book(ids[0]).search.checked_at, now_);
  EXPECT_EQ(status().without_match, 1);
  const auto requeue = [&](const std::string& query) {
    return done<library::QueuedCount>("POST", std::string(kAdmin) + "/requeue" + query)
        .queued_count;
  };
  advance(Millis(kHour));
  EXPECT_EQ(requeue("?olderThan=61"), 0);
  EXPECT_EQ(requeue("?olderThan=60"), 1);
  EXPECT_EQ(requeue(""), 0);
  EXPECT_THAT(ids_of(claim()), ElementsAre(ids[0]));
  EXPECT_EQ(status().without_match, 0);
}

TEST_F(LibraryBooks, AFailedBookIsTriedAgainAndIsADeadLetterInTheEnd) {
  const auto ids = add(1);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const MissingBooks claimed = claim();
    ASSERT_THAT(claimed.books, SizeIs(1)) << attempt;
    settle(claimed, one(ids[0], R"("outcome":"failed","reason":"503")"));
    EXPECT_THAT(claim().books, IsEmpty());
    advance(Millis(2 * kHour));
  }
  EXPECT_EQ(state_of(book(ids[0])), State::kFailed);
  EXPECT_EQ(book(ids[0]).search.attempts, 3);
  EXPECT_FALSE(book(ids[0]).search.queued);
  EXPECT_EQ(status().without_match, 1);
}

TEST_F(LibraryBooks, AReleasedBookWaitsAgainAtOnce) {
  const auto ids = add(2);
  const MissingBooks claimed = claim();
  settle(claimed, one(ids[1], R"("outcome":"release")"));
  EXPECT_THAT(ids_of(claim()), ElementsAre(ids[1]));
  EXPECT_EQ(book(ids[1]).search.attempts, 0);
}

TEST_F(LibraryBooks, WhatAClaimHasLostItCannotSettle) {
  const auto ids = add(2);
  const MissingBooks lost = claim();
  ask("DELETE", std::string(kAdmin) + "/claims/" + lost.processing_id);
  EXPECT_EQ(error_of(settle(lost, one(ids[0], R"("outcome":"unmatched","reason":"x")")).results[0]),
            "stale_claim");
  const MissingBooks next = claim();
  EXPECT_EQ(
      error_of(settle(lost, one(ids[0], R"("outcome":"matched","hardcoverId":1)")).results[0]),
      "stale_claim");
  EXPECT_EQ(book(ids[0]).fields.hardcover_id, std::nullopt);
  EXPECT_TRUE(settle(next, one(ids[0], R"("outcome":"matched","hardcoverId":2)")).results[0].ok);
  EXPECT_EQ(book(ids[0]).fields.hardcover_id, 2);
}

TEST_F(LibraryBooks, SettlingAgainAnswersTheSameAndChangesNothing) {
  const auto ids = add(3);
  const MissingBooks claimed = claim();
  const std::string results = one(ids[0], R"("outcome":"matched","hardcoverId":1)") + "," +
                              one(ids[1], R"("outcome":"unmatched","reason":"x")") + "," +
                              one(ids[2], R"("outcome":"failed","reason":"y")");
  for (int i = 0; i < 3; ++i) {
    for (const auto& each : settle(claimed, results).results) EXPECT_TRUE(each.ok) << i;
  }
  EXPECT_EQ(book(ids[1]).search.attempts, 1);
  EXPECT_EQ(status().retrying, 1);
}

TEST_F(LibraryBooks, OneStrangerInABatchDoesNotSpoilTheOthers) {
  const auto ids = add(2);
  const MissingBooks claimed = claim("?limit=1");
  const auto settled =
      settle(claimed, one(ids[0], R"("outcome":"matched","hardcoverId":1)") + "," +
                          one(ids[1], R"("outcome":"matched","hardcoverId":2)") + "," +
                          one("nobody", R"("outcome":"matched","hardcoverId":3)"));
  EXPECT_TRUE(settled.results[0].ok);
  EXPECT_EQ(error_of(settled.results[1]), "stale_claim");
  EXPECT_EQ(error_of(settled.results[2]), "not_found");
}

TEST_F(LibraryBooks, AMatchStandsThoughItsAuthorsHaveChangedMeanwhile) {
  const auto ids = add(1);
  const MissingBooks claimed = claim();
  const auto settled =
      settle(claimed, one(ids[0], R"("outcome":"matched","hardcoverId":4,"edition":{"id":"none"},)"
                                  R"("authors":[{"id":"gone","hardcoverId":5}])"));
  EXPECT_TRUE(settled.results[0].ok);
  EXPECT_EQ(book(ids[0]).fields.hardcover_id, 4);
}

TEST_F(LibraryBooks, ASettleThatIsRefusedChangesNothing) {
  const auto ids = add(1);
  const MissingBooks claimed = claim();
  settle(claimed, one(ids[0], R"("outcome":"failed","reason":"503")"));
  EXPECT_EQ(
      error_of(settle(claimed, one(ids[0], R"("outcome":"unmatched","reason":"x")")).results[0]),
      "stale_claim");
  EXPECT_EQ(book(ids[0]).search.reason, "503");
  EXPECT_EQ(book(ids[0]).search.attempts, 1);
  EXPECT_EQ(status().retrying, 1);
  settle(claimed, one(ids[0], R"("outcome":"failed","reason":"503")"));
  EXPECT_EQ(book(ids[0]).search.attempts, 1);
}

TEST_F(LibraryBooks, ATaskThatEndedWithoutTheLibraryDoesNotHoldItsBookForEver) {
  const auto ids = add(3);
  call(queue_, CancelTasks{.filter = {.queue = "hardcover", .q = ids[0]}, .expect = 1});
  call(queue_, CancelTasks{.filter = {.queue = "hardcover", .q = ids[1]}, .expect = 1});
  EXPECT_EQ(done<library::QueuedCount>("POST", std::string(kAdmin) + "/requeue").queued_count, 2);
  EXPECT_THAT(ids_of(claim()), testing::UnorderedElementsAreArray(ids));
  ask("DELETE", "/api/books/" + ids[2]);
  call(queue_, PurgeQueue{"hardcover"});
  call(queue_,
       CancelTasks{.filter = {.state = State::kStarted, .queue = "hardcover"}, .expect = 2});
  reopen();
  EXPECT_EQ(book(ids[0]).search.reason, "its task is CANCELED: not by the library");
  EXPECT_FALSE(book(ids[0]).search.queued);
}

TEST_F(LibraryBooks, ADeadLetterThatIsPutBackIsLookedUpAgain) {
  const auto ids = add(1);
  const MissingBooks claimed = claim();
  settle(claimed, one(ids[0], R"("outcome":"failed","reason":"x","retryable":false)"));
  EXPECT_FALSE(book(ids[0]).search.queued);
  call(queue_, RedriveDead{.filter = {.queue = "hardcover"}, .expect = 1});
  const MissingBooks again = claim();
  EXPECT_THAT(ids_of(again), ElementsAre(ids[0]));
  EXPECT_TRUE(settle(again, one(ids[0], R"("outcome":"matched","hardcoverId":4)")).results[0].ok);
}

TEST_F(LibraryBooks, AQueueThatSomebodyMadeBeforeGivesBooksNoOtherLease) {
  close();
  call(queue_, DeleteQueue{"hardcover"});
  call(queue_, DeleteQueue{"hardcover-api"});
  call(queue_, PutQueue{"hardcover", {}});
  call(queue_, PutQueue{"hardcover-api", {}});
  open();
  EXPECT_TRUE(call(queue_, GetQueue{"hardcover-api"})->policy.rate.has_value());
  const auto ids = add(1);
  claim();
  advance(Millis(kDay));
  EXPECT_EQ(status().claimed, 1);
}

TEST_F(LibraryBooks, TwoCannotHaveOneLibrary) {
  const auto second = library::Library::open(directory_.path(), queue_, [this] { return now_; });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
}

TEST_F(LibraryBooks, UnfinishedBooksCanBeReleasedInsteadOfDropped) {
  const auto ids = add(150);
  const MissingBooks first = claim();
  const MissingBooks second = claim(previous(first) + "&unfinished=release");
  EXPECT_EQ(ids_of(second), ids_of(first));
}

TEST_F(LibraryBooks, AMatchAfterTheBookWasDroppedIsStillWritten) {
  const auto ids = add(1);
  const MissingBooks first = claim();
  claim(previous(first));
  EXPECT_TRUE(settle(first, one(ids[0], R"("outcome":"matched","hardcoverId":8)")).results[0].ok);
  EXPECT_EQ(book(ids[0]).fields.hardcover_id, 8);
}

TEST_F(LibraryBooks, TheSameBookIsThereOnce) {
  const auto create = [&](const std::string& body) {
    return done<library::CreatedBooks>("POST", "/api/books", body).books[0];
  };
  const auto first = create(R"({"title":"A","isbn13":"9784873113944"})");
  const auto again = create(R"({"title":"Another title","isbn13":"4-87311-394-6"})");
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(book(first.id).fields.title, "A");
  const auto bare = create(R"({"title":"A","authors":["x"]})");
  EXPECT_TRUE(bare.created);
  EXPECT_EQ(create(R"({"title":"A","authors":"x"})").id, bare.id);
  EXPECT_TRUE(create(R"({"title":"A","authors":["y"]})").created);
  ask("PATCH", "/api/books/" + bare.id, R"({"title":"Z"})");
  EXPECT_EQ(create(R"({"title":"Z","authors":["x"]})").id, bare.id);
  EXPECT_TRUE(create(R"({"title":"A","authors":["x"]})").created);
}

TEST_F(LibraryBooks, OneKeyHasOneEffect) {
  const std::vector<std::pair<std::string, std::string>> key{{"Idempotency-Key", "k-1"}};
  const auto first = ask("POST", "/api/books", R"({"title":"A","authors":["x"]})", key);
  EXPECT_EQ(first.status, 201);
  const auto again = ask("POST", "/api/books", R"({"authors":["x"],"title":"A"})", key);
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.header("idempotent-replayed"), "true");
  EXPECT_EQ(code_in(ask("POST", "/api/books", R"({"title":"B"})", key)), "idempotency_mismatch");
  EXPECT_EQ(status().books, 1);
  advance(Millis(73 * kHour));
  EXPECT_EQ(ask("POST", "/api/books", R"({"title":"B"})", key).status, 201);
}

TEST_F(LibraryBooks, ABatchIsAllOrNothingUnlessItSaysPartial) {
  const std::string body = R"({"books":[{"title":"A"},{"title":" "},{"title":"C"}]})";
  const auto refused = ask("POST", "/api/books", body);
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("books[1].title"));
  EXPECT_EQ(status().books, 0);
  const auto partial = done<library::CreatedBooks>("POST", "/api/books?partial=true", body);
  EXPECT_TRUE(partial.books[0].created);
  EXPECT_TRUE(partial.books[1].error.has_value());
  EXPECT_TRUE(partial.books[2].created);
  EXPECT_EQ(status().unclaimed, 2);
}

TEST_F(LibraryBooks, AChangeKeepsWhatItDoesNotName) {
  const auto id = done<library::CreatedBooks>(
                      "POST", "/api/books",
                      R"({"title":"A","isbn13":"9784873113944","authors":["x"],"publisher":"p"})")
                      .books[0]
                      .id;
  const auto changed =
      done<library::Book>("PATCH", "/api/books/" + id, R"({"title":"B","publisher":null})");
  EXPECT_EQ(changed.fields.title, "B");
  EXPECT_EQ(changed.fields.isbn13, "9784873113944");
  EXPECT_EQ(changed.fields.publisher, std::nullopt);
  EXPECT_THAT(changed.fields.authors.names, ElementsAre("x"));
  add(1);
  const auto other = status().books;
  EXPECT_EQ(other, 2);
}

TEST_F(LibraryBooks, AnIsbnBelongsToOneBook) {
  const auto ids = add(2);
  EXPECT_EQ(ask("PATCH", "/api/books/" + ids[0], R"({"isbn13":"9784873113944"})").status, 200);
  const auto refused = ask("PATCH", "/api/books/" + ids[1], R"({"isbn13":"9784873113944"})");
  EXPECT_EQ(code_in(refused), "conflict");
  EXPECT_THAT(refused.body, HasSubstr(ids[0]));
  const std::string editions = "/api/books/" + ids[1] + "/editions";
  EXPECT_EQ(code_in(ask("POST", editions, R"({"isbn13":"9784873113944"})")), "conflict");
  EXPECT_EQ(ask("POST", editions, R"({"isbn13":"9780596510046"})").status, 200);
  EXPECT_THAT(book(ids[1]).editions, SizeIs(2));
  // What is looked up is an edition that has an ISBN.
  EXPECT_EQ(claim().books[1].isbn13, "9780596510046");
}

TEST_F(LibraryBooks, ARemovedBookLeavesTheQueue) {
  const auto ids = add(2);
  claim("?limit=1");
  EXPECT_EQ(ask("DELETE", "/api/books/" + ids[0]).status, 200);
  EXPECT_EQ(ask("DELETE", "/api/books/" + ids[0]).status, 404);
  EXPECT_EQ(status().claimed, 0);
  EXPECT_THAT(ids_of(claim()), ElementsAre(ids[1]));
}

TEST_F(LibraryBooks, ListsGoOnPageByPage) {
  const auto ids = add(25);
  std::vector<std::string> listed;
  std::string cursor;
  do {
    const auto page = done<library::BookPage>("GET", "/api/books?limit=10&missing=true" + cursor);
    for (const auto& each : page.books) listed.push_back(each.id);
    cursor = page.next_cursor ? "&cursor=" + *page.next_cursor : "";
  } while (!cursor.empty());
  EXPECT_EQ(listed, ids);
  EXPECT_THAT(done<library::BookPage>("GET", "/api/books?missing=false").books, IsEmpty());
}

TEST_F(LibraryBooks, ListsAreOfThoseThatWereAskedFor) {
  const auto ids = add(4);
  const MissingBooks claimed = claim("?limit=2");
  settle(claimed, one(ids[0], R"("outcome":"matched","hardcoverId":1)") + "," +
                      one(ids[1], R"("outcome":"unmatched","reason":"x")"));
  ask("PATCH", "/api/books/" + ids[3], R"({"isbn13":"9784873113944"})");
  const auto listed = [&](const std::string& query) {
    std::string places;
    for (const auto& book : done<library::BookPage>("GET", "/api/books?" + query).books) {
      places += std::to_string(std::ranges::find(ids, book.id) - ids.begin());
    }
    return places;
  };
  EXPECT_EQ(listed(""), "0123");
  EXPECT_EQ(listed("missing=true"), "123");
  EXPECT_EQ(listed("missing=false"), "0");
  EXPECT_EQ(listed("unmatched=true"), "1");
  EXPECT_EQ(listed("unmatched=false"), "023");
  EXPECT_EQ(listed("missing=true&unmatched=false"), "23");
  EXPECT_EQ(listed("missing=false&unmatched=true"), "");
  EXPECT_EQ(listed("isbn13=4873113946"), "3");
  EXPECT_EQ(listed("isbn13=4873113946&missing=false"), "");
  EXPECT_EQ(listed("isbn13=9780596510046"), "");
}

TEST_F(LibraryBooks, ABookThatCanBeFoundByMoreIsLookedUpAgain) {
  const auto ids = add(1);
  const MissingBooks claimed = claim();
  settle(claimed, one(ids[0], R"("outcome":"unmatched","reason":"x")"));
  ask("PATCH", "/api/books/" + ids[0], R"({"publisher":"p"})");
  EXPECT_THAT(claim().books, IsEmpty());
  ask("PATCH", "/api/books/" + ids[0], R"({"isbn13":"9784873113944"})");
  EXPECT_THAT(ids_of(claim()), ElementsAre(ids[0]));
}

TEST_F(LibraryBooks, AKeyIsForgottenWhenItsClientSaysSo) {
  const std::vector<std::pair<std::string, std::string>> key{{"Idempotency-Key", "k-1"},
                                                             {"Retsu-Key-Age", "60"}};
  EXPECT_EQ(ask("POST", "/api/books", R"({"title":"A"})", key).status, 201);
  EXPECT_EQ(ask("POST", "/api/books", R"({"title":"A"})", key).status, 201);
  advance(Millis(kMinute));
  EXPECT_EQ(ask("POST", "/api/books", R"({"title":"A"})", key).status, 200);  // it is there
}

TEST_F(LibraryBooks, BadInputIsRefusedByNameAndChangesNothing) {
  const auto ids = add(1);
  struct Row {
    const char* method;
    std::string target;
    std::string body;
    int status;
    const char* says;
  };
  const std::string one_book = "/api/books/" + ids[0];
  const std::string long_title(1'001, 'a');
  std::string many = R"({"books":[)";
  for (int i = 0; i < 1'001; ++i) many += (i == 0 ? "" : ",") + std::string(R"({"title":"a"})");
  for (
      const Row& row : std::vector<Row>{
          {"POST", "/api/books", "", 400, "books"},
          {"POST", "/api/books", "[]", 400, "object"},
          {"POST", "/api/books", "{", 400, "JSON"},
          {"POST", "/api/books", R"({"books":[]})", 400, "books"},
          {"POST", "/api/books", many + "]}", 413, "1000"},
          {"POST", "/api/books", R"({"title":1})", 400, "title"},
          {"POST", "/api/books", R"({"isbn13":"9784873113944"})", 400, "title"},
          {"POST", "/api/books", R"({"title":"a","titel":"b"})", 400, "titel"},
          {"POST", "/api/books", R"({"title":")" + long_title + R"("})", 400, "title"},
          {"POST", "/api/books", R"({"title":"a\u0000b"})", 400, "title"},
          {"POST", "/api/books", R"({"title":"a","isbn13":"9784873113945"})", 400, "isbn13"},
          {"POST", "/api/books", R"({"title":"a","isbn13":123})", 400, "isbn13"},
          {"POST", "/api/books", R"({"title":"a","hardcoverId":0})", 400, "hardcoverId"},
          {"POST", "/api/books", R"({"title":"a","hardcoverId":1.5})", 400, "hardcoverId"},
          {"POST", "/api/books", R"({"title":"a","authors":[""]})", 400, "authors"},
          {"POST", "/api/books", R"({"title":"a","authors":[1]})", 400, "authors"},
          {"PATCH", one_book, "", 400, "JSON"},
          {"PATCH", one_book, R"({"title":null})", 400, "title"},
          {"PATCH", one_book, R"({"id":"x"})", 400, "id"},
          {"PATCH", "/api/books/nobody", "{}", 404, "nobody"},
          {"GET", "/api/books/nobody", "", 404, "nobody"},
          {"GET", "/api/books?limit=0", "", 400, "limit"},
          {"GET", "/api/books?limit=1001", "", 400, "limit"},
          {"GET", "/api/books?cursor=x", "", 400, "cursor"},
          {"GET", "/api/books?isbn13=1", "", 400, "isbn13"},
          {"GET", "/api/books?missing=yes", "", 400, "missing"},
          {"GET", std::string(kMissing) + "?limit=0", "", 400, "limit"},
          {"GET", std::string(kMissing) + "?limit=1001", "", 400, "limit"},
          {"GET", std::string(kMissing) + "?unfinished=keep", "", 400, "unfinished"},
          {"GET", std::string(kMissing) + "?processingId=a%20b", "", 400, "processingId"},
          {"GET", std::string(kMissing) + "?previous=x", "", 400, "previous"},
          {"GET", std::string(kMissing) + "?client=" + std::string(101, 'c'), "", 400, "client"},
          {"GET", std::string(kMissing) + "?processingId=a&previousProcessingId=a", "", 400,
           "previousProcessingId"},
          {"POST", kMissing, "{}", 400, "book"},
          {"POST", kMissing, R"({"book":{"id":"nobody","hardcoverId":1}})", 404, "nobody"},
          {"POST", kMissing, R"({"book":{"id":")" + ids[0] + R"(","hardcoverId":-1}})", 400,
           "hardcoverId"},
          {"POST", kMissing, R"({"book":{"id":")" + ids[0] + R"("},"edition":{"id":"no"}})", 404,
           "edition"},
          {"POST", std::string(kMissing) + "/x/settle", "{}", 400, "results"},
          {"POST", std::string(kMissing) + "/x/settle", R"({"results":[]})", 400, "results"},
          {"POST", std::string(kMissing) + "/x/settle",
           R"({"results":[{"bookId":"b","outcome":"matched"}]})", 400, "hardcoverId"},
          {"POST", std::string(kMissing) + "/x/settle",
           R"({"results":[{"bookId":"b","outcome":"unmatched"}]})", 400, "reason"},
          {"POST", std::string(kMissing) + "/x/settle",
           R"({"results":[{"bookId":"b","outcome":"lost"}]})", 400, "outcome"},
          {"POST", std::string(kMissing) + "/x/settle",
           R"({"results":[{"bookId":"b","outcome":"release"},{"bookId":"b","outcome":"release"}]})",
           400, "twice"},
          {"POST", std::string(kMissing) + "/x/settle",
           R"({"results":[{"bookId":"b","outcome":"matched","hardcoverId":9007199254740993}]})",
           400, "hardcoverId"},
          {"POST", kMissing, R"({"book":{"id":"b","hardcoverId":1,"hardcoverSlug":"a\u0000"}})",
           400, "hardcoverSlug"},
          {"PUT", "/api/missing/hardcover-pace", R"({"quota":0,"windowSeconds":60,"burst":10})",
           400, "quota"},
          {"PUT", "/api/missing/hardcover-pace", R"({"quota":60})", 400, "windowSeconds"},
          {"POST", std::string(kAdmin) + "/requeue?olderThan=-5", "", 400, "olderThan"},
          {"DELETE", "/api/books/nobody", "", 404, "nobody"},
      }) {
    const auto answer = ask(row.method, row.target, row.body);
    EXPECT_EQ(answer.status, row.status) << row.method << " " << row.target << " " << row.body;
    EXPECT_THAT(answer.body, HasSubstr(row.says)) << row.method << " " << row.target;
    EXPECT_THAT(answer.body, testing::StartsWith(R"({"error":{"code":)"));
  }
  EXPECT_EQ(status().books, 1);
  EXPECT_EQ(status().unclaimed, 1);
  EXPECT_EQ(book(ids[0]).fields.title, "Book 1");
}

TEST_F(LibraryBooks, ClaimingIsNothingForLinksOfOtherSites) {
  add(1);
  const auto from = [&](const std::string& site) {
    return ask("GET", kMissing, "", {{"Sec-Fetch-Site", site}}).status;
  };
  EXPECT_EQ(from("cross-site"), 403);
  EXPECT_EQ(from("same-site"), 403);
  EXPECT_EQ(ask("HEAD", kMissing).status, 400);
  EXPECT_EQ(status().claimed, 0);
  EXPECT_EQ(from("same-origin"), 200);
  EXPECT_EQ(status().claimed, 1);
}

TEST_F(LibraryBooks, ThePaceOfTheServiceBecomesThatOfTheQueue) {
  const auto pace = [&](const std::string& body) {
    return ask("PUT", "/api/missing/hardcover-pace", body).status;
  };
  EXPECT_EQ(pace(R"({"quota":600,"windowSeconds":30,"burst":10})"), 200);
  const auto policy = call(queue_, GetQueue{"hardcover-api"})->policy;
  EXPECT_EQ(policy.rate, (Rate{.limit = 600, .per_ms = 30'000, .burst = 4}));
  EXPECT_EQ(policy.concurrency, 5);
  // What may be under way and what may be saved up never exceed the service's burst.
  for (const int burst : {1, 2, 3, 4, 10, 15, 101}) {
    const auto made = library::api_policy({60, 60, burst});
    EXPECT_GE(made.rate->burst, 1);
    EXPECT_LE(made.rate->burst + *made.concurrency, std::max(2, burst)) << burst;
  }
}

TEST_F(LibraryBooks, AServerThatStopsLeavesNoClaimThatNobodyKnows) {
  add(3'000);
  std::mutex mutex;
  std::int64_t received = 0;
  std::latch ended(60);
  HttpClient client;
  for (int i = 0; i < 60; ++i) {
    const std::string target = i % 3 == 0 ? std::string(kMissing) : "/api/books?limit=1000";
    client.start({.url = server_->address() + target}, [&, i](HttpClient::Answered answer) {
      if (i % 3 == 0 && answer && answer->status == 200) {
        const auto claimed = from_json<MissingBooks>(answer->body);
        const std::lock_guard lock(mutex);
        received += std::ssize(claimed->books);
      }
      ended.count_down();
    });
  }
  status();  // some have been served by then
  server_->stop(Millis(1));
  server_.reset();
  ended.wait();
  std::int64_t held = 0;
  const auto claims = call(queue_, ListClaims{});
  for (const ClaimInfo& claim : claims->claims) held += std::ssize(claim.tasks);
  EXPECT_LT(held, 2'000);
  const std::lock_guard lock(mutex);
  EXPECT_LE(held, received);  // what was on its way counts as lost, and may have arrived
}

TEST_F(LibraryBooks, EachDoorNeedsItsScope) {
  close();
  auto tokens = server::Tokens::open(directory_.path() + "/tokens");
  ASSERT_TRUE(tokens);
  std::map<Scope, std::string> bearer;
  for (const auto& row : names_of(std::type_identity<Scope>{})) {
    bearer[row.value] = tokens->create({.scopes = {row.value}}, now_)->token;
  }
  const std::string limited =
      tokens->create({.scopes = {Scope::kAdmin}, .queues = {"mail"}}, now_)->token;
  tokens_ = &*tokens;
  open();
  for (const Operation& row : library::kLibraryOperations) {
    std::string target(row.path);
    for (auto open = target.find('{'); open != std::string::npos; open = target.find('{')) {
      target.replace(open, target.find('}') - open + 1, "x");
    }
    const auto with = [&](const std::string& token) {
      return ask(std::string(row.method), target, "", {{"Authorization", "Bearer " + token}})
          .status;
    };
    EXPECT_EQ(ask(std::string(row.method), target).status, 401) << row.name;
    EXPECT_EQ(with(limited), 403) << row.name;
    for (const auto& [scope, token] : bearer) {
      const bool may = scope == row.scope || scope == Scope::kAdmin;
      EXPECT_EQ(with(token) != 403, may) << row.name << " with " << name_of(scope);
    }
  }
  close();
}

}  // namespace
}  // namespace retsu
