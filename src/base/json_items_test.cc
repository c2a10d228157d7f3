#include "base/json_items.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace retsu {
namespace {

using testing::ElementsAre;

// Items as `place: text`, errors as `place! message`, the last ones with a full stop.
std::vector<std::string> read(std::string_view text, std::size_t piece = 1 << 20,
                              std::size_t max_bytes = 1 << 20) {
  std::vector<std::string> out;
  JsonItemReader reader(
      [&](const tl::expected<JsonItem, JsonItemError>& item) {
        if (item) {
          out.push_back(item->place.text() + ": " + std::string(item->text));
        } else {
          out.push_back(item.error().place.text() + "! " + item.error().message +
                        (item.error().is_last ? "." : ""));
        }
      },
      max_bytes);
  for (std::size_t at = 0; at < text.size(); at += piece) reader.take(text.substr(at, piece));
  reader.end();
  return out;
}

TEST(JsonItems, AreTheElementsOfAnArray) {
  EXPECT_THAT(read(R"([{"a":[1,2]},"b",3,null])"),
              ElementsAre(R"(element 1, line 1: {"a":[1,2]})", R"(element 2, line 1: "b")",
                          "element 3, line 1: 3", "element 4, line 1: null"));
  EXPECT_THAT(read("\n [\n1\n,\n{\n}\n] \n"),
              ElementsAre("element 1, line 3: 1", "element 2, line 5: {\n}"));
  EXPECT_THAT(read("[ ]\n"), ElementsAre());
}

TEST(JsonItems, AreTheLinesOfATextThatIsNoArray) {
  EXPECT_THAT(read("{\"a\":[1]}\n[2]\r\n\n \t\n  3 \n4"),
              ElementsAre("line 1: {\"a\":[1]}", "line 2: [2]", "line 5: 3", "line 6: 4"));
  EXPECT_THAT(read("not JSON, {\n"), ElementsAre("line 1: not JSON, {"));
  EXPECT_THAT(read(" \n"), ElementsAre());
  EXPECT_THAT(read(""), ElementsAre());
}

TEST(JsonItems, AByteOrderMarkIsPassedOver) {
  EXPECT_THAT(read("\xef\xbb\xbf[1]"), ElementsAre("element 1, line 1: 1"));
  EXPECT_THAT(read("\xef\xbb\xbf{}\n"), ElementsAre("line 1: {}"));
}

TEST(JsonItems, BracketsAndQuotesInStringsDoNotCount) {
  EXPECT_THAT(read(R"(["a\"],", {"]}\\":"\\\"{["},"\\"])"),
              ElementsAre(R"(element 1, line 1: "a\"],")",
                          R"(element 2, line 1: {"]}\\":"\\\"{["})", R"(element 3, line 1: "\\")"));
}

TEST(JsonItems, AMissingCommaElementOrEndIsTheLastError) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"[1\n2]", "element 1, line 2! a comma is missing behind this element."},
      {"[{}{}]", "element 1, line 1! a comma is missing behind this element."},
      {"[1\"a\"]", "element 1, line 1! a comma is missing behind this element."},
      {"[1{}]", "element 1, line 1! a comma is missing behind this element."},
      {"[1}]", "element 1, line 1! a comma is missing behind this element."},
      {"[1,]", "element 2, line 1! this element is missing."},
      {"[1,,2]", "element 2, line 1! this element is missing."},
      {"[1,}", "element 2, line 1! this element is missing."},
      {"[1", "element 1, line 1! the text ends inside this element."},
      {"[1,\n{\"a\":[]", "element 2, line 2! the text ends inside this element."},
      {"[1,\"]", "element 2, line 1! the text ends inside this element."},
      {"[1,\n", "element 1, line 2! the array is not closed."},
      {"[1 ", "element 1, line 1! the array is not closed."},
      {"[1]\n\n[2]", "element 1, line 3! there is text behind the end of the array."},
      {"[1]]", "element 1, line 1! there is text behind the end of the array."},
  };
  for (const auto& [text, error] : table) {
    const auto items = read(text);
    ASSERT_FALSE(items.empty()) << text;
    EXPECT_EQ(items.back(), error) << text;
    EXPECT_EQ(std::ranges::count_if(items, [](auto& item) { return item.ends_with('.'); }), 1);
  }
  EXPECT_THAT(read("["), ElementsAre("line 1! the array is not closed."));
  EXPECT_THAT(read("[,"), ElementsAre("element 1, line 1! this element is missing."));
  EXPECT_THAT(read("[]1"), ElementsAre("line 1! there is text behind the end of the array."));
}

TEST(JsonItems, ThatAreTooLargeAreNamedAndPassedOver) {
  EXPECT_THAT(read("[1,\n[1,2,\n3],\"123456\",12345,6]", 100, 5),
              ElementsAre("element 1, line 1: 1", "element 2, line 2! larger than 5 bytes",
                          "element 3, line 3! larger than 5 bytes", "element 4, line 3: 12345",
                          "element 5, line 3: 6"));
  EXPECT_THAT(
      read("123456\n12345\n1234567", 100, 5),
      ElementsAre("line 1! larger than 5 bytes", "line 2: 12345", "line 3! larger than 5 bytes"));
}

TEST(JsonItems, TogetherMayBeLargerThanOneMayBe) {
  std::size_t count = 0;
  JsonItemReader reader([&](const tl::expected<JsonItem, JsonItemError>& item) {
    EXPECT_TRUE(item) << item.error().message;
    ++count;
  });
  reader.take("[1");
  const std::string more = "," + std::string(1000, '1');
  for (int i = 0; i < 10'000; ++i) reader.take(more);
  reader.take("]");
  reader.end();
  EXPECT_EQ(count, 10'001u);
}

RC_GTEST_PROP(JsonItems, AreTheSameWhereverTheTextIsCut, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(
      std::vector<std::string>{"[", "]", "{", "}", ",", "\"", "\\", "1", "ab", " ", "\r", "\n",
                               "\xef\xbb\xbf", "\xef", "\"a\\\"\"", "[1,{}]"}));
  std::string text = *rc::gen::element<std::string>("", "[", "[1,");
  for (const auto& word : words) text += word;
  const auto max_bytes = *rc::gen::inRange<std::size_t>(1, 12);
  const auto whole = read(text, 1 << 20, max_bytes);
  for (std::size_t piece = 1; piece < 7; ++piece) {
    RC_ASSERT(read(text, piece, max_bytes) == whole);
  }
}

RC_GTEST_PROP(JsonItems, AreReadBackAsTheyWereWritten, ()) {
  const auto values = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("1", "-2.5e3", "true", "null", "\"\"", "\"a\\\\\"", "\"]\\\"\"",
                                    "[]", "{}", "[[1],{\"}\":\"\\\"\"}]", "{\"a\":[1,2]}"));
  std::string array;
  std::string lines = "{}\n";
  std::vector<std::string> elements_expected;
  std::vector<std::string> lines_expected = {"line 1: {}"};
  for (std::size_t i = 0; i < values.size(); ++i) {
    array += (i == 0 ? "[" : ",") + values[i];
    lines += values[i] + '\n';
    elements_expected.push_back("element " + std::to_string(i + 1) + ", line 1: " + values[i]);
    lines_expected.push_back("line " + std::to_string(i + 2) + ": " + values[i]);
  }
  array += values.empty() ? "[]" : "]";
  RC_ASSERT(read(array) == elements_expected);
  RC_ASSERT(read(lines) == lines_expected);
}

}  // namespace
}  // namespace retsu
