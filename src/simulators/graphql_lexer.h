#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "simulators/graphql.h"

namespace retsu::simulators {

struct GraphqlToken {
  enum class Kind : std::uint8_t { kEnd, kSign, kName, kInteger, kNumber, kString, kBad };
  Kind kind = Kind::kEnd;
  std::string text = {};  // a sign, a name or a number as written; of a string, its content
  GraphqlPlace place = {};

  [[nodiscard]] bool is(std::string_view sign) const { return kind == Kind::kSign && text == sign; }
  [[nodiscard]] std::string shown() const;  // for an error: `"{"`, `a string`, `the end`
};

// Cuts a text, which is valid UTF-8 and outlives it, into tokens; spaces, commas and comments go.
class GraphqlLexer {
 public:
  explicit GraphqlLexer(std::string_view text);

  // After kBad, whose text says what is wrong, and after kEnd, nothing may be asked for.
  GraphqlToken next();

 private:
  void advance(std::size_t bytes);
  void skip_blanks();
  GraphqlToken take(GraphqlToken::Kind kind, std::size_t bytes);
  GraphqlToken bad(std::string message);
  GraphqlToken number();
  GraphqlToken string();
  bool escape(std::string& content);
  std::optional<std::uint32_t> hexadecimal() const;  // the four digits after \u at the beginning

  std::string_view rest_;
  GraphqlPlace place_;
};

}  // namespace retsu::simulators
