// Reading and writing structs that describe themselves with a table of fields. The table is turned
// into rows of plain data once, so that one loop serves all structs and little is compiled for
// each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/fields.h"
#include "base/json_reader.h"
#include "base/json_writer.h"

namespace retsu {
namespace json_detail {

// How a member stands in a query, where there are only texts: as JSON writes it, as a string
// without quotes, or not at all.
enum class Plain : std::uint8_t { kNot, kBare, kText };
template <class Member>
constexpr Plain plain_of(std::type_identity<Member>) {
  if (std::is_arithmetic_v<Member>) return Plain::kBare;
  const bool is_text = std::is_same_v<Member, std::string> || std::is_same_v<Member, TimePoint>;
  return is_text || HasNames<Member> ? Plain::kText : Plain::kNot;
}
template <class Member>
constexpr Plain plain_of(std::type_identity<std::optional<Member>>) {
  return plain_of(std::type_identity<Member>{});
}

// What can be done with a member of some type.
struct MemberType {
  bool (*read)(JsonReader& in, void* member);
  void (*write)(JsonWriter& to, const void* member);
  bool (*blank)(const void* member);
  void (*assign)(void* member, const void* from);
  bool takes_null;  // as a value
  Plain plain;
  bool is_bool;
};

template <class Member>
inline constexpr MemberType kMemberType = {
    [](JsonReader& in, void* member) { return read_json(in, *static_cast<Member*>(member)); },
    [](JsonWriter& to, const void* member) { write_json(to, *static_cast<const Member*>(member)); },
    [](const void* member) { return is_blank(*static_cast<const Member*>(member)); },
    [](void* member, const void* from) {
      *static_cast<Member*>(member) = *static_cast<const Member*>(from);
    },
    std::is_same_v<Member, Json>,
    plain_of(std::type_identity<Member>{}),
    std::is_same_v<Member, bool> || std::is_same_v<Member, std::optional<bool>>};

struct Row {
  std::string_view name;
  std::string literal;  // `,"name":`
  std::size_t offset;   // of the member in the struct
  const MemberType* type;
  bool read_only;
  bool hidden_if_blank;
};

struct Table {
  std::vector<Row> rows;       // at most 64
  std::uint64_t required = 0;  // a bit for each row
  const void* defaults;        // a struct as it is by itself

  void add(std::string_view name, unsigned use, std::size_t offset, const MemberType* type);
};

// Adds the fields of a struct that stands at `offset`; those of a struct without a name stand
// beside the others.
template <class T>
void add_fields(Table& table, const T& defaults, std::size_t offset) {
  for_each_field<T>([&](const auto& field) {
    const auto& member = defaults.*(field.member);
    using Member = std::remove_cvref_t<decltype(member)>;
    const auto place = offset + static_cast<std::size_t>(reinterpret_cast<const char*>(&member) -
                                                         reinterpret_cast<const char*>(&defaults));
    if constexpr (HasFields<Member>) {
      if (field.name.empty()) return add_fields(table, member, place);
    }
    table.add(field.name, field.use, place, &kMemberType<Member>);
  });
}

// Never destroyed: something may still be written while the program ends.
template <class T>
const Table& table_of() {
  static const Table& table = [defaults = new T()]() -> const Table& {
    auto* made = new Table{.rows = {}, .required = 0, .defaults = defaults};
    add_fields(*made, *defaults, 0);
    return *made;
  }();
  return table;
}

bool read_struct(JsonReader& in, void* value, const Table& table);
void write_struct(JsonWriter& to, const void* value, const Table& table);

}  // namespace json_detail

template <HasFields T>
bool read_json(JsonReader& in, T& value) {
  return json_detail::read_struct(in, &value, json_detail::table_of<T>());
}

template <HasFields T>
void write_json(JsonWriter& to, const T& value) {
  json_detail::write_struct(to, &value, json_detail::table_of<T>());
}

}  // namespace retsu
