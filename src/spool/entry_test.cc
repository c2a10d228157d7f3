#include "spool/entry.h"

#include <gmock/gmock.h>

namespace retsu::spool {
namespace {

using testing::HasSubstr;

constexpr std::string_view kFromTheSeed =
    R"({"id":"abc-123","type":"upload","payload":{"filePath":"/doc.pdf"},"priority":"normal","createdAt":"2025-11-26T10:00:00Z","retries":0})";

TEST(Entries, AreReadAsTheOriginalWritesThem) {
  const auto entry = parse_entry(kFromTheSeed);
  ASSERT_TRUE(entry) << entry.error();
  EXPECT_EQ(entry->id, "abc-123");
  EXPECT_EQ(entry->type, "upload");
  EXPECT_EQ(entry->payload.view(), R"({"filePath":"/doc.pdf"})");
  EXPECT_EQ(entry->priority, Urgency::kNormal);
  EXPECT_EQ(format_time(entry->created_at), "2025-11-26T10:00:00.000Z");
  EXPECT_EQ(entry->retries, 0);
  EXPECT_FALSE(entry->last_attempt);
}

// Field for field, in its order: what the original would print after JSON.parse.
TEST(Entries, AreWrittenAsTheOriginalWritesThem) {
  const std::string_view line =
      R"({"id":"a","type":"sync","payload":{"url":"https://x/y","data":[1,2.50]},"priority":"high","createdAt":"2025-11-26T10:00:00.123Z","retries":2,"lastAttempt":"2025-11-26T10:05:00.000Z","nextRetryAt":"2025-11-26T10:05:02.000Z","error":"HTTP 503"})";
  const auto entry = parse_entry(line);
  ASSERT_TRUE(entry) << entry.error();
  EXPECT_EQ(line_of(*entry), line);
}

TEST(Entries, KeepFieldsOfOthers) {
  std::string line(kFromTheSeed);
  line.insert(line.size() - 1, R"(,"device":{"name":"phone","os":[17,2]},"ü\n":null)");
  auto entry = parse_entry(line);
  ASSERT_TRUE(entry) << entry.error();
  entry->retries = 1;
  EXPECT_THAT(line_of(*entry),
              HasSubstr(R"("retries":1,"device":{"name":"phone","os":[17,2]},"ü\n":null})"));
  EXPECT_EQ(parse_entry(line_of(*entry))->others, entry->others);
}

TEST(Entries, OfDeadLettersHaveWhenAndWhyAtTheEnd) {
  const DeadEntry dead{*parse_entry(kFromTheSeed), *parse_time("2025-12-01T00:00:00Z"),
                       "max_retries"};
  const std::string line = line_of(dead);
  EXPECT_THAT(
      line,
      HasSubstr(R"("retries":0,"movedAt":"2025-12-01T00:00:00.000Z","reason":"max_retries"})"));
  const auto read = parse_dead_entry(line);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->entry, dead.entry);
  EXPECT_EQ(read->reason, dead.reason);
}

TEST(Entries, OfOtherProgramsMayHaveASentenceForAReason) {
  const auto dead = parse_dead_entry(
      R"({"id":"a","type":"sync","payload":{},"priority":"low","createdAt":"2025-11-26T10:00:00Z","retries":6,"movedAt":"2025-11-27T10:00:00Z","reason":"最大リトライ回数 (5) を超過"})");
  ASSERT_TRUE(dead) << dead.error();
  EXPECT_EQ(dead->reason, "最大リトライ回数 (5) を超過");
}

struct Bad {
  std::string_view replaced;
  std::string_view by;
  std::string_view problem;
};
class BadEntries : public testing::TestWithParam<Bad> {};
TEST_P(BadEntries, AreNamed) {
  std::string line(kFromTheSeed);
  const auto place = line.find(GetParam().replaced);
  ASSERT_NE(place, std::string::npos);
  line.replace(place, GetParam().replaced.size(), GetParam().by);
  const auto entry = parse_entry(line);
  ASSERT_FALSE(entry);
  EXPECT_THAT(entry.error(), HasSubstr(std::string(GetParam().problem)));
}
INSTANTIATE_TEST_SUITE_P(
    All, BadEntries,
    testing::Values(Bad{R"("id":"abc-123",)", "", "id"},
                    Bad{"abc-123", "", "id: must not be empty"},
                    Bad{R"("type":"upload",)", "", "type"},
                    Bad{R"("upload")", R"("")", "type: must not be empty"},
                    Bad{R"("normal")", R"("urgent")", "priority"},
                    Bad{"2025-11-26T10:00:00Z", "yesterday", "createdAt"},
                    Bad{"2025-11-26T10:00:00Z", "2025-11-26T10:00:00", "createdAt"},
                    Bad{R"("retries":0)", R"("retries":-1)", "retries"},
                    Bad{R"("retries":0)", R"("retries":0.5)", "retries"},
                    Bad{R"("retries":0)", R"("retries":0,"lastAttempt":7)", "lastAttempt"},
                    Bad{R"("payload":{"filePath":"/doc.pdf"},)", "", "payload"},
                    Bad{R"("retries":0})", R"("retries":0)", ""}, Bad{"{", "", ""}));

TEST(Urgencies, AreThoseOfPriorities) {
  const Urgency expected[] = {Urgency::kLow, Urgency::kLow, Urgency::kNormal, Urgency::kHigh,
                              Urgency::kHigh};
  for (int priority = 1; priority <= 5; ++priority) {
    EXPECT_EQ(urgency_of(priority), expected[priority - 1]) << priority;
  }
  EXPECT_EQ(priority_of(Urgency::kHigh), 4);
  EXPECT_EQ(priority_of(Urgency::kNormal), 3);
  EXPECT_EQ(priority_of(Urgency::kLow), 2);
}

}  // namespace
}  // namespace retsu::spool
