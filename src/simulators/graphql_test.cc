#include "simulators/graphql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulators/graphql_variables.h"

namespace retsu::simulators {
namespace {

using Kind = GraphqlValue::Kind;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

GraphqlQuery parsed(std::string_view text) {
  auto query = parse_graphql(text);
  EXPECT_TRUE(query) << text << "\n" << query.error().told();
  return query.value_or(GraphqlQuery());
}

std::string refusal(std::string_view text, GraphqlLimits limits = {}) {
  const auto query = parse_graphql(text, limits);
  return query ? "accepted" : query.error().told();
}

// Of the only field with the only argument, after the variables were put in.
tl::expected<std::vector<GraphqlArgument>, GraphqlError> bound(std::string_view text,
                                                               std::string_view variables) {
  GraphqlQuery query = parsed(text);
  if (auto done = bind_variables(query, variables); !done) return tl::unexpected(done.error());
  return query.selection.at(0).arguments;
}

std::string binding_refusal(std::string_view text, std::string_view variables) {
  const auto arguments = bound(text, variables);
  return arguments ? "accepted" : arguments.error().told();
}

TEST(Graphql, AQueryHasANameVariablesAliasesArgumentsAndSelections) {
  const GraphqlQuery query = parsed(R"(
    # what is asked for
    query Find($isbn: String!, $most: [Int!] = [1, 2]) {
      first: editions(where: {isbn_13: {_eq: $isbn}}, limit: 1) { id book { title } }
      editions { id },
    })");
  EXPECT_EQ(query.name, "Find");
  ASSERT_THAT(query.variables, SizeIs(2));
  EXPECT_EQ(query.variables[0].type, "String");
  EXPECT_TRUE(query.variables[0].required);
  EXPECT_EQ(query.variables[1].type, "[Int!]");
  EXPECT_FALSE(query.variables[1].required);
  EXPECT_THAT(query.variables[1].standard.value().list, SizeIs(2));
  ASSERT_THAT(query.selection, SizeIs(2));
  const GraphqlField& first = query.selection[0];
  EXPECT_EQ(first.key, "first");
  EXPECT_EQ(first.name, "editions");
  EXPECT_EQ(first.place.line, 4);
  EXPECT_EQ(first.place.column, 7);
  ASSERT_THAT(first.arguments, SizeIs(2));
  const GraphqlValue& equal = first.arguments[0].value.fields.at(0).value.fields.at(0).value;
  EXPECT_EQ(equal.kind, Kind::kVariable);
  EXPECT_EQ(equal.text, "isbn");
  EXPECT_EQ(first.selection.at(1).selection.at(0).name, "title");
  EXPECT_EQ(query.selection[1].key, "editions");
}

TEST(Graphql, EveryKindOfValueIsRead) {
  const GraphqlQuery query = parsed(
      R"({f(a: null b: true c: -12 d: 1.5e-3 e: "x\"\u5217\ud83d\ude00\n/" f: DESC g: [[], 1] h: {})})");
  const auto& all = query.selection.at(0).arguments;
  ASSERT_THAT(all, SizeIs(8));
  const Kind kinds[] = {Kind::kNull,   Kind::kBoolean, Kind::kInteger, Kind::kNumber,
                        Kind::kString, Kind::kEnum,    Kind::kList,    Kind::kObject};
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].value.kind, kinds[i]) << i;
  EXPECT_EQ(all[2].value.text, "-12");
  EXPECT_EQ(all[3].value.text, "1.5e-3");
  EXPECT_EQ(all[4].value.text, "x\"列😀\n/");
  EXPECT_EQ(all[5].value.text, "DESC");
  EXPECT_THAT(all[6].value.list, SizeIs(2));
  EXPECT_THAT(all[7].value.fields, IsEmpty());
}

