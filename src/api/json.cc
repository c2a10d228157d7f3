#include "retsu/json.h"

#include <cmath>
#include <ostream>
#include <utility>

#include "retsu/error.h"

namespace retsu_api {
namespace {

constexpr std::string_view kKinds[] = {"null",     "true or false", "a whole number", "a number",
                                       "a string", "an array",      "an object"};

std::string_view name_of(Json::Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

// Enough of a value to recognise it by.
std::string glimpse(const Json& value) {
  constexpr std::size_t kShown = 40;
  if (value.is_array() || value.is_object()) return std::string(name_of(value.kind()));
  std::string text = value.text();
  if (text.size() <= kShown) return text;
  std::size_t end = kShown;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character
  return text.substr(0, end) + "…";
}

[[noreturn]] void refuse_kind(std::string_view wanted, const Json& value) {
  throw Error("invalid", "expected " + std::string(wanted) + ", got " + glimpse(value));
}

bool is_member(const Json& value) {
  return value.is_array() && value.size() == 2 && value.at(0).is_string();
}

const Json& null() {
  static const Json kNull;
  return kNull;
}

}  // namespace

Json::Json(std::initializer_list<Json> values) {
  bool members = values.size() > 0;
  for (const Json& value : values) members = members && is_member(value);
  if (!members) {
    value_ = Array(values);
    return;
  }
  Object object;
  for (const Json& value : values) {
    object.insert_or_assign(value.at(0).as_string(), value.at(1));
  }
  value_ = std::move(object);
}

double Json::finite(double value) {
  if (std::isfinite(value)) return value;
  throw Error("invalid", "JSON has no number for infinity, or for what is not a number");
}

Json::Kind Json::kind() const noexcept {
  constexpr Kind kByIndex[] = {Kind::kNull,   Kind::kBool,   Kind::kInteger, Kind::kInteger,
                               Kind::kDouble, Kind::kString, Kind::kArray,   Kind::kObject};
  static_assert(std::size(kByIndex) == std::variant_size_v<Value>);
  return kByIndex[value_.index()];
}

bool Json::as_bool() const {
  if (const bool* value = std::get_if<bool>(&value_)) return *value;
  refuse_kind("true or false", *this);
}

std::int64_t Json::as_int() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  refuse_kind("a whole number of 64 bits", *this);
}

std::uint64_t Json::as_uint() const {
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return *value;
  const auto* value = std::get_if<std::int64_t>(&value_);
  if (value != nullptr && *value >= 0) return static_cast<std::uint64_t>(*value);
  refuse_kind("a whole number, 0 or more", *this);
}

double Json::as_double() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
  refuse_kind("a number", *this);
}

const std::string& Json::as_string() const {
  if (const auto* value = std::get_if<std::string>(&value_)) return *value;
  refuse_kind("a string", *this);
}

const Json::Array& Json::as_array() const {
  if (const auto* value = std::get_if<Array>(&value_)) return *value;
  refuse_kind("an array", *this);
}

const Json::Object& Json::as_object() const {
  if (const auto* value = std::get_if<Object>(&value_)) return *value;
  refuse_kind("an object", *this);
}

std::size_t Json::size() const noexcept {
  if (const auto* array = std::get_if<Array>(&value_)) return array->size();
  if (const auto* object = std::get_if<Object>(&value_)) return object->size();
  return 0;
}

bool Json::contains(std::string_view name) const {
  const auto* object = std::get_if<Object>(&value_);
  return object != nullptr && object->contains(name);
}

const Json& Json::at(std::string_view name) const {
  const Object& object = as_object();
  const auto found = object.find(name);
  if (found != object.end()) return found->second;
  throw Error("not_found", "there is no member \"" + std::string(name) + "\"");
}

const Json& Json::at(std::size_t index) const {
  const Array& array = as_array();
  if (index < array.size()) return array[index];
  throw Error("not_found", "there is no element " + std::to_string(index) + ": the array has " +
                               std::to_string(array.size()));
}

const Json& Json::operator[](std::string_view name) const {
  if (is_null()) return null();
  const Object& object = as_object();
  const auto found = object.find(name);
  return found != object.end() ? found->second : null();
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) value_ = Object();
  auto* object = std::get_if<Object>(&value_);
  if (object == nullptr) refuse_kind("an object", *this);
  const auto found = object->find(name);
  return found != object->end() ? found->second : (*object)[std::string(name)];
}

void Json::push_back(Json element) {
  if (is_null()) value_ = Array();
  auto* array = std::get_if<Array>(&value_);
  if (array == nullptr) refuse_kind("an array", *this);
  array->push_back(std::move(element));
}

bool operator==(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number() && a.kind() != b.kind()) {
    return a.as_double() == b.as_double();
  }
  return a.value_ == b.value_;
}

std::ostream& operator<<(std::ostream& out, const Json& value) { return out << value.text(); }

}  // namespace retsu_api
