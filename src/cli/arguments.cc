#include "cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <optional>

namespace retsu::cli {
namespace {

// What is read into a Value, alone or among others.
template <class Value>
struct NumberIn {
  using Type = Value;
};
template <class Value>
struct NumberIn<std::optional<Value>> : NumberIn<Value> {};
template <class Value>
struct NumberIn<std::vector<Value>> : NumberIn<Value> {};

// Says what is wrong in our words.
CLI::Validator number(std::int64_t least, std::int64_t most) {
  const auto check = [=](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, value);
    if (failure == std::errc::invalid_argument || rest != end) {
      return fmt::format("{} is not a whole number", text);
    }
    if (failure == std::errc() && value >= least && value <= most) return {};
    return fmt::format("{} is not between {} and {}", text, least, most);
  };
  return {check, "", ""};
}

}  // namespace

Argument Argument::type_name(const std::string& name) { return Argument(option_->type_name(name)); }
Argument Argument::required() { return Argument(option_->required()); }
Argument Argument::shows_default() { return Argument(option_->capture_default_str()); }
Argument Argument::hidden() { return Argument(option_->group("")); }
Argument Argument::once_each() { return Argument(option_->allow_extra_args(false)); }
Argument Argument::split_at(char delimiter) { return Argument(option_->delimiter(delimiter)); }
Argument Argument::between(std::int64_t least, std::int64_t most) {
  return Argument(option_->check(number(least, most)));
}
Argument Argument::one_of(const std::vector<std::string>& words) {
  return Argument(option_->check(CLI::IsMember(words)));
}
Argument Argument::variable(const std::string& name) { return Argument(option_->envname(name)); }
Argument Argument::excludes(Argument other) { return Argument(option_->excludes(other.option_)); }
Argument Argument::excludes(const std::string& other) { return Argument(option_->excludes(other)); }
Argument Argument::needs(Argument other) { return Argument(option_->needs(other.option_)); }

template <class Value>
Argument Arguments::option(const std::string& name, Value& value, const std::string& help) {
  CLI::Option* const option = app_.add_option(name, value, help);
  using Number = NumberIn<Value>::Type;
  if constexpr (std::is_integral_v<Number>) {
    using Limits = std::numeric_limits<Number>;
    option->check(number(std::int64_t{Limits::min()}, std::int64_t{Limits::max()}));
  }
  return Argument(option);
}
Argument Arguments::flag(const std::string& name, bool& value, const std::string& help) {
  return Argument(app_.add_flag(name, value, help));
}

#define RETSU_READS(...) \
  template Argument Arguments::option(const std::string&, __VA_ARGS__&, const std::string&)
RETSU_READS(std::string);
RETSU_READS(std::optional<std::string>);
RETSU_READS(std::vector<std::string>);
RETSU_READS(int);
RETSU_READS(std::optional<std::uint16_t>);
RETSU_READS(std::int64_t);
RETSU_READS(std::optional<std::int64_t>);
RETSU_READS(std::vector<std::int64_t>);
#undef RETSU_READS

}  // namespace retsu::cli