TEST(Graphql, WhatIsNotKnownHereIsRefusedByItsName) {
  EXPECT_THAT(refusal("mutation { f }"), HasSubstr("1:1: only queries"));
  EXPECT_THAT(refusal("subscription { f }"), HasSubstr("1:1: only queries"));
  EXPECT_THAT(refusal("fragment F on T { f }"), HasSubstr("1:1: fragments"));
  EXPECT_THAT(refusal("{ f }\nfragment F on T { f }"), HasSubstr("2:1: fragments"));
  EXPECT_THAT(refusal("{ ...F }"), HasSubstr("1:3: fragments"));
  EXPECT_THAT(refusal("{ f @skip(if: true) }"), HasSubstr("1:5: directives"));
  EXPECT_THAT(refusal(R"({ f(a: """x""") })"), HasSubstr("1:8: block strings"));
  EXPECT_THAT(refusal("{ f } { g }"), HasSubstr("1:7: there is more"));
}

TEST(Graphql, AnErrorTellsItsLineAndColumn) {
  EXPECT_EQ(refusal(""), "1:1: expected a query, not the end");
  EXPECT_EQ(refusal("{\r\n  列"), "2:3: a character that has no meaning here");
  EXPECT_EQ(refusal("{ a(b: \"列\" c: ) }"), "1:15: expected a value, not \")\"");
  EXPECT_EQ(refusal("{\n a {\r b }"), "3:5: expected a field, not the end");
  EXPECT_EQ(refusal("{ a: }"), "1:6: expected the name of a field, not \"}\"");
  EXPECT_EQ(refusal("{ }"), "1:3: expected a field, not \"}\"");
  EXPECT_EQ(refusal("{ a() }"), "1:5: expected a name, not \")\"");
  EXPECT_EQ(refusal("{ a {} }"), "1:6: expected a field, not \"}\"");
  EXPECT_EQ(refusal("query ($a String) { f }"), "1:11: expected \":\", not \"String\"");
}

TEST(Graphql, BadNumbersAndStringsAreRefused) {
  for (const char* value :
       {"01",      "-",         "1.",          "1.e3",        "1e",
        "1e+",     "1x",        "1.2.3",       "\"a",         "\"a\nb\"",
        "\"\\q\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"",
        "\"\\",    "\"\x01\"",  "$",           "$x",          "%",
        "[1",      "{a:1",      "{a:1 a:2}",   "{1:1}"}) {
    EXPECT_NE(refusal("{ f(a: " + std::string(value) + ") }"), "accepted") << value;
  }
  EXPECT_THAT(refusal("{ f(a: \"\xff\") }"), HasSubstr("not UTF-8"));
}

TEST(Graphql, NamesThatMustBeUniqueAreRefusedTheSecondTime) {
  EXPECT_EQ(refusal("{ f(a: 1, a: 2) }"), "1:11: a is given twice");
  EXPECT_EQ(refusal("query ($a: Int, $a: Int) { f }"), "1:18: a is given twice");
  EXPECT_EQ(refusal("{ f g: f f }"), "1:10: f is asked for twice");
  EXPECT_EQ(refusal("{ f(a: $b) }"), "1:8: the variable $b is not declared");
  EXPECT_EQ(refusal("query ($a: Int, $b: Int = $a) { f }"), "1:27: a variable cannot stand here");
}

TEST(Graphql, DepthAndSizeAreLimited) {
  const auto nested = [](int depth, std::string_view open, std::string_view close) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += open;
    text += open == "[" ? "1" : "a";
    for (int i = 0; i < depth; ++i) text += close;
    return text;
  };
  EXPECT_EQ(refusal(nested(32, "{a", "}")), "accepted");
  EXPECT_THAT(refusal(nested(33, "{a", "}")), HasSubstr("deeper than 32 levels"));
  EXPECT_EQ(refusal("{f(a:" + nested(31, "[", "]") + ")}"), "accepted");
  EXPECT_THAT(refusal("{f(a:" + nested(32, "[", "]") + ")}"), HasSubstr("deeper than 32"));
  EXPECT_THAT(refusal("query($a:" + nested(100, "[", "]") + "){f}"), HasSubstr("deeper than 32"));
  EXPECT_EQ(refusal("{ a }", {.bytes = 5}), "accepted");
  EXPECT_THAT(refusal("{ a }", {.bytes = 4}), HasSubstr("larger than 4 bytes"));
}

TEST(GraphqlVariables, ValuesStandWhereTheirVariablesStood) {
  const auto arguments =
      bound("query($a: String!, $b: Thing, $c: Int = 7) { f(x: $a, y: {z: [$b, $c]}) }",
            R"({"a":"列","b":{"k":[true,null,1.5]}})");
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->at(0).value.kind, Kind::kString);
  EXPECT_EQ(arguments->at(0).value.text, "列");
  const GraphqlValue& list = arguments->at(1).value.fields.at(0).value;
  EXPECT_EQ(list.list.at(0).fields.at(0).value.list.at(2).text, "1.5");
  EXPECT_EQ(list.list.at(1).text, "7");
}

TEST(GraphqlVariables, OneThatIsNotGivenLeavesItsArgumentOut) {
  const auto arguments = bound("query($a: String) { f(x: $a, y: [$a], z: 1) }", "{}");
  ASSERT_TRUE(arguments);
  ASSERT_THAT(*arguments, SizeIs(2));
  EXPECT_EQ(arguments->at(0).name, "y");
  EXPECT_EQ(arguments->at(0).value.list.at(0).kind, Kind::kNull);
}

TEST(GraphqlVariables, WrongTypesAndUnknownNamesAreRefused) {
  constexpr const char* kQuery = "query($a: String!, $b: [Int!]) { f(x: $a, y: $b) }";
  EXPECT_EQ(binding_refusal(kQuery, "{}"), "1:7: $a must be given");
  EXPECT_EQ(binding_refusal(kQuery, R"({"a":null})"), "1:7: $a is not of type String!");
  EXPECT_EQ(binding_refusal(kQuery, R"({"a":1})"), "1:7: $a is not of type String!");
  EXPECT_EQ(binding_refusal(kQuery, R"({"a":"","b":[1,null]})"), "1:20: $b is not of type [Int!]");
  EXPECT_EQ(binding_refusal(kQuery, R"({"a":"","b":null})"), "accepted");
  EXPECT_THAT(binding_refusal(kQuery, R"({"a":"","c":1})"), HasSubstr("$c is not declared"));
  EXPECT_THAT(binding_refusal(kQuery, "[]"), HasSubstr("variables: "));
  EXPECT_THAT(binding_refusal("query($a: Int = \"x\") { f(x: $a) }", "{}"), HasSubstr("type Int"));
}

TEST(GraphqlVariables, AValueThatIsUsedManyTimesCannotGrowWithoutEnd) {
  std::string query = "query($a: String) { f(x: [";
  for (int i = 0; i < 1'000; ++i) query += "$a ";
  query += "]) }";
  const std::string variables = R"({"a":")" + std::string(2'000, 'x') + "\"}";
  EXPECT_THAT(binding_refusal(query, variables), HasSubstr("too large"));
  EXPECT_EQ(binding_refusal(query, R"({"a":"x"})"), "accepted");
}

}  // namespace
}  // namespace retsu::simulators
