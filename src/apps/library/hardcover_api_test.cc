#include "apps/library/hardcover_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"

namespace retsu::library {
namespace {

using testing::HasSubstr;

std::string written(const auto& value) {
  std::string out;
  append_json(out, value);
  return out;
}

// `code message` of the error, the JSON of what was found, or "nothing".
std::string outcome(std::string_view body) {
  const auto found = read_found(body);
  if (found) return *found ? written(**found) : "nothing";
  return std::string(row_of(found.error().code).name) + " " + found.error().message;
}

std::string edition(std::string_view text) {
  return R"({"data":{"editions":[)" + std::string(text) + "]}}";
}

constexpr std::string_view kTwoAuthors =
    R"({"id":7,"isbn_13":"9784873113944","book":{"id":3,"title":"列","slug":"retsu",)"
    R"("contributions":[{"author":{"id":1,"name":"Ada","slug":"ada"}},)"
    R"({"author":{"id":2,"name":"Bea","slug":"bea"}},{"author":{"id":1,"name":"Ada"}}]}})";
const Found kFound{7, 3, "retsu", "列", {{1, "Ada", "ada"}, {2, "Bea", "bea"}}};

struct Request {
  std::string query;
  std::map<std::string, std::string> variables;
};
constexpr auto fields_of(std::type_identity<Request>) {
  return List{Field{"query", &Request::query, kRequired},
              Field{"variables", &Request::variables, kRequired}};
}
Request request(const LookupQuery& query) {
  auto read = from_json<Request>(request_body(query));
  EXPECT_TRUE(read) << read.error().message;
  return read.value_or(Request{});
}

TEST(HardcoverRequest, AsksByIsbnIfThereIsOne) {
  const Request asked = request({"9784873113944", "t", "a"});
  EXPECT_EQ(asked.query,
            "query Lookup($isbn: String!) { editions(where: {isbn_13: {_eq: $isbn}}, limit: 5) "
            "{ id isbn_13 book { id title slug contributions { author { id name slug } } } } }");
  EXPECT_EQ(asked.variables, (std::map<std::string, std::string>{{"isbn", "9784873113944"}}));
}

TEST(HardcoverRequest, AsksByTitleAndAuthorOtherwise) {
  const Request asked = request({"", "Title", "Author"});
  EXPECT_EQ(asked.query,
            "query Lookup($title: String!, $name: String!) { editions(where: {title: {_eq: "
            "$title}, edition_format: {_is_null: false}, contributions: {author: {name: {_eq: "
            "$name}}}}, limit: 5) "
            "{ id isbn_13 book { id title slug contributions { author { id name slug } } } } }");
  EXPECT_EQ(asked.variables,
            (std::map<std::string, std::string>{{"title", "Title"}, {"name", "Author"}}));
}

TEST(HardcoverRequest, KeepsValuesOutOfTheQuery) {
  const std::string evil = "\"}}) { id } } mutation { x } #\n{}$isbn \\ 列";
  const Request asked = request({"", evil, evil});
  EXPECT_EQ(asked.query, request({"", "", ""}).query);
  EXPECT_EQ(asked.variables.at("title"), evil);
  EXPECT_EQ(asked.variables.at("name"), evil);
  EXPECT_EQ(request({evil, "", ""}).query, request({"1", "", ""}).query);
}

TEST(HardcoverAnswer, GivesTheBookAndEachOfItsAuthorsOnce) {
  EXPECT_EQ(outcome(edition(kTwoAuthors)), written(kFound));
}

TEST(HardcoverAnswer, GivesTheFirstEditionThatHasABook) {
  for (const char* useless :
       {"null", "{}", R"({"id":1})", R"({"id":1,"book":null})", R"({"id":1,"book":{"id":0}})",
        R"({"id":0,"book":{"id":1}})", R"({"id":-4,"book":{"id":1}})",
        R"({"id":1,"book":{"id":null,"title":"x"}})", R"({"id":null,"book":{"id":1}})"}) {
    EXPECT_EQ(outcome(edition(useless)), "nothing") << useless;
    EXPECT_EQ(outcome(edition(useless + ("," + std::string(kTwoAuthors)))), written(kFound))
        << useless;
  }
}

TEST(HardcoverAnswer, MayLeaveOutWhatIsNotNeeded) {
  EXPECT_EQ(outcome(edition(R"({"id":7,"book":{"id":3,"title":null,"new":[{}]},"x":1})")),
            written(Found{7, 3, "", "", {}}));
  EXPECT_EQ(outcome(edition(R"({"id":7,"book":{"id":3,"contributions":null}})")),
            written(Found{7, 3, "", "", {}}));
  EXPECT_EQ(outcome(edition(
                R"({"id":7,"book":{"id":3,"contributions":[null,{},{"author":null},{"author":{}},)"
                R"({"author":{"id":0,"name":"a"}},{"author":{"id":5,"name":""}},)"
                R"({"author":{"id":6,"name":"Cyd","slug":null}}]}})")),
            written(Found{7, 3, "", "", {{6, "Cyd", ""}}}));
}

TEST(HardcoverAnswer, MayBeThatNothingWasFound) {
  EXPECT_EQ(outcome(R"({"data":{"editions":[]}})"), "nothing");
  EXPECT_EQ(outcome(R"({"data":{"editions":[]},"errors":[]})"), "nothing");
}

TEST(HardcoverAnswer, MayBeErrors) {
  EXPECT_EQ(outcome(R"({"errors":[{"message":"a","extensions":{"code":"unexpected","path":"$"}},)"
                    R"({"message":"b"}],"data":null})"),
            "unavailable Hardcover says: a; b");
  EXPECT_EQ(outcome(R"({"errors":[{"message":"field 'x' not found in type: 'editions'",)"
                    R"("extensions":{"code":"validation-failed"}},{"message":"b"}]})"),
            "invalid Hardcover says: field 'x' not found in type: 'editions'; b");
  EXPECT_EQ(outcome(R"({"errors":[null,{}]})"),
            "unavailable Hardcover says: an error without a message");
  EXPECT_EQ(outcome(R"({"errors":[null]})"),
            "unavailable Hardcover says: an error without a message");
  EXPECT_EQ(outcome(R"({"error":"invalid_token","error_description":"expired"})"),
            "unauthorized Hardcover says: invalid_token: expired");
  EXPECT_EQ(outcome(R"({"error":"Too Many Requests","message":"Slow down"})"),
            "overloaded Hardcover says: Too Many Requests: Slow down");
  EXPECT_EQ(outcome(R"({"error":"Throttled"})"), "overloaded Hardcover says: Throttled");
}

TEST(HardcoverAnswer, WithErrorsIsNoAnswerEvenWithData) {
  EXPECT_EQ(outcome(R"({"errors":[{"message":"a"}],)" + edition(kTwoAuthors).substr(1)),
            "unavailable Hardcover says: a");
}

TEST(HardcoverAnswer, IsNotQuotedWithoutEnd) {
  std::string many = "x";  // so that a character lies across the limit
  for (int i = 0; i < 1000; ++i) many += "é";
  const std::string message = outcome(R"({"error":")" + many + "\"}");
  EXPECT_LT(message.size(), 600u);
  EXPECT_TRUE(is_utf8(message));
}

TEST(HardcoverAnswer, OfAnotherShapeIsRefusedWithTheReason) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "unavailable Hardcover's answer is not valid JSON: it is empty"},
      {"<html>", "unavailable Hardcover's answer is not valid JSON"},
      {R"({"data":{"editions":[)", "unavailable Hardcover's answer is not valid JSON"},
      {"[]", "invalid Hardcover's answer has another shape: expected an object, got an array"},
      {"{}", "neither data nor errors"},
      {R"({"data":null})", "neither data nor errors"},
      {R"({"data":{}})", "data.editions: missing, but required"},
      {R"({"data":{"editions":null}})", "data.editions: expected an array, got null"},
      {edition(R"({"id":"7","book":{"id":3}})"), "data.editions[0].id: expected a whole number"},
      {edition(R"({"id":7,"book":{"id":3.5}})"), "data.editions[0].book.id: expected a whole"},
      {edition(R"({"id":7,"book":{"id":99999999999999999}})"), R"("bookId":99999999999999999)"},
      {edition(R"({"id":7,"book":{"id":9999999999999999999}})"), "book.id: expected a whole"},
      {edition(R"({"id":7,"book":[]})"), "data.editions[0].book: expected an object"},
  };
  for (const auto& [body, message] : table) EXPECT_THAT(outcome(body), HasSubstr(message)) << body;
}

TEST(HardcoverFound, IsWrittenWithTheNamesOfTheLibrary) {
  EXPECT_EQ(written(kFound),
            R"({"editionId":7,"bookId":3,"bookSlug":"retsu","title":"列","authors":[)"
            R"({"id":1,"name":"Ada","slug":"ada"},{"id":2,"name":"Bea","slug":"bea"}]})");
  EXPECT_EQ(from_json<Found>(written(kFound)).value_or(Found{}), kFound);
  const LookupQuery query{"9784873113944", "t", "a"};
  EXPECT_EQ(from_json<LookupQuery>(written(query)).value_or(LookupQuery{}), query);
}

}  // namespace
}  // namespace retsu::library
