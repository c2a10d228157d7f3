#include "retsu/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "api/refusal.h"

namespace retsu_api {
namespace {

std::string nested(int depth) {
  const auto count = static_cast<std::size_t>(depth);
  return std::string(count, '[') + std::string(count, ']');
}

TEST(PublicJson, IsWrittenAsItIsBuilt) {
  EXPECT_EQ(Json().text(), "null");
  EXPECT_EQ(Json(nullptr).text(), "null");
  EXPECT_EQ(Json(true).text(), "true");
  EXPECT_EQ(Json(-7).text(), "-7");
  EXPECT_EQ(Json(2.5).text(), "2.5");
  EXPECT_EQ(Json("text").text(), R"("text")");
  EXPECT_EQ(Json(std::string("text")).text(), R"("text")");
  EXPECT_EQ(Json(std::string_view("text")).text(), R"("text")");
  EXPECT_EQ(Json(Json::Array{1, "two", nullptr}).text(), R"([1,"two",null])");
  EXPECT_EQ(Json(Json::Object{{"b", 1}, {"a", 2}}).text(), R"({"a":2,"b":1})");
}

TEST(PublicJson, InBracesIsAnObjectOfPairsOrElseAnArray) {
  const Json mail = {{"to", "bob"}, {"n", 1}, {"cc", {"ann", "cid"}}, {"from", {{"name", "eve"}}}};
  EXPECT_EQ(mail.text(), R"({"cc":["ann","cid"],"from":{"name":"eve"},"n":1,"to":"bob"})");
  const Json list = {1, true, nullptr, "x", 2.5, {1, 2}};
  EXPECT_EQ(list.text(), R"([1,true,null,"x",2.5,[1,2]])");
  const Json one_pair = {{"to", "bob"}};
  EXPECT_EQ(one_pair.text(), R"({"to":"bob"})");
  const Json two_strings = {"to", "bob"};
  EXPECT_EQ(two_strings.text(), R"(["to","bob"])");
  const Json twice = {{"a", 1}, {"a", 2}};
  EXPECT_EQ(twice.text(), R"({"a":2})");
}

TEST(PublicJson, TheNamedMakersSayWhichItIs) {
  EXPECT_EQ(Json::array().text(), "[]");
  EXPECT_EQ(Json::object().text(), "{}");
  EXPECT_EQ(Json::array({{"a", 1}, {"b", 2}}).text(), R"([["a",1],["b",2]])");
  EXPECT_EQ(Json::array({Json(1)}).text(), "[1]");
  EXPECT_EQ(Json::object({{"a", 1}}).text(), R"({"a":1})");
}

TEST(PublicJson, KeepsAll64BitsOfWholeNumbers) {
  const auto lowest = std::numeric_limits<std::int64_t>::min();
  const auto highest = std::numeric_limits<std::int64_t>::max();
  const auto largest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(Json(lowest).text(), "-9223372036854775808");
  EXPECT_EQ(Json(largest).text(), "18446744073709551615");
  EXPECT_EQ(Json::parse("-9223372036854775808").as_int(), lowest);
  EXPECT_EQ(Json::parse("9223372036854775807").as_int(), highest);
  EXPECT_EQ(Json::parse("18446744073709551615").as_uint(), largest);
  EXPECT_EQ(Json(std::uint64_t{7}), Json(7));
  EXPECT_EQ(Json(7).as_uint(), 7u);
  EXPECT_EQ(refusal([&] { return Json(largest).as_int(); }),
            "invalid: expected a whole number of 64 bits, got 18446744073709551615");
  EXPECT_EQ(refusal([] { return Json(-1).as_uint(); }),
            "invalid: expected a whole number, 0 or more, got -1");
}

TEST(PublicJson, AFractionStaysOne) {
  for (const double value : {1.0, -0.0, 0.1, 1e300, -2.5e-7, 123456789.0}) {
    const Json read = Json::parse(Json(value).text());
    EXPECT_EQ(read.kind(), Json::Kind::kDouble) << value;
    EXPECT_EQ(read.as_double(), value);
  }
  EXPECT_EQ(Json(1.0).text(), "1.0");
  EXPECT_EQ(Json(1.0), Json(1));
  EXPECT_EQ(Json(3).as_double(), 3.0);
  EXPECT_THAT(refusal([] { return Json(std::nan("")); }),
              testing::StartsWith("invalid: JSON has no"));
  EXPECT_THAT(refusal([] { return Json(HUGE_VAL); }), testing::StartsWith("invalid: JSON has no"));
}

TEST(PublicJson, StringsComeBackWhateverIsInThem) {
  const std::string hard = std::string("\"\\/\b\f\n\r\t\x01\x1f") + '\0' + "列 é 🎉";
  EXPECT_EQ(Json::parse(Json(hard).text()).as_string(), hard);
  EXPECT_EQ(Json("\"\n\x01").text(), R"("\"\n\u0001")");
  EXPECT_EQ(Json::parse(R"("\u5217 \ud83c\udf89 \/")").as_string(), "列 🎉 /");
  const Json object = {{hard, 1}};
  EXPECT_EQ(Json::parse(object.text()), object);
}

TEST(PublicJson, ParsesWhatItWrote) {
  const Json value = {{"a", {1, 2.5, nullptr, true, "x"}},
                      {"b", Json::object()},
                      {"c", Json::array()},
                      {"d", {{"e", {{"f", Json::array({Json::object()})}}}}}};
  EXPECT_EQ(Json::parse(value.text()), value);
  EXPECT_EQ(Json::parse(" { \"a\" : [ 1 , 2 ] } "), Json::parse(R"({"a":[1,2]})"));
  EXPECT_EQ(Json::parse(R"({"a":1,"a":2})").at("a").as_int(), 2);
}

TEST(PublicJson, RefusesWhatIsNotJson) {
  for (const char* text :
       {"",         " ",       "{",           "[1,]",     "{\"a\"}", "{a:1}",
        "'a'",      "nul",     "01",          "1.",       "+1",      "[1] 2",
        "\"\x01\"", "\"\\x\"", "\"\\ud800\"", "\"\xff\"", "1e999",   "18446744073709551616",
        "NaN",      "\"open"}) {
    EXPECT_THAT(refusal([&] { Json::parse(text); }), testing::StartsWith("invalid: not valid JSON"))
        << text;
  }
}

TEST(PublicJson, MayBeNestedDeeplyButNotEndlessly) {
  EXPECT_EQ(Json::parse(nested(80)).text(), nested(80));
  EXPECT_THAT(refusal([] { Json::parse(nested(100'000)); }), testing::StartsWith("invalid: "));
  Json built;
  for (int i = 0; i < 1'000; ++i) built = Json::array({std::move(built)});
  EXPECT_EQ(built.text().size(), 2 * 1'000 + 4u);
}

TEST(PublicJson, ALookupThatMayMissGivesNull) {
  const Json value = {{"a", {{"b", 1}}}};
  EXPECT_EQ(value["a"]["b"], 1);
  EXPECT_TRUE(value["x"].is_null());
  EXPECT_TRUE(value["x"]["y"].is_null());
  EXPECT_TRUE(value.contains("a"));
  EXPECT_FALSE(value.contains("x"));
  EXPECT_FALSE(Json(1).contains("x"));
  EXPECT_EQ(refusal([&] { return value["a"]["b"]["c"]; }), "invalid: expected an object, got 1");
}

TEST(PublicJson, ALookupThatMustNotMissSaysWhatIsMissing) {
  const Json value = {{"list", {1, 2}}};
  EXPECT_EQ(value.at("list").at(1), 2);
  EXPECT_EQ(value["list"][0], 1);
  EXPECT_EQ(refusal([&] { return value.at("x"); }), "not_found: there is no member \"x\"");
  EXPECT_EQ(refusal([&] { return value["list"].at(2); }),
            "not_found: there is no element 2: the array has 2");
  EXPECT_EQ(refusal([&] { return value.at(std::size_t{0}); }),
            "invalid: expected an array, got an object");
}

TEST(PublicJson, AValueOfTheWrongKindIsNamed) {
  EXPECT_EQ(refusal([] { return Json("12").as_int(); }),
            "invalid: expected a whole number of 64 bits, got \"12\"");
  EXPECT_EQ(refusal([] { return Json(1.5).as_int(); }),
            "invalid: expected a whole number of 64 bits, got 1.5");
  EXPECT_EQ(refusal([] { return Json().as_string(); }), "invalid: expected a string, got null");
  EXPECT_EQ(refusal([] { return Json({1}).as_object(); }),
            "invalid: expected an object, got an array");
  EXPECT_EQ(refusal([] { return Json(0).as_bool(); }), "invalid: expected true or false, got 0");
  EXPECT_EQ(refusal([] { return Json(true).as_double(); }), "invalid: expected a number, got true");
  EXPECT_EQ(refusal([] { return Json(1).as_array(); }), "invalid: expected an array, got 1");
  std::string many;
  for (int i = 0; i < 100; ++i) many += "列";
  const std::string message = refusal([&] { return Json(many).as_bool(); });
  EXPECT_LT(message.size(), 100u);
  EXPECT_NO_THROW(Json::parse(Json(message).text())) << "cut inside a character";
}

TEST(PublicJson, CanBeFilledInPieceByPiece) {
  Json value;
  value["a"]["b"] = 1;
  value["list"].push_back(1);
  value["list"].push_back({{"x", "y"}});
  value["list"][0] = "first";
  EXPECT_EQ(value.text(), R"({"a":{"b":1},"list":["first",{"x":"y"}]})");
  EXPECT_EQ(value.size(), 2u);
  EXPECT_EQ(Json("abc").size(), 0u);
  EXPECT_THAT(refusal([&] { value.push_back(1); }), testing::StartsWith("invalid: "));
  EXPECT_THAT(refusal([&] { value["list"]["x"] = 1; }), testing::StartsWith("invalid: "));
  std::ostringstream out;
  out << value["a"];
  EXPECT_EQ(out.str(), R"({"b":1})");
}

TEST(PublicError, TellsCodeMessageDetailsAndWhenToComeAgain) {
  const Error error("overloaded", "too much", {{"limit", 5}}, std::chrono::seconds(2));
  EXPECT_EQ(error.code(), "overloaded");
  EXPECT_EQ(error.message(), "too much");
  EXPECT_STREQ(error.what(), "overloaded: too much");
  EXPECT_EQ(error.details().at("limit"), 5);
  EXPECT_EQ(error.retry_after(), std::chrono::seconds(2));
  const Error copy = error;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.code(), "overloaded");
  EXPECT_TRUE(Error("invalid", "x").details().is_object());
  EXPECT_FALSE(Error("invalid", "x").retry_after());
}

}  // namespace
}  // namespace retsu_api
