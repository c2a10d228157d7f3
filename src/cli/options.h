// What several commands have in common on their command lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "model/task_operations.h"

namespace retsu::cli {

// One of the names of an enum; left as it is if nothing was typed.
template <class Enum>
Status read_word(std::string_view option, const std::string& text, Enum& value) {
  if (text.empty()) return {};
  std::string names;
  for (const auto& row : names_of(std::type_identity<Enum>{})) {
    if (row.name == text) {
      value = row.value;
      return {};
    }
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return refuse(ErrorCode::kInvalid, std::string(option) + ": must be one of " + names);
}

// --state, in letters of any size; none if nothing was typed.
Result<std::optional<State>> read_state(std::string text);

// Which tasks, as they were typed.
struct FilterOptions {
  std::string state;
  std::string queue;
  std::string user;
  std::string type;
  std::string tag;
  std::string unique;
  std::string waits_for;
  std::string q;
  std::string since;
  std::string until;

  void add_to(Arguments& arguments);
  [[nodiscard]] bool given() const;
  [[nodiscard]] Result<Filter> read() const;
};

// How many of a list.
struct ListOptions {
  std::int64_t limit = 100;
  bool all = false;

  void add_to(Arguments& arguments);
};

}  // namespace retsu::cli
