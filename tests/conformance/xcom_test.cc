// Values that tasks share by key, for a time.

#include "conformance/dsl.h"

namespace retsu::conformance {
namespace {

CONFORMANCE_SUITE(Xcom);

TEST_P(Xcom, AValueIsKeptForAnHour) {
  const XcomValue put = must(PutXcom{.key = "a:b.c", .value = R"({"n":1})"});
  EXPECT_EQ(put.key, "a:b.c");
  EXPECT_EQ(since_start(put.expires_at), ms(1h));
  EXPECT_EQ(must(GetXcom{.key = "a:b.c"}), put);
  EXPECT_EQ(must(GetXcom{.key = "a:b.c"}).value, Json(R"({"n":1})"));
  EXPECT_EQ(must(Stats{}).xcom, 1);
  advance(1h - 1ms);
  EXPECT_TRUE(ask(GetXcom{.key = "a:b.c"}));
  advance(1ms);
  EXPECT_REFUSED(ask(GetXcom{.key = "a:b.c"}), kNotFound);
  EXPECT_EQ(must(Stats{}).xcom, 0);
}

TEST_P(Xcom, AValueMayHaveItsOwnTime) {
  must(PutXcom{.key = "k", .value = "1", .ttl_ms = 5'000});
  advance(5s);
  EXPECT_REFUSED(ask(GetXcom{.key = "k"}), kNotFound);
}

TEST_P(Xcom, PuttingAgainReplacesTheValueAndItsTime) {
  must(PutXcom{.key = "k", .value = "1", .ttl_ms = 5'000});
  advance(4s);
  must(PutXcom{.key = "k", .value = "2", .ttl_ms = 5'000});
  EXPECT_EQ(must(Stats{}).xcom, 1);
  advance(4s);
  EXPECT_EQ(must(GetXcom{.key = "k"}).value, Json("2"));
  advance(1s);
  EXPECT_REFUSED(ask(GetXcom{.key = "k"}), kNotFound);
}

TEST_P(Xcom, AValueCanBeDeleted) {
  must(PutXcom{.key = "k", .value = "1"});
  must(PutXcom{.key = "other", .value = "2"});
  EXPECT_EQ(must(DeleteXcom{.key = "k"}).removed, 1);
  EXPECT_REFUSED(ask(GetXcom{.key = "k"}), kNotFound);
  EXPECT_TRUE(ask(GetXcom{.key = "other"}));
}

TEST_P(Xcom, AnUnknownKeyIsNotFound) { EXPECT_REFUSED(ask(GetXcom{.key = "k"}), kNotFound); }

TEST_P(Xcom, AValueMayHave256KiBAndNotAByteMore) {
  const std::int64_t most = 256 << 10;
  EXPECT_TRUE(ask(PutXcom{.key = "k", .value = Json(json_of_size(most))}));
  EXPECT_REFUSED(ask(PutXcom{.key = "k2", .value = Json(json_of_size(most + 1))}), kTooLarge);
  EXPECT_REFUSED(ask(PutXcom{.key = "k", .value = Json(json_of_size(most + 1))}), kTooLarge);
  EXPECT_EQ(must(GetXcom{.key = "k"}).value.size(), static_cast<std::size_t>(most));
}

TEST_P(Xcom, ThereIsALimitToHowManyValues) {
  begin({.xcom_entries = 2});
  must(PutXcom{.key = "a", .value = "1"});
  must(PutXcom{.key = "b", .value = "1"});
  EXPECT_REFUSED(ask(PutXcom{.key = "c", .value = "1"}), kOverloaded);
  EXPECT_TRUE(ask(PutXcom{.key = "a", .value = "2"}));
}

TEST_P(Xcom, ManyValuesExpireInSteps) {
  begin({.steps = 10});
  for (const std::string& key : numbered("k", 50)) must(PutXcom{.key = key, .value = "1"});
  advance(1h);
  EXPECT_REFUSED(ask(GetXcom{.key = "k50"}), kNotFound);
  keep_calling_until([&] { return must(Stats{}).xcom == 0; });
}

}  // namespace
}  // namespace retsu::conformance
