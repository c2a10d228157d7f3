#include "server/openapi.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>

#include "broker/http_form.h"
#include "model/json.h"

namespace retsu::server {
namespace {

std::string in_quotes(std::string_view text) {
  std::string json;
  JsonWriter(json).string(text);
  return json;
}

// `{"a":1,"b":2}` of pairs that are JSON already.
class Object {
 public:
  Object& add(std::string_view name, std::string_view json) {
    text_ += text_.size() == 1 ? "" : ",";
    text_ += in_quotes(name);
    text_ += ':';
    text_ += json;
    return *this;
  }
  [[nodiscard]] std::string str() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

std::string array_of(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ","));
}

std::string typed(std::string_view type) { return Object().add("type", in_quotes(type)).str(); }

// The name of a struct of ours.
template <class T>
std::string name_of_type() {
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of("];"));
  return std::string(text.substr(text.rfind(':') + 1));
}

// Schemas of types: plain ones as they are, structs by reference.
class Schemas {
 public:
  template <class T>
  std::string of(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, bool>) {
      return typed("boolean");
    } else if constexpr (std::is_integral_v<T>) {
      return typed("integer");
    } else if constexpr (std::is_floating_point_v<T>) {
      return typed("number");
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Text>) {
      return typed("string");
    } else if constexpr (std::is_same_v<T, Json>) {
      return "{}";
    } else if constexpr (std::is_same_v<T, TimePoint>) {
      return R"({"type":"string","format":"date-time"})";
    } else if constexpr (std::is_same_v<T, Priority>) {
      return R"({"oneOf":[{"type":"integer","minimum":1,"maximum":6},{"type":"string"}]})";
    } else if constexpr (std::is_same_v<T, Aging>) {
      return R"({"oneOf":[{"type":"integer"},{"const":"strict"}]})";
    } else if constexpr (std::is_same_v<T, Dependency>) {
      return R"({"oneOf":[{"type":"string"},{"type":"object","properties":{"id":{"type":"string"},)"
             R"("when":{"enum":["finished","settled"]}},"required":["id"]}]})";
    } else if constexpr (std::is_same_v<T, Error>) {
      return R"({"$ref":"#/components/schemas/Error"})";
    } else if constexpr (HasNames<T>) {
      std::vector<std::string> names;
      for (const auto& row : names_of(std::type_identity<T>{}))
        names.push_back(in_quotes(row.name));
      return Object().add("enum", array_of(names)).str();
    } else {
      return reference<T>();
    }
  }
  template <class T>
  std::string of(std::type_identity<std::optional<T>>) {
    return Object().add("oneOf", array_of({of(std::type_identity<T>{}), typed("null")})).str();
  }
  template <class T>
  std::string of(std::type_identity<std::vector<T>>) {
    return Object().add("type", in_quotes("array")).add("items", of(std::type_identity<T>{})).str();
  }
  template <class T>
  std::string of(std::type_identity<std::map<std::string, T>>) {
    return Object()
        .add("type", in_quotes("object"))
        .add("additionalProperties", of(std::type_identity<T>{}))
        .str();
  }

  // The properties of a struct, those of unnamed fields among them.
  struct Properties {
    std::vector<std::pair<std::string, std::string>> fields;
    std::vector<std::string> required;
  };
  template <class T>
  void add_properties(Properties& to) {
    for_each_field<T>([&]<class S, class M>(const Field<S, M>& field) {
      if constexpr (HasFields<M>) {
        if (field.name.empty()) return add_properties<M>(to);
      }
      to.fields.emplace_back(field.name, of(std::type_identity<M>{}));
      if ((field.use & kRequired) != 0) to.required.emplace_back(field.name);
    });
  }
  static std::string object_of(const Properties& properties) {
    Object fields;
    for (const auto& [name, schema] : properties.fields) fields.add(name, schema);
    Object object;
    object.add("type", in_quotes("object")).add("properties", fields.str());
    std::vector<std::string> required;
    for (const std::string& name : properties.required) required.push_back(in_quotes(name));
    if (!required.empty()) object.add("required", array_of(required));
    return object.str();
  }

  [[nodiscard]] std::string components() const {
    Object all;
    for (const auto& [name, schema] : named_) all.add(name, schema);
    return all.str();
  }

 private:
  template <class T>
  std::string reference() {
    const std::string name = name_of_type<T>();
    if (named_.emplace(name, "{}").second) {
      Properties properties;
      add_properties<T>(properties);
      named_[name] = object_of(properties);
    }
    return Object().add("$ref", in_quotes("#/components/schemas/" + name)).str();
  }

  std::map<std::string, std::string> named_ = {
      {"Error",
       R"({"type":"object","properties":{"code":{"type":"string"},"message":{"type":"string"},)"
       R"("details":{"type":"object"},"retry_after_ms":{"type":"integer"}}})"},
      {"Refusal",
       R"({"type":"object","properties":{"error":{"$ref":"#/components/schemas/Error"}}})"}};
};

std::string content(const std::string& schema) {
  return Object().add("application/json", Object().add("schema", schema).str()).str();
}

std::string parameter(std::string_view name, std::string_view in, const std::string& schema) {
  Object object;
  object.add("name", in_quotes(name)).add("in", in_quotes(in)).add("schema", schema);
  if (in == "path") object.add("required", "true");
  return object.str();
}

// One row of the table, with the fields of its struct where they stand in a request.
template <class Op>
std::string described(const Operation& operation, Schemas& schemas) {
  const auto in_path = path_names(operation.path);
  const bool has_body = operation.body_limit != kNoBody;
  std::vector<std::string> parameters;
  Schemas::Properties all;
  schemas.add_properties<Op>(all);
  Schemas::Properties body;
  for (const auto& [name, schema] : all.fields) {
    const bool is_in_path = std::ranges::find(in_path, name) != in_path.end();
    if (is_in_path) {
      parameters.push_back(parameter(name, "path", schema));
    } else if (has_body) {
      body.fields.emplace_back(name, schema);
    } else if (name == "filter") {
      Schemas::Properties filter;
      schemas.add_properties<Filter>(filter);
      for (const auto& [each, its] : filter.fields)
        parameters.push_back(parameter(each, "query", its));
    } else {
      parameters.push_back(parameter(name, "query", schema));
    }
  }
  for (const std::string& name : all.required) {
    if (std::ranges::find(in_path, name) == in_path.end()) body.required.push_back(name);
  }
  Object object;
  object.add("operationId", in_quotes(operation.name))
      .add("x-scope", in_quotes(name_of(operation.scope)))
      .add("parameters", array_of(parameters));
  if (has_body) {
    std::string schema = Schemas::object_of(body);
    if constexpr (std::is_same_v<Op, Push>) {
      schema = Object()
                   .add("oneOf", array_of({schema, schemas.of(std::type_identity<NewTask>{})}))
                   .str();
    }
    if constexpr (std::is_same_v<Op, PatchQueue>) schema = typed("object");
    object.add("requestBody", Object().add("content", content(schema)).str());
  }
  const std::string done =
      Object()
          .add("description", in_quotes("Done"))
          .add("content", content(schemas.of(std::type_identity<typename Op::Reply>{})))
          .str();
  Object responses;
  responses.add("200", done);
  if constexpr (std::is_same_v<Op, Push>) responses.add("201", done);
  responses.add("default", R"({"$ref":"#/components/responses/Refusal"})");
  return object.add("responses", responses.str()).str();
}

using Describe = std::string (*)(const Operation&, Schemas&);
constexpr auto kDescribe = []<std::size_t... Row>(std::index_sequence<Row...>) {
  return std::array<Describe, sizeof...(Row)>{
      &described<std::variant_alternative_t<Row, AnyCommand>>...};
}
(std::make_index_sequence<kOperations.size()>{});

// A route that is no operation.
std::string described(const Route& route) {
  std::vector<std::string> parameters;
  for (const std::string_view name : path_names(route.path)) {
    parameters.push_back(parameter(name, "path", typed("string")));
  }
  Object object;
  if (route.scope) object.add("x-scope", in_quotes(name_of(*route.scope)));
  return object.add("parameters", array_of(parameters))
      .add("responses", R"({"default":{"description":"See the documentation of the server"}})")
      .str();
}

std::string in_small_letters(std::string_view method) {
  std::string small(method);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

}  // namespace

std::string openapi_of(const Router& router) {
  Schemas schemas;
  std::map<std::string_view, Object> paths;
  for (const Route& route : router.routes()) {
    const auto row = std::ranges::find_if(kOperations, [&](const Operation& operation) {
      return operation.method == route.method && operation.path == route.path;
    });
    paths[route.path].add(
        in_small_letters(route.method),
        row == kOperations.end()
            ? described(route)
            : kDescribe[static_cast<std::size_t>(row - kOperations.begin())](*row, schemas));
  }
  Object all_paths;
  for (const auto& [path, methods] : paths) all_paths.add(path, methods.str());
  const std::string refusal =
      Object()
          .add("description", in_quotes("Refused: the code says why"))
          .add("content", content(R"({"$ref":"#/components/schemas/Refusal"})"))
          .str();
  return Object()
      .add("openapi", in_quotes("3.1.0"))
      .add("info", R"({"title":"retsu","version":"1"})")
      .add("paths", all_paths.str())
      .add("components",
           Object()
               .add("schemas", schemas.components())
               .add("responses", Object().add("Refusal", refusal).str())
               .add("securitySchemes", R"({"token":{"type":"http","scheme":"bearer"}})")
               .str())
      .add("security", R"([{},{"token":[]}])")
      .str();
}

void add_openapi(Router& router) {
  auto text = std::make_shared<std::string>();
  router.add({.method = "GET", .path = "/openapi.json", .serve = [text](const auto& exchange) {
                exchange->respond({.body = *text});
              }});
  *text = openapi_of(router);
}

}  // namespace retsu::server
