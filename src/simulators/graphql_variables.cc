#include "simulators/graphql_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json.h"

namespace retsu::simulators {

bool read_json(JsonReader& in, GraphqlValue& value);  // which those of containers find

namespace {

using Kind = GraphqlValue::Kind;
using JsonKind = JsonReader::Kind;

constexpr std::size_t kNodeBytes = sizeof(GraphqlValue);

bool read_number(JsonReader& in, GraphqlValue& value) {
  Json raw;
  if (!in.read_raw(raw)) return false;
  value.text = raw.str();
  const bool is_whole = value.text.find_first_of(".eE") == std::string::npos;
  value.kind = is_whole ? Kind::kInteger : Kind::kNumber;
  return true;
}

bool read_object(JsonReader& in, GraphqlValue& value) {
  value.kind = Kind::kObject;
  std::map<std::string, GraphqlValue> fields;
  if (!read_json(in, fields)) return false;
  for (auto& [name, field] : fields) value.fields.push_back({name, std::move(field)});
  return true;
}

bool read_boolean(JsonReader& in, GraphqlValue& value) {
  bool is_true = false;
  value.kind = Kind::kBoolean;
  if (!in.read_bool(is_true)) return false;
  value.text = is_true ? "true" : "false";
  return true;
}

std::size_t bytes_of(const GraphqlValue& value) {
  std::size_t bytes = kNodeBytes + value.text.size();
  for (const GraphqlValue& element : value.list) bytes += bytes_of(element);
  for (const GraphqlArgument& field : value.fields) {
    bytes += field.name.size() + bytes_of(field.value);
  }
  return bytes;
}

struct ScalarRow {
  std::string_view type;
  Kind kind;
};
constexpr ScalarRow kScalars[] = {
    {"String", Kind::kString}, {"Int", Kind::kInteger},   {"Boolean", Kind::kBoolean},
    {"Float", Kind::kNumber},  {"Float", Kind::kInteger}, {"ID", Kind::kString},
    {"ID", Kind::kInteger},
};

bool fits(const GraphqlValue& value, std::string_view type) {
  if (value.kind == Kind::kNull) return !type.ends_with('!');
  if (type.ends_with('!')) type.remove_suffix(1);
  if (type.starts_with('[')) {
    const std::string_view inner = type.substr(1, type.size() - 2);
    return value.kind == Kind::kList &&
           std::ranges::all_of(value.list, [&](const auto& each) { return fits(each, inner); });
  }
  bool known = false;
  for (const ScalarRow& row : kScalars) {
    known |= row.type == type;
    if (row.type == type && row.kind == value.kind) return true;
  }
  return !known;
}

class Binder {
 public:
  explicit Binder(std::map<std::string, GraphqlValue> given) : given_(std::move(given)) {}

  bool declare(const GraphqlVariable& variable) {
    const auto found = given_.find(variable.name);
    const bool given = found != given_.end();
    const GraphqlValue* const value = given               ? &found->second
                                      : variable.standard ? &*variable.standard
                                                          : nullptr;
    const std::string type = variable.type + (variable.required ? "!" : "");
    if (value == nullptr && variable.required) {
      return fail(variable.place, fmt::format("${} must be given", variable.name));
    }
    if (value != nullptr && !fits(*value, type)) {
      return fail(variable.place, fmt::format("${} is not of type {}", variable.name, type));
    }
    if (value != nullptr) values_.emplace(variable.name, Bound{*value, bytes_of(*value)});
    return true;
  }

  bool bind(std::vector<GraphqlField>& fields) {
    return std::ranges::all_of(fields, [&](GraphqlField& field) {
      return bind(field.arguments) && bind(field.selection);
    });
  }

  GraphqlError error;

 private:
  struct Bound {
    GraphqlValue value;
    std::size_t bytes;
  };

  bool fail(GraphqlPlace place, std::string message) {
    error = {std::move(message), place};
    return false;
  }

  bool bind(std::vector<GraphqlArgument>& arguments) {
    std::erase_if(arguments, [&](const GraphqlArgument& argument) {
      return argument.value.kind == Kind::kVariable && !values_.contains(argument.value.text);
    });
    return std::ranges::all_of(arguments, [&](auto& argument) { return bind(argument.value); });
  }

  bool bind(GraphqlValue& value) {
    if (value.kind != Kind::kVariable) {
      return bind(value.fields) &&
             std::ranges::all_of(value.list, [&](auto& element) { return bind(element); });
    }
    const GraphqlPlace place = value.place;
    const auto found = values_.find(value.text);
    if (found == values_.end()) {
      value = {.place = place};
      return true;
    }
    // A large value that is used again and again could grow without end.
    bytes_ += found->second.bytes;
    if (bytes_ > kGraphqlBoundBytes)
      return fail(place, "the query with its variables is too large");
    value = found->second.value;
    value.place = place;
    return true;
  }

  std::map<std::string, GraphqlValue> given_;
  std::map<std::string, Bound> values_;
  std::size_t bytes_ = 0;
};

}  // namespace

bool read_json(JsonReader& in, GraphqlValue& value) {
  switch (in.kind()) {
    case JsonKind::kNull:
      return in.take_null();
    case JsonKind::kBool:
      return read_boolean(in, value);
    case JsonKind::kNumber:
      return read_number(in, value);
    case JsonKind::kString:
      value.kind = Kind::kString;
      return in.read_string(value.text);
    case JsonKind::kArray:
      value.kind = Kind::kList;
      return read_json(in, value.list);
    case JsonKind::kObject:
      return read_object(in, value);
  }
  return false;
}

tl::expected<void, GraphqlError> bind_variables(GraphqlQuery& query, std::string_view json) {
  auto given = from_json<std::map<std::string, GraphqlValue>>(json);
  if (!given) return tl::unexpected(GraphqlError{"variables: " + given.error().message});
  for (const auto& [name, value] : *given) {
    if (std::ranges::find(query.variables, name, &GraphqlVariable::name) == query.variables.end()) {
      return tl::unexpected(
          GraphqlError{fmt::format("variables: ${} is not declared in the query", name)});
    }
  }
  Binder binder(*std::move(given));
  for (const GraphqlVariable& variable : query.variables) {
    if (!binder.declare(variable)) return tl::unexpected(binder.error);
  }
  if (!binder.bind(query.selection)) return tl::unexpected(binder.error);
  return {};
}

}  // namespace retsu::simulators
