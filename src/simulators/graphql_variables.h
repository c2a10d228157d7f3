#pragma once

#include <string_view>

#include "simulators/graphql.h"

namespace retsu::simulators {

inline constexpr std::size_t kGraphqlBoundBytes = 1 << 20;

// Puts the values of the variables, a JSON object, into the arguments of the query, in which no
// value is a variable afterwards. One that is not given and has no standard leaves its argument or
// field of an object out, and is null in a list. Refused: no object, values not of the declared
// type (types that this does not know take anything), null or nothing for a required one, values
// for variables that are not declared, and a query that would be larger than kGraphqlBoundBytes.
// After a refusal the query is half changed.
tl::expected<void, GraphqlError> bind_variables(GraphqlQuery& query, std::string_view json);

}  // namespace retsu::simulators
