// Operations as HTTP requests: which part of a command stands in the path, which in the query and
// which in the body. The server reads what the remote broker writes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_struct.h"
#include "model/operations.h"

namespace retsu {

struct HttpForm {
  std::string_view method;
  std::string target;  // path and query
  std::string body;    // empty: none
};

HttpForm to_http(const Command& command);
// Of the JSON object of all fields, for any table of operations.
HttpForm json_to_http(const Operation& operation, const std::string& json);

// The fields of the path, by the names in the row's braces, decoded.
using PathFields = std::vector<std::pair<std::string_view, std::string>>;

// Plain fields may stand in the query instead of the body (`?partial=true`); those of a filter
// stand there beside the others. Refused as command_from_json does: a name that the operation does
// not have is `unknown_field`, one that is given in two places `invalid`.
Result<Command> command_from_http(const Operation& operation, const PathFields& path,
                                  std::string_view query, std::string_view body);

// Likewise for any table of operations: the JSON object of all fields, whose names and types are in
// `table`, still to be read. A field `patch` is the whole body.
Result<std::string> json_from_http(const Operation& operation, const json_detail::Table& table,
                                   const PathFields& path, std::string_view query,
                                   std::string_view body);

// The names in the braces of a path, in their order.
std::vector<std::string_view> path_names(std::string_view path);

}  // namespace retsu
