// The description of the interface is true: whatever the codec writes fits its schemas.

#include <simdjson.h>

#include "broker/http_form.h"
#include "broker/random_values.h"
#include "server/server_test.h"

namespace retsu {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

// As much of JSON Schema as the description uses.
class Validator {
 public:
  explicit Validator(element whole) : whole_(whole) {}

  // Empty: it fits. Else, where it does not.
  std::string problem(element value, element schema, const std::string& at = "$") {
    std::string_view text;
    if (schema["$ref"].get(text) == simdjson::SUCCESS) {
      element target;
      if (whole_.at_pointer(text.substr(1)).get(target) != simdjson::SUCCESS) {
        return at + ": no " + std::string(text);
      }
      return problem(value, target, at);
    }
    element part;
    if (schema["oneOf"].get(part) == simdjson::SUCCESS) {
      for (const element each : simdjson::dom::array(part)) {
        if (problem(value, each, at).empty()) return "";
      }
      return at + ": none of oneOf";
    }
    if (schema["const"].get(text) == simdjson::SUCCESS) {
      return value.is_string() && std::string_view(value) == text ? "" : at + ": not the constant";
    }
    if (schema["enum"].get(part) == simdjson::SUCCESS) {
      for (const element each : simdjson::dom::array(part)) {
        if (value.is_string() && std::string_view(value) == std::string_view(each)) return "";
      }
      return at + ": none of enum";
    }
    if (schema["type"].get(text) != simdjson::SUCCESS) return "";
    if (!is_a(value, text)) return at + ": not a " + std::string(text);
    if (text == "array") return problem_of_items(value, schema, at);
    if (text == "object") return problem_of_fields(value, schema, at);
    return "";
  }

 private:
  static bool is_a(element value, std::string_view type) {
    switch (value.type()) {
      case element_type::ARRAY:
        return type == "array";
      case element_type::OBJECT:
        return type == "object";
      case element_type::STRING:
        return type == "string";
      case element_type::BOOL:
        return type == "boolean";
      case element_type::NULL_VALUE:
        return type == "null";
      case element_type::DOUBLE:
        return type == "number";
      default:
        return type == "integer" || type == "number";
    }
  }
  std::string problem_of_items(element value, element schema, const std::string& at) {
    for (const element each : simdjson::dom::array(value)) {
      if (auto found = problem(each, schema["items"].value(), at + "[]"); !found.empty())
        return found;
    }
    return "";
  }
  std::string problem_of_fields(element value, element schema, const std::string& at) {
    element properties;
    element others;
    const bool has_properties = schema["properties"].get(properties) == simdjson::SUCCESS;
    const bool has_others = schema["additionalProperties"].get(others) == simdjson::SUCCESS;
    for (const auto [name, field] : simdjson::dom::object(value)) {
      element its;
      const std::string below = at + "." + std::string(name);
      if (has_properties && properties[name].get(its) == simdjson::SUCCESS) {
        if (auto found = problem(field, its, below); !found.empty()) return found;
      } else if (has_others) {
        if (auto found = problem(field, others, below); !found.empty()) return found;
      } else if (has_properties) {
        return below + ": not described";
      }
    }
    element required;
    if (schema["required"].get(required) != simdjson::SUCCESS) return "";
    for (const element name : simdjson::dom::array(required)) {
      element there;
      if (value[std::string_view(name)].get(there) != simdjson::SUCCESS) {
        return at + ": lacks " + std::string(std::string_view(name));
      }
    }
    return "";
  }

  element whole_;
};

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = static_cast<char>(std::tolower(c));
  return small;
}

class OpenApi : public ServerTest {
 protected:
  void SetUp() override {
    start();
    text_ = get("/openapi.json").body;
    ASSERT_EQ(parser_.parse(text_).get(whole_), simdjson::SUCCESS);
  }
  element of(const Operation& operation) {
    element found;
    EXPECT_EQ(whole_["paths"][operation.path][in_small_letters(operation.method)].get(found),
              simdjson::SUCCESS)
        << operation.name;
    return found;
  }

  std::string text_;
  simdjson::dom::parser parser_;
  element whole_;
};

TEST_F(OpenApi, HasEveryOperationUnderItsName) {
  for (const Operation& operation : kOperations) {
    EXPECT_EQ(std::string_view(of(operation)["operationId"].value()), operation.name);
  }
  for (const char* path : {"/v1/events", "/v1/alerts", "/healthz", "/readyz", "/openapi.json"}) {
    element found;
    EXPECT_EQ(whole_["paths"][path].get(found), simdjson::SUCCESS) << path;
  }
}

TEST_F(OpenApi, EveryAnswerFits) {
  Validator validator(whole_);
  for (std::size_t row = 0; row < kOperations.size(); ++row) {
    const element schema =
        of(kOperations[row])["responses"]["200"]["content"]["application/json"]["schema"].value();
    EXPECT_TRUE(rc::check(std::string(kOperations[row].name), [&] {
      const Reply reply = std::visit(
          []<class Op>(const Op&) {
            typename Op::Reply answer;
            random_values::fill(answer);
            return Reply(answer);
          },
          random_values::alternative<Command>(row));
      const std::string json = to_json(reply);
      simdjson::dom::parser parser;
      const element value = parser.parse(json);
      const std::string problem = validator.problem(value, schema);
      if (!problem.empty()) RC_FAIL(problem + " in " + json);
    }));
  }
}

TEST_F(OpenApi, EveryRequestFits) {
  Validator validator(whole_);
  for (std::size_t row = 0; row < kOperations.size(); ++row) {
    element schema;
    if (of(kOperations[row])["requestBody"]["content"]["application/json"]["schema"].get(schema) !=
        simdjson::SUCCESS) {
      EXPECT_EQ(kOperations[row].body_limit, kNoBody);
      continue;
    }
    EXPECT_TRUE(rc::check(std::string(kOperations[row].name), [&] {
      Command command = random_values::alternative<Command>(row);
      std::visit([](auto& op) { random_values::fill(op); }, command);
      if (auto* patch = std::get_if<PatchQueue>(&command))
        patch->patch = Json(R"({"paused":true})");
      std::string json = to_http(command).body;
      if (json.empty()) json = "{}";
      simdjson::dom::parser parser;
      const element value = parser.parse(json);
      const std::string problem = validator.problem(value, schema);
      if (!problem.empty()) RC_FAIL(problem + " in " + json);
    }));
  }
}

}  // namespace
}  // namespace retsu
