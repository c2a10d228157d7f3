#include "simulators/graphql.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "simulators/graphql_lexer.h"

namespace retsu::simulators {
namespace {

using Token = GraphqlToken;
using Kind = GraphqlValue::Kind;

struct Unknown {
  std::string_view word;
  std::string_view told;
};
constexpr Unknown kUnknownStarts[] = {
    {"mutation", "only queries are known here, no mutations"},
    {"subscription", "only queries are known here, no subscriptions"},
    {"fragment", "fragments are not known here"},
};

struct Literal {
  Token::Kind token;
  std::string_view name;  // empty: any
  Kind kind;
};
constexpr Literal kLiterals[] = {
    {Token::Kind::kName, "null", Kind::kNull},     {Token::Kind::kName, "true", Kind::kBoolean},
    {Token::Kind::kName, "false", Kind::kBoolean}, {Token::Kind::kName, "", Kind::kEnum},
    {Token::Kind::kInteger, "", Kind::kInteger},   {Token::Kind::kNumber, "", Kind::kNumber},
    {Token::Kind::kString, "", Kind::kString},
};

// Recursive descent with one token of foresight. Each function answers false after fail().
class Parser {
 public:
  Parser(std::string_view text, GraphqlLimits limits) : lexer_(text), limits_(limits) { move_on(); }

  bool document(GraphqlQuery& query) {
    for (const Unknown& row : kUnknownStarts) {
      if (at_name(row.word)) return fail(std::string(row.told));
    }
    if (at_name("query")) {
      move_on();
      if (token_.kind == Token::Kind::kName) query.name = taken();
      if (token_.is("(") && !variables(query.variables)) return false;
    } else if (!token_.is("{")) {
      return unexpected("a query");
    }
    variables_ = &query.variables;
    if (!selection(query.selection)) return false;
    if (token_.kind == Token::Kind::kEnd) return true;
    return at_name("fragment") ? fail("fragments are not known here")
                               : fail("there is more after the query; one at a time, please");
  }

  GraphqlError error;

 private:
  [[nodiscard]] bool at_name(std::string_view name) const {
    return token_.kind == Token::Kind::kName && token_.text == name;
  }
  void move_on() { token_ = lexer_.next(); }
  std::string taken() {
    std::string text = std::move(token_.text);
    move_on();
    return text;
  }
  bool fail(std::string message) { return fail_at(token_.place, std::move(message)); }
  bool fail_at(GraphqlPlace place, std::string message) {
    error = {std::move(message), place};
    return false;
  }
  bool unexpected(std::string_view wanted) {
    if (token_.kind == Token::Kind::kBad) return fail(token_.text);
    if (token_.is("@")) return fail("directives are not known here");
    if (token_.is("...")) return fail("fragments are not known here");
    return fail(fmt::format("expected {}, not {}", wanted, token_.shown()));
  }
  bool sign(std::string_view text) {
    if (!token_.is(text)) return unexpected(fmt::format("\"{}\"", text));
    move_on();
    return true;
  }
  bool name(std::string& into, std::string_view wanted) {
    if (token_.kind != Token::Kind::kName) return unexpected(wanted);
    into = taken();
    return true;
  }
  bool deeper() {
    return ++depth_ <= limits_.depth || fail(fmt::format("deeper than {} levels", limits_.depth));
  }
  // From `open` to `close` with something in between, each read by `each`.
  template <class Each>
  bool between(std::string_view open, std::string_view close, std::string_view wanted, Each each) {
    if (!sign(open)) return false;
    if (token_.is(close)) return unexpected(wanted);
    while (!token_.is(close)) {
      if (!each()) return false;
    }
    move_on();
    return true;
  }
  // Adds one with the name at the cursor, which no other may have.
  template <class T>
  bool named(std::vector<T>& all, std::string_view wanted) {
    T added{};
    const GraphqlPlace place = token_.place;
    if (!name(added.name, wanted)) return false;
    if (std::ranges::find(all, added.name, &T::name) != all.end()) {
      return fail_at(place, fmt::format("{} is given twice", added.name));
    }
    all.push_back(std::move(added));
    return true;
  }

