#include "model/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retsu {
namespace {

using testing::HasSubstr;

template <class T>
std::string written(const T& value) {
  std::string out;
  append_json(out, value);
  return out;
}

TEST(ModelJson, APriorityIsANumberOrAWord) {
  for (const auto& [word, value] : kPriorityWords) {
    EXPECT_EQ(from_json<Priority>("\"" + std::string(word) + "\"")->value, value);
    EXPECT_EQ(from_json<Priority>(std::to_string(value))->value, value);
    EXPECT_EQ(written(Priority{value}), std::to_string(value));
  }
  for (const std::string bad : {"0", "7", "3.0", "\"HIGH\"", "null", "[]", "4294967299"})
    EXPECT_FALSE(from_json<Priority>(bad)) << bad;
}

TEST(ModelJson, AgingIsANumberOrStrict) {
  EXPECT_EQ(*from_json<Aging>("\"strict\""), kStrictAging);
  EXPECT_EQ(from_json<Aging>("600")->step_ms, 600);
  EXPECT_EQ(written(kStrictAging), "\"strict\"");
  EXPECT_EQ(written(Aging{0}), "0");
}

TEST(ModelJson, EveryErrorCodeHasItsName) {
  for (const ErrorRow& row : kErrors) {
    EXPECT_EQ(&row_of(row.code), &row);
    const auto read = from_json<Error>(written(Error{row.code, "m"}));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->code, row.code);
  }
}

TEST(Patches, ChangeWhatTheyNameAndKeepTheRest) {
  QueuePolicy policy;
  policy.concurrency = 4;
  policy.rate = Rate{10, 1'000, 20};
  policy.retry.max_attempts = 9;
  const auto outcome = patched(policy, R"({"rate":{"limit":5},"retry":{"base_ms":500},"paused":true,
                                           "concurrency":null,"aging_ms":"strict"})");
  ASSERT_TRUE(outcome) << outcome.error().message;
  QueuePolicy expected = policy;
  expected.rate = Rate{5, 1'000, 20};
  expected.retry.base_ms = 500;
  expected.paused = true;
  expected.concurrency.reset();
  expected.aging_ms = kStrictAging;
  EXPECT_EQ(*outcome, expected);
  EXPECT_EQ(*patched(policy, "{}"), policy);
  EXPECT_EQ(patched(policy, R"({"retry":null})")->retry, Retry{});
}

TEST(Patches, AreRefusedWhenTheOutcomeIsNoPolicy) {
  const std::vector<std::pair<std::string_view, std::string_view>> table = {
      {R"({"rate":{"limit":5}})", "rate.per_ms: missing"},
      {R"({"concurrency":0})", "concurrency: must be 1 to 1000000, but is 0"},
      {R"({"retry":{"base_ms":600000}})", "retry.max_ms: must be at least base_ms"},
      {R"({"lease_ms":1})", "lease_ms: must be 0, or 100 to 604800000 ms (7d), but is 1"},
      {R"({"max_hold_ms":-1})", "max_hold_ms: must be 0 to"},
      {R"({"queue":"q"})", "queue: unknown field"},
      {"[]", "expected an object"},
      {"", "not valid JSON"},
  };
  for (const auto& [patch, message] : table) {
    const auto outcome = patched(QueuePolicy{}, patch);
    ASSERT_FALSE(outcome) << patch;
    EXPECT_THAT(outcome.error().message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace retsu
