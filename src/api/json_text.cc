#include "api/json_text.h"

#include <charconv>

#include "retsu/error.h"

namespace retsu_api {
namespace {

using retsu::JsonReader;
using retsu::JsonWriter;

bool is_whole(std::string_view number) {
  return number.find_first_of(".eE") == std::string_view::npos;
}

// check_json has seen to it that one of them holds the number.
Json to_number(std::string_view text) {
  const char* end = text.data() + text.size();
  if (!is_whole(text)) {
    double value = 0;
    std::from_chars(text.data(), end, value);
    return value;
  }
  std::int64_t value = 0;
  if (std::from_chars(text.data(), end, value).ec == std::errc()) return value;
  std::uint64_t large = 0;
  std::from_chars(text.data(), end, large);
  return large;
}

bool read_elements(JsonReader& in, Json& value) {
  Json::Array elements;
  const bool read =
      in.read_array([&](std::size_t) { return read_json(in, elements.emplace_back()); });
  value = std::move(elements);
  return read;
}

bool read_members(JsonReader& in, Json& value) {
  Json::Object members;
  const bool read = in.read_object(
      [&](std::string_view name) { return read_json(in, members[std::string(name)]); });
  value = std::move(members);
  return read;
}

// A fraction stays one: 1.0 is not written as 1.
void write_double(JsonWriter& to, double value) {
  char digits[40];
  const auto end = std::to_chars(digits, digits + 32, value).ptr;
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  to.raw(is_whole(text) ? std::string(text) + ".0" : text);
}

}  // namespace

bool read_json(JsonReader& in, Json& value) {
  using Kind = JsonReader::Kind;
  switch (in.kind()) {
    case Kind::kObject:
      return read_members(in, value);
    case Kind::kArray:
      return read_elements(in, value);
    case Kind::kString: {
      std::string text;
      in.read_string(text);
      value = std::move(text);
      return true;
    }
    case Kind::kNumber:
      value = to_number(in.skip().text);
      return true;
    case Kind::kBool: {
      bool truth = false;
      in.read_bool(truth);
      value = truth;
      return true;
    }
    case Kind::kNull:
      value = nullptr;
      return in.take_null();
  }
  return false;
}

void write_json(JsonWriter& to, const Json& value) {
  switch (value.kind()) {
    case Json::Kind::kNull:
      return to.null();
    case Json::Kind::kBool:
      return to.boolean(value.as_bool());
    case Json::Kind::kInteger:
      return value.as_double() < 0 ? to.integer(value.as_int()) : to.integer(value.as_uint());
    case Json::Kind::kDouble:
      return write_double(to, value.as_double());
    case Json::Kind::kString:
      return to.string(value.as_string());
    case Json::Kind::kArray:
      to.open_array();
      for (const Json& element : value.as_array()) {
        to.element();
        write_json(to, element);
      }
      return to.close_array();
    case Json::Kind::kObject:
      to.open_object();
      for (const auto& [name, member] : value.as_object()) {
        to.key(name);
        write_json(to, member);
      }
      return to.close_object();
  }
}

Json Json::parse(std::string_view text) {
  if (auto checked = retsu::check_json(text); !checked) {
    throw Error("invalid", std::move(checked.error().message));
  }
  Json value;
  JsonReader in(text);
  read_json(in, value);
  return value;
}

std::string Json::text() const {
  std::string out;
  JsonWriter to(out);
  write_json(to, *this);
  return out;
}

}  // namespace retsu_api
