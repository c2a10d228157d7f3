#include "simulators/hardcover/query.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "simulators/graphql_variables.h"
#include "simulators/hardcover/catalogue.h"
#include "simulators/hardcover/selection.h"

namespace retsu::simulators::hardcover {
namespace {

using Kind = GraphqlValue::Kind;

struct Body {
  std::string query;
  Json variables;
};
constexpr auto fields_of(std::type_identity<Body>) {
  return List{Field{"query", &Body::query, kRequired}, Field{"variables", &Body::variables}};
}

constexpr std::string_view kDisabled[] = {"_like",    "_nlike",   "_ilike",  "_nilike",
                                          "_regex",   "_nregex",  "_iregex", "_niregex",
                                          "_similar", "_nsimilar"};

}  // namespace

std::string QueryFault::body() const {
  std::string out;
  JsonWriter to(out);
  to.raw(R"({"errors":[{"message":)");
  to.string(message);
  to.raw(R"(,"extensions":{"path":)");
  to.string(path);
  to.raw(R"(,"code":)");
  to.string(code);
  to.raw("}}]}");
  return out;
}

tl::expected<GraphqlQuery, QueryFault> read_query(std::string_view body) {
  auto read = from_json<Body>(body, {.skip_unknown = true});
  if (!read) return tl::unexpected(QueryFault{read.error().message, "$", "invalid-json"});
  auto query = parse_graphql(read->query);
  if (!query) return tl::unexpected(QueryFault{query.error().told(), "$.query"});
  const std::string_view variables = read->variables.view();
  const auto bound =
      bind_variables(*query, variables.empty() || variables == "null" ? "{}" : variables);
  if (!bound) return tl::unexpected(QueryFault{bound.error().told(), "$.variables"});
  return *std::move(query);
}

// Reads the arguments of one field of the query. Each function answers false after fail().
class Planner {
 public:
  using Search = Plan::Search;

  Planner(const GraphqlField& field, Search& search)
      : field_(field), search_(search), path_("$.selectionSet." + field.key + ".args") {}

  bool read() {
    search_.limit = INT64_MAX;
    return std::ranges::all_of(field_.arguments, [&](const GraphqlArgument& argument) {
      return below(argument.name, [&] {
        if (argument.name == "where") return conditions(argument.value, "");
        if (argument.name == "limit") return limit(argument.value);
        return fail(fmt::format("'{}' has no argument named '{}'", field_.name, argument.name));
      });
    });
  }

  QueryFault fault;

 private:
  struct Condition {
    std::string_view column;
    std::string_view comparison;
    bool (Planner::*set)(const GraphqlValue& value);
  };
  static const Condition kConditions[];

  bool fail(std::string message) {
    fault = {std::move(message), path_};
    return false;
  }
  // With one more name at the end of the path.
  template <class Call>
  bool below(std::string_view name, Call call) {
    const std::size_t size = path_.size();
    path_ += '.';
    path_ += name;
    const bool read = call();
    path_.resize(size);
    return read;
  }

  // {title:{_eq:…}}: `column` is the way to here, such as `contributions.author`.
  bool conditions(const GraphqlValue& value, const std::string& column) {
    if (value.kind != Kind::kObject) return fail("expected an object");
    return std::ranges::all_of(value.fields, [&](const GraphqlArgument& field) {
      return below(field.name, [&] { return condition(field, column); });
    });
  }

  bool condition(const GraphqlArgument& field, const std::string& column);

  template <std::optional<std::string> Asked::*Member>
  bool set_text(const GraphqlValue& value) {
    if (value.kind != Kind::kString) return fail("expected a string");
    search_.asked.*Member = value.text;
    return true;
  }
  bool set_format(const GraphqlValue& value) {
    if (value.kind != Kind::kBoolean) return fail("expected true or false");
    search_.without_format = value.text == "true";
    return true;
  }
  bool limit(const GraphqlValue& value) {
    const auto number = value.kind == Kind::kInteger ? from_json<std::int64_t>(value.text)
                                                     : tl::unexpected(JsonError{});
    if (!number || *number < 0) return fail("expected a whole number, 0 or more");
    search_.limit = *number;
    return true;
  }

  const GraphqlField& field_;
  Search& search_;
  std::string path_;
};

constexpr Planner::Condition Planner::kConditions[] = {
    {"title", "_eq", &Planner::set_text<&Asked::title>},
    {"isbn_13", "_eq", &Planner::set_text<&Asked::isbn13>},
    {"contributions.author.name", "_eq", &Planner::set_text<&Asked::author>},
    {"edition_format", "_is_null", &Planner::set_format},
};

bool Planner::condition(const GraphqlArgument& field, const std::string& column) {
  if (std::ranges::find(kDisabled, field.name) != std::end(kDisabled)) {
    return fail(fmt::format("the operator {} is disabled", field.name));
  }
  const std::string longer = column.empty() ? field.name : column + "." + field.name;
  for (const Condition& row : kConditions) {
    if (row.column == column && row.comparison == field.name) {
      return (this->*row.set)(field.value);
    }
    if (row.column == longer || row.column.starts_with(longer + ".")) {
      return conditions(field.value, longer);
    }
  }
  return fail(column.empty() || !field.name.starts_with('_')
                  ? fmt::format("the field '{}' cannot be asked about here", field.name)
                  : fmt::format("the operator {} cannot be used here", field.name));
}

tl::expected<Plan, QueryFault> Plan::make(GraphqlQuery query) {
  Plan plan;
  plan.query_ = std::move(query);
  if (auto checked = check_selection(plan.query_.selection); !checked) {
    return tl::unexpected(QueryFault{checked.error().message, checked.error().path});
  }
  for (const GraphqlField& field : plan.query_.selection) {
    Planner planner(field, plan.searches_.emplace_back());
    if (!planner.read()) return tl::unexpected(planner.fault);
  }
  return plan;
}

std::vector<Asked> Plan::asked() const {
  std::vector<Asked> all;
  for (const Search& search : searches_) all.push_back(search.asked);
  return all;
}

std::string Plan::answer(Finding finding) const {
  const auto found_by = [](const Search& search) -> std::optional<Edition> {
    if (search.without_format || search.limit == 0) return std::nullopt;
    const auto& [isbn, title, author] = search.asked;
    if (!isbn) return title ? edition_by_title(*title, author.value_or("")) : std::nullopt;
    auto edition = edition_by_isbn(*isbn);
    const bool fits = edition && edition->title == title.value_or(edition->title) &&
                      (!author || edition->is_by(*author));
    return fits ? edition : std::nullopt;
  };
  std::string out = R"({"data":{)";
  JsonWriter to(out);
  for (std::size_t i = 0; i < searches_.size(); ++i) {
    const GraphqlField& field = query_.selection[i];
    to.key(field.key);
    to.open_array();
    const auto edition = finding == Finding::kAll ? found_by(searches_[i]) : std::nullopt;
    if (edition) write_selected(to, *edition, field.selection);
    to.close_array();
  }
  out += "}}";
  return out;
}

}  // namespace retsu::simulators::hardcover
