// For tests: random values of every type that can be an operation or an answer, made from the
// tables of fields with the generators of RapidCheck, and their comparison.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/codec.h"

namespace retsu::random_values {

inline int pick(int count) { return *rc::gen::inRange(0, count); }

inline void fill(bool& value) { value = pick(2) == 1; }

template <std::integral Integer>
requires(!std::same_as<Integer, bool>) void fill(Integer& value) {
  value = pick(4) == 0 ? *rc::gen::element(std::numeric_limits<Integer>::min(), Integer{0},
                                           std::numeric_limits<Integer>::max())
                       : *rc::gen::arbitrary<Integer>();
}

inline void fill(double& value) {
  value = *rc::gen::element(0.0, 1.0, -2.5, 0.1, 1e300, 5e-324, 1.0 / 3, 123456789012345680.0);
}

inline void fill(std::string& value) {
  value.clear();
  for (int left = pick(4) == 0 ? pick(40) : pick(6); left > 0; --left)
    value += *rc::gen::element<std::string>("a", "Z", "0", "-", ".", " ", "\"", "\\", "/", "\n",
                                            "\x01", "\x7f", std::string(1, '\0'), "é", "列", "😀");
}

inline void fill(Text& value) {
  std::string text;
  fill(text);
  value = Text(text);
}

inline void fill(Json& value) {
  value = *rc::gen::element<Json>("null", "true", "0", "-1.50e+3", "18446744073709551615", "[]",
                                  "{}", R"("a \"b\" \u00e9 c")", R"({"a":[1,{"b":null}],"é":""})",
                                  "[[[[[[[[1]]]]]]]]");
}

inline void fill(TimePoint& value) {
  const auto millis = [](TimePoint time) { return time.time_since_epoch().count(); };
  value = TimePoint(
      Millis(*rc::gen::inRange<std::int64_t>(millis(kEarliestTime), millis(kLatestTime))));
}

inline void fill(Priority& value) { value.value = 1 + pick(kCritical); }

inline void fill(Aging& value) {
  fill(value.step_ms);
  if (pick(3) == 0) value = kStrictAging;
}

template <HasNames Enum>
void fill(Enum& value) {
  const auto names = names_of(std::type_identity<Enum>{});
  value = names[static_cast<std::size_t>(pick(static_cast<int>(names.size())))].value;
}

inline void fill(Dependency& value) {
  fill(value.id);
  fill(value.when);
}

inline void fill(Error& value) {
  value.code = kErrors[pick(static_cast<int>(std::size(kErrors)))].code;
  fill(value.message);
  value.details = *rc::gen::element<std::string>("", R"({"cycle":["a","b"]})");
  value.retry_after.reset();
  if (pick(2) == 0) value.retry_after = Millis(pick(100'000));
}

template <HasFields T>
void fill(T& value);
template <class T>
void fill(std::vector<T>& value);

template <class T>
void fill(std::optional<T>& value) {
  value.reset();
  if (pick(2) == 0) fill(value.emplace());
}

template <class T>
void fill(std::vector<T>& value) {
  value.clear();
  for (int left = pick(4); left > 0; --left) fill(value.emplace_back());
}

template <class T>
void fill(std::map<std::string, T>& value) {
  value.clear();
  for (int left = pick(4); left > 0; --left) {
    std::string key;
    fill(key);
    fill(value[key]);
  }
}

// Of the fields that may be missing, one in four keeps its default.
template <HasFields T>
void fill(T& value) {
  for_each_field<T>([&](const auto& field) {
    if ((field.use & kRequired) != 0 || pick(4) != 0) fill(value.*(field.member));
  });
}

// The alternative of this index, as it is by default.
template <class Variant>
Variant alternative(std::size_t index) {
  Variant value;
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    (void)((Index == index && (value.template emplace<Index>(), true)) || ...);
  }
  (std::make_index_sequence<std::variant_size_v<typename Variant::variant>>{});
  return value;
}

template <class T>
bool same(const T& a, const T& b);

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same(x, y); });
}

// As ==, which requests lack.
template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::equality_comparable<T>) {
    return a == b;
  } else {
    bool all = true;
    for_each_field<T>(
        [&](const auto& field) { all = all && same(a.*(field.member), b.*(field.member)); });
    return all;
  }
}

inline bool same_command(const Command& a, const Command& b) {
  return a.index() == b.index() &&
         std::visit([&]<class Op>(const Op& op) { return same(op, std::get<Op>(b)); }, a);
}

}  // namespace retsu::random_values
