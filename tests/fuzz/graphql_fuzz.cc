// A query that is accepted stays inside its limits, has no variable left once they are bound, and
// is answered with JSON. The first line is the variables, the rest the query.
#include "base/check.h"
#include "base/json.h"
#include "input.h"
#include "simulators/graphql.h"
#include "simulators/graphql_variables.h"
#include "simulators/hardcover/query.h"

namespace retsu::simulators {
namespace {

constexpr GraphqlLimits kLimits = {};

void check_value(const GraphqlValue& value, bool may_vary, int depth) {
  using Kind = GraphqlValue::Kind;
  RETSU_CHECK(may_vary || value.kind != Kind::kVariable);
  RETSU_CHECK(is_utf8(value.text));
  RETSU_CHECK(value.list.empty() || value.kind == Kind::kList);
  RETSU_CHECK(value.fields.empty() || value.kind == Kind::kObject);
  RETSU_CHECK(!may_vary || depth <= kLimits.depth + 1);
  for (const GraphqlValue& element : value.list) check_value(element, may_vary, depth + 1);
  for (const GraphqlArgument& field : value.fields) check_value(field.value, may_vary, depth + 1);
}

void check_fields(const std::vector<GraphqlField>& fields, bool may_vary, int depth) {
  RETSU_CHECK(depth <= kLimits.depth + 1);
  for (const GraphqlField& field : fields) {
    RETSU_CHECK(!field.name.empty() && !field.key.empty());
    RETSU_CHECK(field.place.line >= 1 && field.place.column >= 1);
    for (const GraphqlArgument& argument : field.arguments) {
      check_value(argument.value, may_vary, depth + 1);
    }
    check_fields(field.selection, may_vary, depth + 1);
  }
}

}  // namespace
}  // namespace retsu::simulators

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retsu;              // NOLINT
  using namespace retsu::simulators;  // NOLINT
  fuzz::Input in(data, size);
  const std::string_view variables = in.line();
  auto query = parse_graphql(in.rest());
  if (!query) {
    RETSU_CHECK(is_utf8(query.error().told()));
    return 0;
  }
  check_fields(query->selection, true, 1);
  if (auto bound = bind_variables(*query, variables); !bound) {
    RETSU_CHECK(is_utf8(bound.error().told()));
    return 0;
  }
  check_fields(query->selection, false, 1);
  const auto plan = hardcover::Plan::make(*std::move(query));
  RETSU_CHECK(plan ? is_json(plan->answer(hardcover::Plan::Finding::kAll))
                   : is_json(plan.error().body()));
  return 0;
}