  bool variables(std::vector<GraphqlVariable>& all) {
    return between("(", ")", "a variable", [&] {
      const GraphqlPlace place = token_.place;
      if (!sign("$") || !named(all, "a name") || !sign(":")) return false;
      all.back().place = place;
      if (!type(all.back().type, all.back().required)) return false;
      if (!token_.is("=")) return true;
      move_on();
      return value(all.back().standard.emplace(), false);
    });
  }

  bool type(std::string& text, bool& required) {
    if (token_.is("[")) {
      move_on();
      std::string inner;
      bool each = false;
      if (!deeper() || !type(inner, each) || !sign("]")) return false;
      --depth_;
      text = fmt::format("[{}{}]", inner, each ? "!" : "");
    } else if (!name(text, "a type")) {
      return false;
    }
    required = token_.is("!");
    if (required) move_on();
    return true;
  }

  bool selection(std::vector<GraphqlField>& fields) {
    if (!deeper()) return false;
    const bool read = between("{", "}", "a field", [&] {
      GraphqlField added;
      if (!field(added)) return false;
      if (std::ranges::find(fields, added.key, &GraphqlField::key) != fields.end()) {
        return fail_at(added.place, fmt::format("{} is asked for twice", added.key));
      }
      fields.push_back(std::move(added));
      return true;
    });
    --depth_;
    return read;
  }

  bool field(GraphqlField& field) {
    field.place = token_.place;
    if (!name(field.key, "a field")) return false;
    field.name = field.key;
    if (token_.is(":")) {
      move_on();
      if (!name(field.name, "the name of a field")) return false;
    }
    if (token_.is("(") && !arguments(field.arguments, "(", ")", true)) return false;
    return !token_.is("{") || selection(field.selection);
  }

  bool arguments(std::vector<GraphqlArgument>& all, std::string_view open, std::string_view close,
                 bool may_vary) {
    return between(open, close, "a name", [&] {
      return named(all, "a name") && sign(":") && value(all.back().value, may_vary);
    });
  }

  bool value(GraphqlValue& value, bool may_vary) {
    value.place = token_.place;
    if (token_.is("$")) return may_vary ? variable(value) : fail("a variable cannot stand here");
    if (token_.is("[") || token_.is("{")) {
      if (!deeper()) return false;
      const bool read = token_.is("[") ? list(value, may_vary) : object(value, may_vary);
      --depth_;
      return read;
    }
    for (const Literal& row : kLiterals) {
      if (row.token != token_.kind || (!row.name.empty() && row.name != token_.text)) continue;
      value.kind = row.kind;
      value.text = taken();
      return true;
    }
    return unexpected("a value");
  }

  bool variable(GraphqlValue& value) {
    move_on();
    value.kind = Kind::kVariable;
    if (!name(value.text, "the name of a variable")) return false;
    if (std::ranges::find(*variables_, value.text, &GraphqlVariable::name) != variables_->end()) {
      return true;
    }
    return fail_at(value.place, fmt::format("the variable ${} is not declared", value.text));
  }

  bool list(GraphqlValue& value, bool may_vary) {
    value.kind = Kind::kList;
    move_on();
    while (!token_.is("]")) {
      if (!this->value(value.list.emplace_back(), may_vary)) return false;
    }
    move_on();
    return true;
  }

  bool object(GraphqlValue& value, bool may_vary) {
    value.kind = Kind::kObject;
    move_on();
    while (!token_.is("}")) {
      if (!named(value.fields, "a name") || !sign(":")) return false;
      if (!this->value(value.fields.back().value, may_vary)) return false;
    }
    move_on();
    return true;
  }

  GraphqlLexer lexer_;
  const GraphqlLimits limits_;
  Token token_;
  int depth_ = 0;
  const std::vector<GraphqlVariable>* variables_ = nullptr;
};

}  // namespace

std::string GraphqlError::told() const {
  return fmt::format("{}:{}: {}", place.line, place.column, message);
}

tl::expected<GraphqlQuery, GraphqlError> parse_graphql(std::string_view text,
                                                       GraphqlLimits limits) {
  if (text.size() > limits.bytes) {
    return tl::unexpected(
        GraphqlError{fmt::format("the query is larger than {} bytes", limits.bytes)});
  }
  if (!is_utf8(text)) return tl::unexpected(GraphqlError{"the query is not UTF-8"});
  GraphqlQuery query;
  if (Parser parser(text, limits); !parser.document(query)) return tl::unexpected(parser.error);
  return query;
}

}  // namespace retsu::simulators
