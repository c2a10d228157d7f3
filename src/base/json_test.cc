#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace retsu {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

enum class Color { kNone, kRed, kGreen };
constexpr auto names_of(std::type_identity<Color>) {
  return std::to_array<Named<Color>>(
      {{"", Color::kNone}, {"red", Color::kRed}, {"green", Color::kGreen}});
}

struct Inner {
  std::int64_t size = 7;
  double share = 0.5;
  bool operator==(const Inner&) const = default;
};
constexpr auto fields_of(std::type_identity<Inner>) {
  return List{Field{"size", &Inner::size, kRequired}, Field{"share", &Inner::share}};
}

struct Beside {
  std::string left;
  std::string right = "r";
  bool operator==(const Beside&) const = default;
};
constexpr auto fields_of(std::type_identity<Beside>) {
  return List{Field{"left", &Beside::left}, Field{"right", &Beside::right}};
}

struct Outer {
  std::string name;
  Text text;
  Json value;
  bool flag = false;
  bool yes = true;
  int small = 0;
  std::uint64_t wide = 0;
  Color color = Color::kNone;
  std::optional<TimePoint> at;
  std::optional<Inner> maybe;
  Inner inner;
  std::vector<Inner> list;
  std::map<std::string, std::int64_t> map;
  std::vector<std::string> shown;
  Beside beside;
  std::string secret = "s";
  bool operator==(const Outer&) const = default;
};
constexpr auto fields_of(std::type_identity<Outer>) {
  return List{Field{"name", &Outer::name},   Field{"text", &Outer::text},
              Field{"value", &Outer::value}, Field{"flag", &Outer::flag},
              Field{"yes", &Outer::yes},     Field{"small", &Outer::small},
              Field{"wide", &Outer::wide},   Field{"color", &Outer::color},
              Field{"at", &Outer::at},       Field{"maybe", &Outer::maybe},
              Field{"inner", &Outer::inner}, Field{"list", &Outer::list},
              Field{"map", &Outer::map},     Field{"shown", &Outer::shown, kAlwaysShown},
              Field{"", &Outer::beside},     Field{"secret", &Outer::secret, kReadOnly}};
}

template <class T>
std::string written(const T& value) {
  std::string out;
  append_json(out, value);
  return out;
}

template <class T>
std::string refusal(std::string_view text) {
  const auto value = from_json<T>(text);
  return value ? "accepted" : value.error().message;
}

Outer full() {
  return {.name = "a\"b\\c\n\x01/é😀",
          .text = "t",
          .value = R"({"k":[1,2.50]})",
          .flag = true,
          .yes = false,
          .small = -3,
          .wide = std::numeric_limits<std::uint64_t>::max(),
          .color = Color::kGreen,
          .at = TimePoint(1s),
          .maybe = Inner{1, 0.25},
          .inner = {2, 1},
          .list = {{3, 0.1}, {4, 1e300}},
          .map = {{"x", 1}, {"y\"", -2}},
          .shown = {"a", ""},
          .beside = {"l", ""},
          .secret = "s"};
}

TEST(JsonWriting, LeavesOutWhatIsBlankByDefault) {
  EXPECT_EQ(written(Outer{}),
            R"({"yes":true,"small":0,"wide":0,"inner":{"size":7,"share":0.5},"shown":[],)"
            R"("right":"r","secret":"s"})");
}

TEST(JsonWriting, WritesEveryTypeAndFlattensStructsWithoutAName) {
  EXPECT_EQ(written(full()),
            R"({"name":"a\"b\\c\n\u0001/é😀","text":"t","value":{"k":[1,2.50]},"flag":true,)"
            R"("yes":false,"small":-3,"wide":18446744073709551615,"color":"green",)"
            R"("at":"1970-01-01T00:00:01.000Z","maybe":{"size":1,"share":0.25},)"
            R"("inner":{"size":2,"share":1},"list":[{"size":3,"share":0.1},)"
            R"({"size":4,"share":1e+300}],"map":{"x":1,"y\"":-2},"shown":["a",""],"left":"l",)"
            R"("right":"","secret":"s"})");
}

TEST(JsonWriting, EscapesAtEveryPlaceOfAWord) {
  for (std::size_t place = 0; place < 20; ++place) {
    for (const char c : {'"', '\\', '\n', '\x1f', '\0', '\x7f', '\x20', '!', '[', ']'}) {
      std::string text(20, 'x');
      text[place] = c;
      const auto read = from_json<std::string>(written(text));
      ASSERT_TRUE(read) << written(text);
      EXPECT_EQ(*read, text);
    }
  }
}

