#include "simulators/hardcover/catalogue.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace retsu::simulators::hardcover {
namespace {

// The nth ISBN of a publisher that does not exist.
std::string isbn(int number) {
  std::string digits = fmt::format("97840{:07}", number);
  int sum = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) sum += (digits[i] - '0') * (i % 2 == 0 ? 1 : 3);
  return digits + std::to_string((10 - sum % 10) % 10);
}

TEST(HardcoverCatalogue, KnowsAnIsbnByItsCheckDigit) {
  EXPECT_TRUE(is_isbn_13("9784873113944"));
  EXPECT_TRUE(is_isbn_13("9791090636071"));
  for (const char* text : {"9784873113945", "978-4873113944", "978487311394", "97848731139440",
                           "9804873113944", "978487311394X", ""}) {
    EXPECT_FALSE(is_isbn_13(text)) << text;
  }
}

TEST(HardcoverCatalogue, TheSameIsbnIsAlwaysTheSameEdition) {
  const auto edition = edition_by_isbn("9784873113944");
  ASSERT_TRUE(edition);
  EXPECT_EQ(edition->id, 487311395);
  EXPECT_EQ(edition->isbn_13, "9784873113944");
  EXPECT_EQ(edition->title, "Small Machines, Patiently Explained");
  EXPECT_EQ(edition->slug, "small-machines-patiently-explained");
  ASSERT_EQ(edition->authors.size(), 1U);
  EXPECT_EQ(edition->authors[0].name, "Haruka Minami");
  EXPECT_EQ(edition->authors[0].slug, "haruka-minami");
  EXPECT_EQ(edition_by_isbn("9784873113944"), edition);
  EXPECT_EQ(edition_by_isbn("9784873113945"), std::nullopt);
}

TEST(HardcoverCatalogue, FourIsbnsInFiveHaveAnEditionAndNoTwoTheSameIds) {
  constexpr int kAll = 20'000;
  std::set<std::int32_t> editions;
  std::set<std::int32_t> books;
  for (int i = 0; i < kAll; ++i) {
    const auto edition = edition_by_isbn(isbn(i));
    if (!edition) continue;
    EXPECT_GT(edition->id, 0);
    EXPECT_GT(edition->book_id, 0);
    EXPECT_TRUE(editions.insert(edition->id).second);
    EXPECT_TRUE(books.insert(edition->book_id).second);
  }
  EXPECT_NEAR(static_cast<double>(editions.size()) / kAll, 0.8, 0.01);
}

TEST(HardcoverCatalogue, HalfOfAllTitlesAreThereWithoutAnIsbn) {
  constexpr int kAll = 5'000;
  int found = 0;
  for (int i = 0; i < kAll; ++i) {
    const std::string title = fmt::format("本の題 {}", i);
    const auto edition = edition_by_title(title, "Ann");
    if (!edition) continue;
    ++found;
    EXPECT_GT(edition->id, 2'000'000'000);
    EXPECT_EQ(edition->isbn_13, std::nullopt);
    EXPECT_EQ(edition->title, title);
    EXPECT_TRUE(edition->is_by("Ann"));
    EXPECT_EQ(edition->slug, fmt::format("{}-{}", i, edition->book_id));
  }
  EXPECT_NEAR(static_cast<double>(found) / kAll, 0.5, 0.03);
  EXPECT_EQ(edition_by_title("", "Ann"), std::nullopt);
}

TEST(HardcoverCatalogue, ABookIsTheSameByItsIsbnAndByItsTitleAndAuthors) {
  int pairs = 0;
  for (int i = 0; i < 200; ++i) {
    const auto edition = edition_by_isbn(isbn(i));
    if (!edition) continue;
    for (const Author& author : edition->authors) {
      EXPECT_EQ(edition_by_title(edition->title, author.name), edition);
    }
    EXPECT_EQ(edition_by_title(edition->title, ""), edition);
    pairs += edition->authors.size() == 2 ? 1 : 0;
  }
  EXPECT_GT(pairs, 5);
  EXPECT_EQ(edition_by_title("Small Machines, Patiently Explained", "Haruka Minami"),
            edition_by_isbn("9784873113944"));
}

}  // namespace
}  // namespace retsu::simulators::hardcover
