// Reading JSON into C++ values: the cursor, plain values and containers. Structs are in json.h.
//
// A text is checked whole and strictly first (check_json), so that the cursor which walks over it
// afterwards need not doubt the grammar: only types and names can still be wrong.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/text.h"
#include "base/time.h"

namespace retsu {

struct JsonError {
  bool unknown_field = false;  // else: not JSON, or not of this shape
  std::string message;         // `tasks[3].user: what is wrong`, valid UTF-8
};

// How deep arrays and objects may be nested in a Json value. The structs around one may add
// kShapeDepth levels, so that a value which was accepted in one place is accepted everywhere.
inline constexpr int kJsonDepth = 64;
inline constexpr int kShapeDepth = 16;

// Fails unless `text` is one JSON value of RFC 8259: valid UTF-8, no lone surrogates, nothing after
// it, not too deep (see above), less than 4 GiB. Whole numbers must fit into 64 bits, signed or
// unsigned, and others into a double: a larger one is refused, also deep inside a payload, because
// most readers would silently change it. Send it as a string.
// Uses memory of the calling thread: up to 20 times the text while it runs, little afterwards.
tl::expected<void, JsonError> check_json(std::string_view text);

struct JsonReading {
  bool skip_unknown = false;  // pass over fields that no table names, instead of refusing them
  bool merge = false;         // structs keep what the text does not name; see read_into
};

// A cursor over text that passed check_json and outlives it. Every read_… takes the value at the
// cursor and answers whether it was of the wanted type; after a false, only error() may be called.
// A type with a shape of its own overloads `bool read_json(JsonReader&, T&)` in namespace retsu.
class JsonReader {
 public:
  enum class Kind : std::uint8_t { kObject, kArray, kString, kNumber, kBool, kNull };

  explicit JsonReader(std::string_view text, JsonReading how = {})
      : at_(text.data()), end_(text.data() + text.size()), how_(how) {}

  [[nodiscard]] Kind kind();
  // Of the object at the cursor, as it is written; empty if there is none.
  [[nodiscard]] std::string_view first_key();
  bool take_null();  // false, which is no failure, if something else is there

  bool read_bool(bool& value);
  bool read_integer(std::int64_t& value);  // 3.0 is not a whole number, nor is 3e0
  bool read_integer(std::uint64_t& value);
  bool read_double(double& value);
  bool read_string(std::string& value);
  bool read_string(std::string_view& value);  // valid until the next read
  bool read_raw(Json& value);                 // anything, without insignificant white space
  // One of these strings; answers which.
  std::optional<std::size_t> read_name(std::span<const std::string_view> names);
  struct Skipped {
    std::string_view text;
    int depth = 0;        // of nesting; 0 for a plain value
    bool spaced = false;  // has white space outside strings
  };
  Skipped skip();  // anything

  // Read the value with each(key) or each(index), which must read one value and answer whether it
  // could. A key is valid until each returns.
  template <class Each>
  bool read_object(Each&& each);
  template <class Each>
  bool read_array(Each&& each);

  // These answer false, for the caller to return. fail_type and fail_name tell what stands at the
  // cursor.
  bool fail(std::string message);
  bool fail_type(std::string_view expected);
  bool fail_twice() { return fail("given twice"); }
  bool fail_name(std::span<const std::string_view> names);
  bool fail_missing(std::string_view field);
  bool fail_unknown(std::string_view field, std::span<const std::string_view> known);

  [[nodiscard]] const JsonReading& how() const { return how_; }
  [[nodiscard]] JsonError error() const;

  // While it lives, structs are read as new ones, not merged.
  class Anew {
   public:
    explicit Anew(JsonReader& in) : in_(in), merge_(std::exchange(in.how_.merge, false)) {}
    ~Anew() { in_.how_.merge = merge_; }
    Anew(const Anew&) = delete;
    Anew& operator=(const Anew&) = delete;

   private:
    JsonReader& in_;
    bool merge_;
  };

 private:
  void skip_space();
  bool enter(Kind kind, std::string_view name);
  bool next(char close);
  bool next_key(std::string_view& key, std::string& held);
  std::string_view take_number();
  std::string_view take_string(bool& escaped);  // as written, without its quotes
  void skip_container(Skipped& skipped);
  bool under_key(std::string_view key);
  bool under_index(std::size_t index);

  const char* at_;
  const char* end_;
  JsonReading how_;
  bool first_ = false;  // the container just entered has not given anything yet
  bool unknown_field_ = false;
  std::string scratch_;
  std::string path_;
  std::string message_;
};

namespace json_detail {
// Valid JSON without its white space, written into `memory`.
std::string_view minified(std::string_view text, std::string& memory);
}  // namespace json_detail

template <class Each>
bool JsonReader::read_object(Each&& each) {
  if (!enter(Kind::kObject, "an object")) return false;
  std::string_view key;
  std::string held;
  while (next_key(key, held)) {
    if (!each(key)) return under_key(key);
  }
  return true;
}

template <class Each>
bool JsonReader::read_array(Each&& each) {
  if (!enter(Kind::kArray, "an array")) return false;
  for (std::size_t index = 0; next(']'); ++index) {
    if (!each(index)) return under_index(index);
  }
  return true;
}

inline bool read_json(JsonReader& in, bool& value) { return in.read_bool(value); }
inline bool read_json(JsonReader& in, std::int64_t& value) { return in.read_integer(value); }
inline bool read_json(JsonReader& in, std::uint64_t& value) { return in.read_integer(value); }
inline bool read_json(JsonReader& in, double& value) { return in.read_double(value); }
inline bool read_json(JsonReader& in, std::string& value) { return in.read_string(value); }
inline bool read_json(JsonReader& in, Json& value) { return in.read_raw(value); }
bool read_json(JsonReader& in, int& value);
bool read_json(JsonReader& in, Text& value);
bool read_json(JsonReader& in, TimePoint& value);

template <HasNames Enum>
bool read_json(JsonReader& in, Enum& value) {
  static constexpr auto kTable = names_of(std::type_identity<Enum>{});
  static constexpr auto kNames = [] {
    std::array<std::string_view, kTable.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = kTable[i].name;
    return names;
  }();
  const auto row = in.read_name(kNames);
  if (row) value = kTable[*row].value;
  return row.has_value();
}

template <class T>
bool read_json(JsonReader& in, std::optional<T>& value) {
  if (in.take_null()) {
    value.reset();
    return true;
  }
  if (in.how().merge && value) return read_json(in, *value);
  const JsonReader::Anew anew(in);
  return read_json(in, value.emplace());
}

template <class T>
bool read_json(JsonReader& in, std::vector<T>& value) {
  const JsonReader::Anew anew(in);
  value.clear();
  return in.read_array([&](std::size_t) { return read_json(in, value.emplace_back()); });
}

template <class T>
bool read_json(JsonReader& in, std::map<std::string, T>& value) {
  const JsonReader::Anew anew(in);
  value.clear();
  return in.read_object([&](std::string_view key) {
    const auto [place, is_new] = value.try_emplace(std::string(key));
    return is_new ? read_json(in, place->second) : in.fail_twice();
  });
}

}  // namespace retsu