TEST(JsonWriting, NumbersThatAreNoNumbersBecomeNull) {
  EXPECT_EQ(written(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(written(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
}

TEST(JsonReading, ReadsBackWhatWasWritten) {
  std::string text = written(full());
  text.erase(text.find(R"(,"secret")"));
  text += "}";
  const auto read = from_json<Outer>(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, full());
}

TEST(JsonReading, AcceptsSpaceAnyOrderAndEscapedKeys) {
  const auto read = from_json<Outer>(
      " {\n\t\"right\" : \"x\" ,\r\"n\\u0061me\":\"\\u00e9\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\", "
      "\"at\":null,"
      "\"list\" : [ ] , \"map\":{ }, \"value\" : { \"a b\" : [ 1.0 , \" \\\" { \" ] } } ");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->beside.right, "x");
  EXPECT_EQ(read->name, "é😀/\b\f\n\r\t");
  EXPECT_EQ(read->value, Json(R"({"a b":[1.0," \" { "]})"));
}

TEST(JsonReading, KeepsRawValuesVerbatimButForWhiteSpace) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"null", "null"},
      {" 1.50 ", "1.50"},
      {"-0.0e+1", "-0.0e+1"},
      {"18446744073709551615", "18446744073709551615"},
      {"[1, 2,\n 3]", "[1,2,3]"},
      {R"({"a" : "x  y\\", "b":[ ]})", R"({"a":"x  y\\","b":[]})"},
      {R"("\u00e9 \" ")", R"("\u00e9 \" ")"},
      {"[true , false,null]", "[true,false,null]"},
  };
  for (const auto& [text, compact] : table) {
    const auto read = compact_json(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->view(), compact);
    EXPECT_EQ(from_json<Json>(text)->view(), compact);
  }
}

TEST(JsonReading, TellsWhereAndWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {R"({"name":3})", "name: expected a string, got 3"},
      {R"({"name":null})", "name: expected a string, got null"},
      {R"({"list":[{"size":1},{"size":"x"}]})", "list[1].size: expected a whole number, got \"x\""},
      {R"({"list":[{"size":1},{}]})", "list[1].size: missing, but required"},
      {R"({"list":{}})", "list: expected an array, got an object"},
      {R"({"inner":[]})", "inner: expected an object, got an array"},
      {R"({"inner":{"size":3.0}})", "inner.size: expected a whole number, got 3.0"},
      {R"({"inner":{"size":3e0}})", "inner.size: expected a whole number, got 3e0"},
      {R"({"inner":{"size":9223372036854775808}})",
       "inner.size: expected a whole number, got 9223372036854775808"},
      {R"({"small":2147483648})", "small: expected a whole number of 32 bits, got 2147483648"},
      {R"({"wide":-1})", "wide: expected a whole number, 0 or more, got -1"},
      {R"({"flag":1})", "flag: expected true or false, got 1"},
      {R"({"color":"blue"})", "color: expected one of \"\", \"red\" or \"green\", got \"blue\""},
      {R"({"color":4})", "color: expected one of \"\", \"red\" or \"green\", got 4"},
      {R"({"at":"noon"})", "at: not a time"},
      {R"({"map":{"a b":1.5}})", "map.\"a b\": expected a whole number, got 1.5"},
      {R"({"map":{"a":1,"a":2}})", "map.a: given twice"},
      {R"({"name":"a","name":"b"})", "name: given twice"},
      {R"({"left":"a","left":"b"})", "left: given twice"},
      {R"({"nam":"a"})", "nam: unknown field; did you mean \"name\"?"},
      {R"({"Right":"a"})", "Right: unknown field; did you mean \"right\"?"},
      {R"({"secret":"a"})", "secret: unknown field; there are \"name\", \"text\""},
      {R"({"list":[{"size":1,"sise":2}]})", "list[0].sise: unknown field; did you mean \"size\"?"},
      {R"({"shown":["a",[]]})", "shown[1]: expected a string, got an array"},
      {R"([])", "expected an object, got an array"},
      {R"("x")", "expected an object, got \"x\""},
  };
  for (const auto& [text, message] : table) EXPECT_THAT(refusal<Outer>(text), HasSubstr(message));
}

TEST(JsonReading, MarksUnknownFields) {
  EXPECT_TRUE(from_json<Outer>(R"({"bogus":1})").error().unknown_field);
  EXPECT_FALSE(from_json<Outer>(R"({"name":1})").error().unknown_field);
}

TEST(JsonReading, ClipsWhatItQuotesBetweenCharacters) {
  std::string text = R"({"small":")";
  for (int i = 0; i < 100; ++i) text += "é";
  const std::string message = refusal<Outer>(text + "\"}");
  EXPECT_TRUE(is_utf8(message));
  EXPECT_LT(message.size(), 120u);
}

