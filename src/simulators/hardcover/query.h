// What is asked in a request, and the answer of the catalogue.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/fields.h"
#include "simulators/graphql.h"

namespace retsu::simulators::hardcover {

// What a field of a query looks for.
struct Asked {
  std::optional<std::string> isbn13 = {};
  std::optional<std::string> title = {};
  std::optional<std::string> author = {};

  bool operator==(const Asked&) const = default;
};
constexpr auto fields_of(std::type_identity<Asked>) {
  return List{Field{"isbn13", &Asked::isbn13}, Field{"title", &Asked::title},
              Field{"author", &Asked::author}};
}

// A fault of GraphQL, which is answered with status 200.
struct QueryFault {
  std::string message;
  std::string path = "$";  // `$.selectionSet.editions`
  std::string code = "validation-failed";

  [[nodiscard]] std::string body() const;
};

// The query of a body {"query":…,"variables":…}, with the values of its variables.
tl::expected<GraphqlQuery, QueryFault> read_query(std::string_view body);

// A query that can be answered: editions, selected by an ISBN or by title and author.
class Plan {
 public:
  // Refused: fields, arguments, conditions and operators that the catalogue does not know or has
  // disabled.
  static tl::expected<Plan, QueryFault> make(GraphqlQuery query);

  [[nodiscard]] std::vector<Asked> asked() const;  // for each field of the query
  // {"data":…} with exactly the selected fields.
  enum class Finding : bool { kNothing, kAll };
  [[nodiscard]] std::string answer(Finding finding) const;

 private:
  struct Search {
    Asked asked = {};
    bool without_format = false;  // of which there are none
    std::int64_t limit = 0;
  };
  Plan() = default;

  GraphqlQuery query_;
  std::vector<Search> searches_;  // one a field

  friend class Planner;
};

}  // namespace retsu::simulators::hardcover
