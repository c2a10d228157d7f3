#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/json_writer.h"
#include "simulators/graphql.h"
#include "simulators/hardcover/catalogue.h"

namespace retsu::simulators::hardcover {

struct SelectionFault {
  std::string message;
  std::string path;  // `$.selectionSet.editions.selectionSet.book`
};

// Fields that are not in the schema, objects without a selection of their own, plain values with
// one, and arguments inside an edition are refused.
tl::expected<void, SelectionFault> check_selection(const std::vector<GraphqlField>& query);

// An object with these fields, which were checked, under their keys.
void write_selected(JsonWriter& to, const Edition& edition,
                    const std::vector<GraphqlField>& selection);

}  // namespace retsu::simulators::hardcover
