// JSON values, for payloads, results and everything that Queue::call takes and gives.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace retsu_api {

// A value that owns all that is in it: null, true or false, a number, a string, an array, an
// object. Values of different threads have nothing to do with each other; one value is as
// thread-safe as a std::string.
//
//   Json mail = {{"to", "bob"}, {"copies", 2}, {"tags", {"a", "b"}}};
//   mail["to"] == "bob";  mail.at("copies").as_int() == 2;  mail["cc"].is_null();
//
// In braces, pairs that begin with a string are an object and everything else is an array; array()
// and object() say which where that guesses wrong, as for an array of pairs or of one Json. `{}` is
// null.
//
// What cannot be done throws Error: `invalid` for a value of the wrong kind, `not_found` for a
// member or element that is not there.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;
  enum class Kind : std::uint8_t { kNull, kBool, kInteger, kDouble, kString, kArray, kObject };

  Json() = default;
  Json(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): values are written as themselves
  template <std::same_as<bool> Bool>  // a template, so that a pointer is not a truth
  Json(Bool value) : value_(value) {}
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) Json(Integer value) : value_(whole(value)) {}
  template <std::floating_point Number>  // Error `invalid` unless it is finite
  Json(Number value) : value_(finite(static_cast<double>(value))) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(Array elements) : value_(std::move(elements)) {}
  Json(Object members) : value_(std::move(members)) {}
  Json(std::initializer_list<Json> values);

  static Json array(std::initializer_list<Json> elements = {}) { return Array(elements); }
  static Json object(std::initializer_list<Object::value_type> members = {}) {
    return Object(members);
  }

  // One value of RFC 8259, nested at most 80 deep. Whole numbers must fit into 64 bits, signed or
  // unsigned. Of members with the same name the last one counts. Else Error `invalid`, with a
  // message that tells what is wrong.
  static Json parse(std::string_view text);

  // Without white space, members in order of their names. parse() reads the same value again,
  // provided that all strings are UTF-8.
  [[nodiscard]] std::string text() const;

  [[nodiscard]] Kind kind() const noexcept;
  [[nodiscard]] bool is_null() const noexcept { return kind() == Kind::kNull; }
  [[nodiscard]] bool is_bool() const noexcept { return kind() == Kind::kBool; }
  [[nodiscard]] bool is_integer() const noexcept { return kind() == Kind::kInteger; }
  [[nodiscard]] bool is_number() const noexcept { return is_integer() || kind() == Kind::kDouble; }
  [[nodiscard]] bool is_string() const noexcept { return kind() == Kind::kString; }
  [[nodiscard]] bool is_array() const noexcept { return kind() == Kind::kArray; }
  [[nodiscard]] bool is_object() const noexcept { return kind() == Kind::kObject; }

  // The value itself, if it is of this kind.
  [[nodiscard]] bool as_bool() const;
  [[nodiscard]] std::int64_t as_int() const;    // `invalid` also if it does not fit
  [[nodiscard]] std::uint64_t as_uint() const;  // `invalid` also if it does not fit
  [[nodiscard]] double as_double() const;       // any number
  [[nodiscard]] const std::string& as_string() const;
  [[nodiscard]] const Array& as_array() const;
  [[nodiscard]] const Object& as_object() const;

  // Elements or members; 0 for what has none.
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool contains(std::string_view name) const;

  // The member or the element, which must be there.
  [[nodiscard]] const Json& at(std::string_view name) const;
  [[nodiscard]] const Json& at(std::size_t index) const;

  // The member, or null if there is none; null has no members. To be assigned to, a member that is
  // not there is made, and null becomes an object.
  [[nodiscard]] const Json& operator[](std::string_view name) const;
  Json& operator[](std::string_view name);
  [[nodiscard]] const Json& operator[](std::size_t index) const { return at(index); }
  Json& operator[](std::size_t index) { return const_cast<Json&>(std::as_const(*this).at(index)); }

  void push_back(Json element);  // null becomes an array

  // Numbers are equal by value: 1 == 1.0.
  friend bool operator==(const Json& a, const Json& b);
  friend std::ostream& operator<<(std::ostream& out, const Json& value);

 private:
  // Unsigned only above the largest signed one, so that a number has one form.
  using Value = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string,
                             Array, Object>;

  template <std::integral Integer>
  static Value whole(Integer value) {
    if (std::in_range<std::int64_t>(value)) return static_cast<std::int64_t>(value);
    return static_cast<std::uint64_t>(value);
  }
  static double finite(double value);

  Value value_ = nullptr;
};

}  // namespace retsu_api

// The library's own types share the name retsu inside it, and must not meet these.
namespace retsu {
namespace api = ::retsu_api;
using namespace ::retsu_api;
}  // namespace retsu
