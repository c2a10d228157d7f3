// Writing C++ values as JSON: plain values and containers. Structs are in json.h.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/text.h"
#include "base/time.h"

namespace retsu {

// Appends JSON, without white space, to a string that outlives it. Strings must be valid UTF-8.
// A type with a shape of its own overloads `void write_json(JsonWriter&, const T&)` in namespace
// retsu, and `bool is_blank(const T&)` if some of its values need not be written.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  void null() { out_ += "null"; }
  void boolean(bool value) { out_ += value ? "true" : "false"; }
  template <std::integral Integer>
  void integer(Integer value) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    out_.append(digits, static_cast<std::size_t>(end - digits));
  }
  void number(double value);  // the shortest text that reads back the same; null unless finite
  void string(std::string_view value);
  void raw(std::string_view json) { out_ += json.empty() ? std::string_view("null") : json; }

  // `key` comes before each value of an object, `element` before each of an array.
  void open_object() { out_ += '{'; }
  void close_object() { out_ += '}'; }
  void key(std::string_view name);
  // As key, with the name as `,"name":`.
  void key_literal(std::string_view literal) {
    out_ += out_.back() == '{' ? literal.substr(1) : literal;
  }
  void open_array() { out_ += '['; }
  void close_array() { out_ += ']'; }
  void element() {
    if (out_.back() != '[') out_ += ',';
  }

 private:
  std::string& out_;
};

// What a field may hold that says nothing, so that it need not be written.
template <class T>
constexpr bool is_blank(const T&) {
  return false;
}
template <std::same_as<bool> Bool>
constexpr bool is_blank(const Bool& value) {
  return !value;
}
template <HasNames Enum>
constexpr bool is_blank(const Enum& value) {
  return name_of(value).empty();
}
inline bool is_blank(const std::string& value) { return value.empty(); }
inline bool is_blank(const Text& value) { return value.empty(); }
inline bool is_blank(const Json& value) { return value.empty(); }
template <class T>
bool is_blank(const std::optional<T>& value) {
  return !value.has_value();
}
template <class T>
bool is_blank(const std::vector<T>& value) {
  return value.empty();
}
template <class T>
bool is_blank(const std::map<std::string, T>& value) {
  return value.empty();
}

template <std::same_as<bool> Bool>
void write_json(JsonWriter& to, const Bool& value) {
  to.boolean(value);
}
template <std::integral Integer>
requires(!std::same_as<Integer, bool>) void write_json(JsonWriter& to, const Integer& value) {
  to.integer(value);
}
inline void write_json(JsonWriter& to, const double& value) { to.number(value); }
inline void write_json(JsonWriter& to, const std::string& value) { to.string(value); }
inline void write_json(JsonWriter& to, const std::string_view& value) { to.string(value); }
inline void write_json(JsonWriter& to, const Text& value) { to.string(value.view()); }
inline void write_json(JsonWriter& to, const Json& value) { to.raw(value.view()); }
void write_json(JsonWriter& to, const TimePoint& value);

template <HasNames Enum>
void write_json(JsonWriter& to, const Enum& value) {
  to.string(name_of(value));
}

template <class T>
void write_json(JsonWriter& to, const std::optional<T>& value) {
  if (value) {
    write_json(to, *value);
  } else {
    to.null();
  }
}

template <class T>
void write_json(JsonWriter& to, const std::vector<T>& value) {
  to.open_array();
  for (const T& element : value) {
    to.element();
    write_json(to, element);
  }
  to.close_array();
}

template <class T>
void write_json(JsonWriter& to, const std::map<std::string, T>& value) {
  to.open_object();
  for (const auto& [key, element] : value) {
    to.key(key);
    write_json(to, element);
  }
  to.close_object();
}

}  // namespace retsu