TEST(JsonReading, PassesOverUnknownFieldsWhenAsked) {
  const auto read =
      from_json<Outer>(R"({"new":{"a":[1,{}]},"name":"n","other":"\""})", {.skip_unknown = true});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->name, "n");
}

TEST(JsonReading, RefusesWhatIsNotJson) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "empty"},
      {"  ", "empty"},
      {"{", "cut off"},
      {"{} {}", "cut off"},
      {"{\"a\":1,}", "cut off"},
      {"[1 2]", "cut off"},
      {"nul", "misspelt"},
      {"01", "number"},
      {"+1", "cut off"},
      {"NaN", "cut off"},
      {"1e999", "number"},
      {"123456789012345678901234567890", "64 bits"},
      {"\"\\x\"", "escape"},
      {"\"\\ud800\"", "escape"},
      {"\"\\udc00x\"", "escape"},
      {"\"a", "not closed"},
      {"\"a\nb\"", "control character"},
      {"\"\xff\"", "UTF-8"},
      {"\"\xc3\"", "UTF-8"},
      {"\"\xed\xa0\x80\"", "UTF-8"},
      {std::string("{}\0", 3), "cut off"},
      {"\xef\xbb\xbf{}", "cut off"},
  };
  for (const auto& [text, message] : table) {
    EXPECT_THAT(refusal<Json>(text), HasSubstr(message)) << text;
    EXPECT_FALSE(is_json(text)) << text;
    EXPECT_FALSE(compact_json(text)) << text;
  }
}

std::string nested(int levels, std::string_view open, std::string_view close) {
  std::string text;
  for (int i = 0; i < levels; ++i) text += open;
  text += "1";
  for (int i = 0; i < levels; ++i) text += close;
  return text;
}

TEST(JsonReading, ValuesMayBe64LevelsDeepWhereverTheyStand) {
  for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
    EXPECT_TRUE(is_json(nested(kJsonDepth, open, close)));
    EXPECT_FALSE(is_json(nested(kJsonDepth + 1, open, close)));
    EXPECT_FALSE(is_json(nested(100'000, open, close)));
    EXPECT_TRUE(from_json<Outer>("{\"value\":" + nested(kJsonDepth, open, close) + "}"));
    EXPECT_THAT(refusal<Outer>("{\"value\":" + nested(kJsonDepth + 1, open, close) + "}"),
                HasSubstr("value: nested too deeply"));
    EXPECT_THAT(refusal<Outer>("{\"value\":" + nested(100'000, open, close) + "}"),
                HasSubstr("nested too deeply"));
  }
}

TEST(JsonMerging, ChangesOnlyWhatIsNamed) {
  Outer value = full();
  ASSERT_TRUE(read_into(R"({"name":"n","inner":{"share":9},"maybe":{"size":5},"left":null,)"
                        R"("at":null,"yes":null,"value":null,"map":{"z":3},"list":[{"size":1}]})",
                        value));
  Outer expected = full();
  expected.name = "n";
  expected.inner.share = 9;
  expected.maybe->size = 5;
  expected.beside.left.clear();
  expected.at.reset();
  expected.yes = true;
  expected.value = "null";
  expected.map = {{"z", 3}};
  expected.list = {{1, 0.5}};
  EXPECT_EQ(value, expected);
}

TEST(JsonMerging, WhatWasNotThereMustBeWhole) {
  Outer value;
  const auto merged = read_into(R"({"maybe":{"share":1}})", value);
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().message, "maybe.size: missing, but required");
  EXPECT_FALSE(read_into(R"({"list":[{"share":1}]})", value));
  EXPECT_FALSE(read_into(R"({"bogus":null})", value));
}

TEST(JsonWriting, NumbersThatAreTooLargeToBeWholeReadBack) {
  for (const double number : {1e17, 1e18, 18446744073709551616.0, -1e19, 1e20, 1e21, 1e300}) {
    std::string text;
    JsonWriter(text).number(number);
    const auto again = from_json<double>(text);
    ASSERT_TRUE(again) << text;
    EXPECT_EQ(*again, number) << text;
  }
}

TEST(CanonicalJson, IsTheSameForEverySpellingOfAValue) {
  EXPECT_EQ(canonical_json(R"( { "b" : [1, "\u00e9"] , "a" : null } )"),
            R"({"a":null,"b":[1,"é"]})");
  EXPECT_EQ(canonical_json(" 2 "), "2");
  EXPECT_EQ(canonical_json(R"( "\u00e9" )"), R"("é")");
}

TEST(JsonReading, WorksOnManyThreadsAndAfterHugeTexts) {
  const std::string huge = "[\"" + std::string(3 << 20, 'x') + "\"]";
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (const std::string& text :
           {huge, std::string("[1]"), huge, std::string(500'000, ' ') + "1"})
        EXPECT_TRUE(is_json(text));
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace retsu
