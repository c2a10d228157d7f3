// The kinds of rules for names, texts, lists, moments and JSON values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "model/policy_rules.h"
#include "model/task.h"

namespace retsu::rules {

// 1 to `most` of the letters and digits of ASCII and the characters of `marks`.
struct Name {
  std::size_t most;
  std::string_view marks;
  bool operator()(Checking& run, std::string_view name) const;
};
inline constexpr Name kId{128, "._:-"};
inline constexpr Name kQueueName{64, "._-"};

// Valid UTF-8 without control characters, at most so many bytes.
struct Line {
  std::size_t most;
  bool operator()(Checking& run, std::string_view text) const;
};
inline constexpr Line kShortLine{128};
inline constexpr Line kKeyLine{512};
inline constexpr Line kCursorLine{1024};

// Where a list by number goes on: empty, or the number that the page before named.
struct NumberCursor {
  bool operator()(Checking& run, std::string_view cursor) const;
};

// As Line, at least one byte and at most as many as the limit says.
struct Tag {
  bool operator()(Checking& run, std::string_view tag) const;
};

// Valid UTF-8, at most as many bytes as the limit says.
struct Prose {
  std::int64_t Limits::*most;
  bool operator()(Checking& run, std::string_view text) const;
};

// One JSON value, at most as many bytes as the limit says.
struct JsonValue {
  std::int64_t Limits::*most;
  bool operator()(Checking& run, const Json& value) const;
};

// A number from 1 to the limit.
struct UpTo {
  std::int64_t Limits::*most;
  bool operator()(Checking& run, std::int64_t value) const;
};

// From the year 2000 to 9999: what lies outside is a mistake of units.
struct Moment {
  bool operator()(Checking& run, TimePoint time) const;
};

struct PriorityStep {
  bool operator()(Checking& run, const Priority& priority) const;
};

// Empty, or what `check` allows.
template <class Check>
struct IfGiven {
  Check check;
  template <class Text>
  bool operator()(Checking& run, const Text& text) const {
    return text.empty() || check(run, text);
  }
};
template <class Check>
IfGiven(Check) -> IfGiven<Check>;

bool check_count(Checking& run, std::size_t count, std::int64_t most);
bool check_distinct(Checking& run, const std::vector<std::string>& names);

// A list in which each element obeys `check`, no longer than the limit says.
template <class Check>
struct Each {
  Check check;
  std::int64_t Limits::*most;
  template <class T>
  bool operator()(Checking& run, const std::vector<T>& list) const {
    if (!check_count(run, list.size(), run.limits().*most)) return false;
    for (std::size_t index = 0; index < list.size(); ++index) {
      if (!check(run, list[index])) return run.under(index);
    }
    return true;
  }
};
template <class Check>
Each(Check, std::int64_t Limits::*) -> Each<Check>;

template <class Check>
struct EachDistinct {
  Check check;
  std::int64_t Limits::*most;
  bool operator()(Checking& run, const std::vector<std::string>& list) const {
    return Each{check, most}(run, list) && check_distinct(run, list);
  }
};
template <class Check>
EachDistinct(Check, std::int64_t Limits::*) -> EachDistinct<Check>;

// A map by ids in which each value obeys `check`.
template <class Check>
struct EachById {
  Check check;
  std::int64_t Limits::*most;
  template <class T>
  bool operator()(Checking& run, const std::map<std::string, T>& map) const {
    if (!check_count(run, map.size(), run.limits().*most)) return false;
    for (const auto& [id, value] : map) {
      if (!kId(run, id)) return false;
      if (!check(run, value)) return run.under(id);
    }
    return true;
  }
};
template <class Check>
EachById(Check, std::int64_t Limits::*) -> EachById<Check>;

}  // namespace retsu::rules
