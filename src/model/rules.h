// Tables of rules that values must obey, as fields.h has tables of their fields:
//
//   constexpr auto rules_of(For<Rate>) {
//     return List{Rule{"limit", &Rate::limit, Between{1, 1'000'000}}, …};
//   }
//
// and, for what concerns several fields, `bool relations_hold(Checking&, const Rate&)`. Both stand
// in namespace retsu::rules.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/fields.h"
#include "model/error.h"
#include "model/policy.h"

namespace retsu::rules {

// One run over a value. Every check answers whether all is well; the first that is not decides
// error(). Nothing is allocated until then.
class Checking {
 public:
  Checking(const Limits& limits, bool trust_json) : limits_(limits), trust_json_(trust_json) {}

  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] bool trust_json() const { return trust_json_; }  // Json fields are known to be JSON

  // These answer false, for the caller to return; each `under` puts one more step before the path.
  bool fail(std::string message, ErrorCode code = ErrorCode::kInvalid);
  bool fail_at(std::string_view field, std::string message);
  bool under(std::string_view field);
  bool under(std::size_t index);

  [[nodiscard]] Error error() const;  // `path: message`

 private:
  const Limits& limits_;
  bool trust_json_;
  ErrorCode code_ = ErrorCode::kInvalid;
  std::string path_;
  std::string message_;
};

// `check` is called as check(Checking&, const Member&). A name of "" adds nothing to the path.
template <class Struct, class Member, class Check>
struct Rule {
  std::string_view name;
  Member Struct::*member;
  Check check;
};
template <class Struct, class Member, class Check>
Rule(const char*, Member Struct::*, Check) -> Rule<Struct, Member, Check>;

template <class T>
struct For {};

template <class T>
concept HasRules = requires {
  rules_of(For<T>{});
};

// Whether each field of T has its rule.
template <HasRules T>
constexpr bool rules_cover_fields() {
  bool all = true;
  for_each_field<T>([&](const auto& field) {
    bool found = false;
    with_items([&](const auto&... rule) { ((found = found || rule.name == field.name), ...); },
               rules_of(For<T>{}));
    all = all && found;
  });
  return all;
}

template <HasRules T>
bool check(Checking& run, const T& value) {
  if constexpr (HasFields<T>) static_assert(rules_cover_fields<T>());
  static constexpr auto kRules = rules_of(For<T>{});
  const bool obeyed = with_items(
      [&](const auto&... rule) {
        return ((rule.check(run, value.*rule.member) || run.under(rule.name)) && ...);
      },
      kRules);
  if constexpr (requires { relations_hold(run, value); }) {
    return obeyed && relations_hold(run, value);
  } else {
    return obeyed;
  }
}

struct Anything {
  template <class T>
  constexpr bool operator()(Checking&, const T&) const {
    return true;
  }
};

// A struct, by its own rules.
struct Nested {
  template <HasRules T>
  bool operator()(Checking& run, const T& value) const {
    return check(run, value);
  }
};

// A number, a duration in milliseconds (told in units too), or a share.
struct Between {
  std::int64_t low;
  std::int64_t high;
  bool operator()(Checking& run, std::int64_t value) const;
};
struct Duration {
  std::int64_t low;
  std::int64_t high;
  bool operator()(Checking& run, std::int64_t value) const;
};
struct DurationOrZero {
  std::int64_t low;
  std::int64_t high;
  bool operator()(Checking& run, std::int64_t value) const;
};
struct Share {
  double low;
  double high;
  bool operator()(Checking& run, double value) const;
};

// Nothing, or what `check` allows.
template <class Check>
struct Maybe {
  Check check;
  template <class T>
  bool operator()(Checking& run, const std::optional<T>& value) const {
    return !value || check(run, *value);
  }
};
template <class Check>
Maybe(Check) -> Maybe<Check>;

}  // namespace retsu::rules
