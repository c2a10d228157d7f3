// Queries of GraphQL, read strictly: as much of the language as a client needs that asks for data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace retsu::simulators {

struct GraphqlPlace {
  int line = 1;
  int column = 1;  // in characters
};

struct GraphqlError {
  std::string message;  // valid UTF-8
  GraphqlPlace place = {};

  [[nodiscard]] std::string told() const;  // `3:14: what is wrong`
};

struct GraphqlArgument;

struct GraphqlValue {
  enum class Kind : std::uint8_t {
    kNull,
    kBoolean,
    kInteger,
    kNumber,
    kString,
    kEnum,
    kVariable,
    kList,
    kObject
  };
  Kind kind = Kind::kNull;
  std::string text = {};  // of a string, without escapes; of a number or boolean, as it is written
  std::vector<GraphqlValue> list = {};
  std::vector<GraphqlArgument> fields;  // in their order, each name once
  GraphqlPlace place = {};
};

struct GraphqlArgument {
  std::string name;
  GraphqlValue value;
};

struct GraphqlField {
  std::string name;
  std::string key;  // under which it is answered: its alias, or its name
  std::vector<GraphqlArgument> arguments = {};
  std::vector<GraphqlField> selection = {};  // empty: it was asked for as a plain value
  GraphqlPlace place = {};
};

struct GraphqlVariable {
  std::string name;
  std::string type;  // `String`, `[Int!]`, without the last !
  bool required = false;
  std::optional<GraphqlValue> standard = {};  // what it is if it is not given
  GraphqlPlace place = {};
};

struct GraphqlQuery {
  std::string name;
  std::vector<GraphqlVariable> variables;
  std::vector<GraphqlField> selection;
};

struct GraphqlLimits {
  std::size_t bytes = 16 << 10;
  int depth = 32;  // of selections, lists and objects inside each other
};

// One query, with or without the word `query`. Refused, each with its place: what the grammar of
// GraphQL (October 2021) does not allow, names given twice where they must be unique, variables
// that are not declared, what is over the limits, and what this parser does not know: mutations,
// subscriptions, several operations, fragments, directives, block strings, and fields that would be
// answered under the same key.
// Pure: any thread, no exception but for memory running out.
tl::expected<GraphqlQuery, GraphqlError> parse_graphql(std::string_view text,
                                                       GraphqlLimits limits = {});

}  // namespace retsu::simulators
