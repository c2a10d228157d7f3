#include "apps/library/rate_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retsu::library {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(RateLimits, ArePoliciesByName) {
  EXPECT_THAT(read_rate_policies(R"("Free";q=60;w=60;burst=10, "daily";q=5000;w=86400)"),
              ElementsAre(RatePolicy{"Free", 60, 60, 10}, RatePolicy{"daily", 5000, 86400, 0}));
}

TEST(RateLimits, HaveAStateEach) {
  EXPECT_THAT(read_rate_states(R"("Free";r=8;t=42, "daily";r=4231;t=51234)"),
              ElementsAre(RateState{"Free", 8, 42}, RateState{"daily", 4231, 51234}));
  EXPECT_THAT(read_rate_states(R"("Free";r=0)"), ElementsAre(RateState{"Free", 0, 0}));
}

TEST(RateLimits, MayHaveSpacesEscapesAndNamesWithoutQuotes) {
  EXPECT_THAT(read_rate_states(" \"a\\\"b\\\\c,;\"; r=1; t=2\t,\t default;r=3 "),
              ElementsAre(RateState{"a\"b\\c,;", 1, 2}, RateState{"default", 3, 0}));
  EXPECT_THAT(read_rate_states("\"\";r=1"), ElementsAre(RateState{"", 1, 0}));
}

TEST(RateLimits, MayHaveParametersThatWeDoNotKnow) {
  EXPECT_THAT(read_rate_policies(
                  R"("a";qu="requests, or; so";pk=:cHsdsRevK==:;flag;on=?1;x=-2.5;q=1;at=@16;w=2)"),
              ElementsAre(RatePolicy{"a", 1, 2, 0}));
}

TEST(RateLimits, TheLastOfSeveralNumbersCounts) {
  EXPECT_THAT(read_rate_states(R"("a";r=1;r=2)"), ElementsAre(RateState{"a", 2, 0}));
}

TEST(RateLimits, WithoutANumberOrWithOneThatMakesNoSenseAreLeftOut) {
  for (const char* entry :
       {R"("b")", R"("b";q=1)", R"("b";w=1)", R"("b";q=0;w=1)", R"("b";q=1;w=0)", R"("b";q=-1;w=1)",
        R"("b";q=1.5;w=1)", R"("b";q="1";w=1)", R"("b";q;w=1)", R"("b";q=1;w=1;burst=x)",
        R"("b";q=1000000000000000;w=1)", R"("b";q=99999999999999999999999;w=1)"}) {
    EXPECT_THAT(read_rate_policies(R"("a";q=1;w=2,)" + std::string(entry) + R"(,"c";q=3;w=4)"),
                ElementsAre(RatePolicy{"a", 1, 2, 0}, RatePolicy{"c", 3, 4, 0}))
        << entry;
  }
  EXPECT_THAT(read_rate_policies(R"("a";q=999999999999999;w=1)"),
              ElementsAre(RatePolicy{"a", 999'999'999'999'999, 1, 0}));
  EXPECT_THAT(read_rate_states(R"("a";t=1, "b";r=1;t=-1)"), IsEmpty());
}

TEST(RateLimits, ThatAreNoListSayNothing) {
  for (const char* header : {"",
                             " ",
                             "60",
                             "\"",
                             "x;r=1;y=\"",
                             "\"a\\x,b;r=1",
                             "x;r=1;y=\"a\\x,b;r=1",
                             "\"a",
                             "\"a\\",
                             "\"a\\x\";r=1",
                             "\"a\";",
                             "\"a\";r=",
                             "\"a\";=1",
                             "\"a\";R=1",
                             "\"a\";r=1,",
                             ",\"a\";r=1",
                             "\"a\";r=1 \"b\";r=1",
                             "\"a\";r=1;;t=1",
                             "(\"a\");r=1",
                             "limit=100, remaining=50, reset=50",
                             "\"a\xff\";r=1",
                             "\"a\n\";r=1",
                             "\"a\";r=1\n"}) {
    EXPECT_THAT(read_rate_states(header), IsEmpty()) << header;
  }
}

TEST(RateLimits, AreOnlySoMany) {
  std::string header = "a;r=1";
  for (int i = 1; i < 32; ++i) header += ",a;r=1";
  EXPECT_THAT(read_rate_states(header), SizeIs(32));
  EXPECT_THAT(read_rate_states(header + ",a;r=1"), IsEmpty());
}

}  // namespace
}  // namespace retsu::library
