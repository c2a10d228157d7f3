#include "base/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retsu {
namespace {

using testing::ElementsAre;
using testing::Optional;
using testing::Pair;

TEST(Url, EncodesAllButLettersDigitsAndAFewSigns) {
  EXPECT_EQ(percent_encoded("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(percent_encoded("a b/c:列"), "a%20b%2Fc%3A%E5%88%97");
  EXPECT_EQ(percent_encoded(std::string("\0\xff", 2)), "%00%FF");
}

TEST(Url, DecodesWhatItEncodes) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_THAT(percent_decoded(percent_encoded(all), UrlPart::kPath), Optional(all));
  EXPECT_THAT(percent_decoded(percent_encoded(all), UrlPart::kQuery), Optional(all));
}

TEST(Url, APlusIsASpaceInAQueryOnly) {
  EXPECT_THAT(percent_decoded("a+b", UrlPart::kPath), Optional(std::string("a+b")));
  EXPECT_THAT(percent_decoded("a+b", UrlPart::kQuery), Optional(std::string("a b")));
}

TEST(Url, RefusesAPercentSignWithoutTwoDigits) {
  for (const char* text : {"%", "%1", "a%", "%zz", "%1g", "%-1", "%+1", "% 1"}) {
    EXPECT_EQ(percent_decoded(text, UrlPart::kPath), std::nullopt) << text;
  }
}

TEST(Url, AQueryIsNamesAndValues) {
  EXPECT_THAT(query_parameters(""), Optional(testing::IsEmpty()));
  EXPECT_THAT(
      query_parameters("a=1&b=x%20y+z&&c&d="),
      Optional(ElementsAre(Pair("a", "1"), Pair("b", "x y z"), Pair("c", ""), Pair("d", ""))));
  EXPECT_THAT(query_parameters("q=a%3Db=c"), Optional(ElementsAre(Pair("q", "a=b=c"))));
  EXPECT_EQ(query_parameters("a=%"), std::nullopt);
}

}  // namespace
}  // namespace retsu
