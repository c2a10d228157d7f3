#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

// Structs describe themselves once, beside their definition, and every codec (JSON in and out,
// stored rows, dumps, documentation) is made from that table:
//
//   struct Rate { std::int64_t limit; std::int64_t per_ms; };
//   constexpr auto fields_of(std::type_identity<Rate>) {
//     return List{Field{"limit", &Rate::limit, kRequired}, Field{"per_ms", &Rate::per_ms,
//     kRequired}};
//   }
//   enum class Kind { kFixed, kExponential };
//   constexpr auto names_of(std::type_identity<Kind>) {
//     return std::to_array<Named<Kind>>({{"fixed", Kind::kFixed}, {"exponential",
//     Kind::kExponential}});
//   }
namespace retsu {

// What std::tuple is, for tables: an aggregate, and many times cheaper to compile.
template <std::size_t place, class T>
struct ListItem {
  T value;
};
template <class Places, class... Ts>
struct ListItems;
template <std::size_t... place, class... Ts>
struct ListItems<std::index_sequence<place...>, Ts...> : ListItem<place, Ts>... {};
template <class... Ts>
struct List : ListItems<std::index_sequence_for<Ts...>, Ts...> {};
template <class... Ts>
List(Ts...) -> List<Ts...>;

template <std::size_t place, class T>
constexpr const T& item(const ListItem<place, T>& of) {
  return of.value;
}
template <class Call, std::size_t... place, class... Ts>
constexpr decltype(auto) with_items(Call&& call,
                                    const ListItems<std::index_sequence<place...>, Ts...>& list) {
  return call(item<place>(list)...);
}

enum FieldUse : unsigned {
  kOptional = 0,     // absent on input: keeps its default
  kRequired = 1,     // absent on input: an error
  kReadOnly = 2,     // refused on input as an unknown field would be
  kAlwaysShown = 4,  // written even when empty
  kFixed = 8,        // of a stored row: stays as it was when the row was made
};

template <class Struct, class Member>
struct Field {
  std::string_view name;
  Member Struct::*member;
  unsigned use = kOptional;
};
template <class Struct, class Member>
Field(const char*, Member Struct::*) -> Field<Struct, Member>;
template <class Struct, class Member>
Field(const char*, Member Struct::*, unsigned) -> Field<Struct, Member>;

template <class Enum>
struct Named {
  std::string_view name;
  Enum value;
};

template <class T>
concept HasFields = requires {
  fields_of(std::type_identity<T>{});
};

template <class T>
concept HasNames = requires {
  names_of(std::type_identity<T>{});
};

template <HasNames Enum>
constexpr std::string_view name_of(Enum value) {
  for (const auto& row : names_of(std::type_identity<Enum>{})) {
    if (row.value == value) return row.name;
  }
  return "?";
}

template <HasNames Enum>
constexpr std::optional<Enum> value_of(std::string_view name) {
  for (const auto& row : names_of(std::type_identity<Enum>{})) {
    if (row.name == name) return row.value;
  }
  return std::nullopt;
}

// Calls visit(field) for each field of T, in the order of the table.
template <HasFields T, class Visit>
constexpr void for_each_field(Visit&& visit) {
  with_items([&](const auto&... field) { (visit(field), ...); },
             fields_of(std::type_identity<T>{}));
}

}  // namespace retsu
