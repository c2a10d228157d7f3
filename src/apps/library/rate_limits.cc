#include "apps/library/rate_limits.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

namespace retsu::library {
namespace {

constexpr std::size_t kMostDigits = 15;
constexpr std::size_t kMostEntries = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }
bool is_in_key(char c) { return is_lower(c) || is_digit(c) || is_one_of(c, "_-.*"); }
// Of a token, a number, a boolean, a date or bytes: what they are is asked later, if at all.
bool is_in_value(char c) {
  return is_letter(c) || is_digit(c) || is_one_of(c, "!#$%&'*+-.^_`|~:/=?@");
}

struct Parameter {
  std::string_view key;
  std::optional<std::int64_t> number;  // none: something else
};
struct Entry {
  std::string name;
  std::vector<Parameter> parameters;
};

// A whole number that is not below 0.
std::optional<std::int64_t> number_of(std::string_view text) {
  if (text.empty() || text.size() > kMostDigits || !std::ranges::all_of(text, is_digit)) {
    return std::nullopt;
  }
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Each take… answers what, or whether it, was there.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  void skip(std::string_view set) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(set), rest_.size()));
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view take_while(bool (*is_in)(char)) {
    const auto size = std::ranges::find_if_not(rest_, is_in) - rest_.begin();
    const auto taken = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  // Behind its first quote.
  bool take_string(std::string& value) {
    while (!take('"')) {
      const bool escaped = take('\\');
      if (at_end()) return false;
      const char c = rest_.front();
      if (escaped ? !is_one_of(c, "\"\\") : c < ' ' || c > '~') return false;
      value += c;
      rest_.remove_prefix(1);
    }
    return true;
  }

 private:
  std::string_view rest_;
};

bool take_name(Cursor& in, std::string& name) {
  if (in.take('"')) return in.take_string(name);
  name = in.take_while(is_in_value);
  // Older drafts write names without quotes.
  return !name.empty() && (is_letter(name.front()) || name.front() == '*') &&
         name.find('=') == std::string::npos;
}

bool take_parameter(Cursor& in, Parameter& parameter) {
  in.skip(" ");
  parameter.key = in.take_while(is_in_key);
  if (parameter.key.empty() || is_digit(parameter.key.front())) return false;
  if (!in.take('=')) return true;
  std::string other;
  if (in.take('"')) return in.take_string(other);
  const std::string_view value = in.take_while(is_in_value);
  parameter.number = number_of(value);
  return !value.empty();
}

bool take_entry(Cursor& in, Entry& entry) {
  if (!take_name(in, entry.name)) return false;
  while (in.take(';')) {
    if (!take_parameter(in, entry.parameters.emplace_back())) return false;
  }
  return true;
}

// None, if the header is no list.
std::vector<Entry> entries_of(std::string_view header) {
  std::vector<Entry> entries;
  Cursor in(header);
  in.skip(" \t");
  while (!in.at_end()) {
    if (entries.size() == kMostEntries || !take_entry(in, entries.emplace_back())) return {};
    in.skip(" \t");
    if (in.at_end()) break;
    if (!in.take(',')) return {};
    in.skip(" \t");
    if (in.at_end()) return {};  // a comma with nothing behind it
  }
  return entries;
}

template <class T>
struct Number {
  std::string_view key;
  std::int64_t T::*member;
  std::int64_t least;
  bool required;
};
constexpr Number<RatePolicy> kPolicyNumbers[] = {
    {"q", &RatePolicy::quota, 1, true},
    {"w", &RatePolicy::window_s, 1, true},
    {"burst", &RatePolicy::burst, 0, false},
};
constexpr Number<RateState> kStateNumbers[] = {
    {"r", &RateState::remaining, 0, true},
    {"t", &RateState::reset_s, 0, false},
};

// False: it is not there but should be, or makes no sense. Of several the last one counts.
template <class T>
bool read_number(const Entry& entry, const Number<T>& row, T& into) {
  const auto found = std::find_if(entry.parameters.rbegin(), entry.parameters.rend(),
                                  [&](const Parameter& each) { return each.key == row.key; });
  if (found == entry.parameters.rend()) return !row.required;
  if (!found->number || *found->number < row.least) return false;
  into.*row.member = *found->number;
  return true;
}

template <class T>
std::vector<T> read(std::string_view header, std::span<const Number<T>> numbers) {
  std::vector<T> read;
  for (Entry& entry : entries_of(header)) {
    T made;
    if (!std::ranges::all_of(numbers,
                             [&](const auto& row) { return read_number(entry, row, made); }))
      continue;
    made.name = std::move(entry.name);
    read.push_back(std::move(made));
  }
  return read;
}

}  // namespace

std::vector<RatePolicy> read_rate_policies(std::string_view header) {
  return read<RatePolicy>(header, kPolicyNumbers);
}

std::vector<RateState> read_rate_states(std::string_view header) {
  return read<RateState>(header, kStateNumbers);
}

}  // namespace retsu::library
