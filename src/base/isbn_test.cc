#include "base/isbn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retsu {
namespace {

using testing::Optional;

std::string problem(std::string_view text) {
  const auto isbn13 = read_isbn(text);
  return isbn13 ? "" : isbn13.error();
}

TEST(Isbn, OfTenDigitsBecomesOneOfThirteen) {
  EXPECT_THAT(isbn13_from("4873113946"), Optional(9784873113944u));
  EXPECT_THAT(isbn13_from("020161586X"), Optional(9780201615869u));
  EXPECT_THAT(isbn13_from("020161586x"), Optional(9780201615869u));
  EXPECT_THAT(isbn13_from("0000000000"), Optional(9780000000002u));
}

TEST(Isbn, OfThirteenDigitsStaysAsItIs) {
  EXPECT_THAT(isbn13_from("9784873113944"), Optional(9784873113944u));
  EXPECT_THAT(isbn13_from("9791090636071"), Optional(9791090636071u));
  EXPECT_THAT(isbn13_from("9781234567880"), Optional(9781234567880u));
}

TEST(Isbn, MayHaveHyphensAndSpacesAnywhere) {
  EXPECT_THAT(isbn13_from(" 978-4-87311-394-4 "), Optional(9784873113944u));
  EXPECT_THAT(isbn13_from("4 87311--394 6-"), Optional(9784873113944u));
  EXPECT_THAT(isbn13_from("0-201-61586-X"), Optional(9780201615869u));
}

TEST(Isbn, IsWrittenWithThirteenDigits) {
  EXPECT_EQ(isbn13_text(9784873113944), "9784873113944");
  EXPECT_EQ(isbn13_text(7), "0000000000007");
}

TEST(Isbn, TellsWhatIsWrong) {
  EXPECT_EQ(problem(""), "is empty");
  EXPECT_EQ(problem(" - "), "is empty");
  EXPECT_EQ(problem("4"), "has 1 digit, not 10 or 13");
  EXPECT_EQ(problem("978123456788"), "has 12 digits, not 10 or 13");
  EXPECT_EQ(problem("97848731139440"), "has 14 digits, not 10 or 13");
  EXPECT_EQ(problem(std::string(1000, '1')), "has 1000 digits, not 10 or 13");
  EXPECT_EQ(problem("4873113945"), "has a wrong check digit");
  EXPECT_EQ(problem("487311394X"), "has a wrong check digit");
  EXPECT_EQ(problem("9784873113945"), "has a wrong check digit");
  EXPECT_EQ(problem("X201615860"), "has an X that is not the last digit of an ISBN-10");
  EXPECT_EQ(problem("XX0161586X"), "has an X that is not the last digit of an ISBN-10");
  EXPECT_EQ(problem("978487311394X"), "has an X that is not the last digit of an ISBN-10");
  EXPECT_EQ(problem("4006381333931"), "is no book: it does not begin with 978 or 979");
  for (const char* text : {"487311394６", "978_4873113944", "ISBN 4873113946", "4873113946\n"}) {
    EXPECT_EQ(problem(text), "has a character that is no digit, hyphen or space") << text;
  }
}

// What check digits are for.
TEST(Isbn, WithOneDigitChangedIsRefused) {
  for (const std::string valid : {"9784873113944", "4873113946", "020161586X"}) {
    for (std::size_t place = 0; place < valid.size(); ++place) {
      for (const char digit : std::string("0123456789X")) {
        std::string changed = valid;
        changed[place] = digit;
        EXPECT_EQ(isbn13_from(changed).has_value(), changed == valid) << changed;
      }
    }
  }
}

TEST(Isbn, OfTenDigitsWithTwoNeighboursSwappedIsRefused) {
  for (const std::string valid : {"4873113946", "020161586X"}) {
    for (std::size_t place = 1; place < valid.size(); ++place) {
      std::string changed = valid;
      std::swap(changed[place - 1], changed[place]);
      EXPECT_EQ(isbn13_from(changed).has_value(), changed == valid) << changed;
    }
  }
}

TEST(Isbn, IsReadBackAsItIsWritten) {
  std::size_t found = 0;
  for (std::uint64_t number = 9'790'000'000'000; number < 9'790'000'010'000; ++number) {
    const auto isbn13 = isbn13_from(isbn13_text(number));
    if (!isbn13) continue;
    EXPECT_EQ(*isbn13, number);
    ++found;
  }
  EXPECT_EQ(found, 1000u);
}

}  // namespace
}  // namespace retsu
