// JSON to and from every type that describes itself with a table (see fields.h), and the types that
// such tables are made of: bool, int, int64, uint64, double, std::string, Text, Json, TimePoint (an
// ISO 8601 string), enums with names, std::optional, std::vector, std::map by string.
//
// All functions may be called from any thread, and none throws but for memory running out.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "base/fields.h"
#include "base/json_reader.h"
#include "base/json_struct.h"
#include "base/json_writer.h"

namespace retsu {

// Reads one value, strictly: the text must pass check_json; fields that no table names, that stand
// twice, that are kReadOnly or that have the wrong type are refused, and null is the wrong type for
// all but std::optional and Json. Inside a Json value, keys are not looked at.
template <class T>
tl::expected<T, JsonError> from_json(std::string_view text, JsonReading how = {}) {
  tl::expected<T, JsonError> value;
  if (auto checked = check_json(text); !checked) {
    value = tl::unexpected(std::move(checked.error()));
  } else if (JsonReader in(text, how); !read_json(in, *value)) {
    value = tl::unexpected(in.error());
  }
  return value;
}

// Overwrites only the fields that the text names, also inside structs that are fields; null resets
// a field to its default. Arrays and maps are replaced whole. A failure leaves `value` half
// changed.
template <class T>
tl::expected<void, JsonError> read_into(std::string_view text, T& value) {
  if (auto checked = check_json(text); !checked) return checked;
  JsonReader in(text, {.skip_unknown = false, .merge = true});
  if (!read_json(in, value)) return tl::unexpected(in.error());
  return {};
}

// Appends without white space. Fields that are blank (see is_blank) are left out, unless they are
// kAlwaysShown, kRequired, or something else by default; numbers are always written.
template <class T>
void append_json(std::string& out, const T& value) {
  JsonWriter to(out);
  write_json(to, value);
}

[[nodiscard]] bool is_json(std::string_view text);  // could be a Json, as it stands or compacted

// The same value without insignificant white space; numbers and strings stay as they are written.
tl::expected<Json, std::string> compact_json(std::string_view text);

// The one text of its value, for texts that pass check_json: no white space, keys in order of their
// bytes, strings escaped as JsonWriter does. Numbers stay as they are written.
std::string canonical_json(std::string_view checked);

[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace retsu
