#include "base/json_reader.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <system_error>

#include "base/json_escapes.h"

namespace retsu {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_number(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

// What matters in a container that is passed over.
constexpr auto kMarks = [] {
  std::array<bool, 256> marks{};
  for (const char c : std::string_view("\"{}[] \n\t\r"))
    marks[static_cast<unsigned char>(c)] = true;
  return marks;
}();

constexpr std::uint64_t kOnes = 0x0101010101010101;

// Marks, in their highest bits, the bytes that are `c`; the lowest mark is right, which is all we
// use.
std::uint64_t marks_of(std::uint64_t bytes, char c) {
  const std::uint64_t other = bytes ^ (kOnes * static_cast<unsigned char>(c));
  return (other - kOnes) & ~other & (kOnes << 7);
}

// The first quote or backslash, which must exist.
const char* find_quote(const char* at, const char* end) {
  static_assert(std::endian::native == std::endian::little);
  for (; end - at >= 8; at += 8) {
    std::uint64_t bytes;
    std::memcpy(&bytes, at, 8);
    if (const auto marks = marks_of(bytes, '"') | marks_of(bytes, '\\'); marks != 0)
      return at + std::countr_zero(marks) / 8;
  }
  while (*at != '"' && *at != '\\') ++at;
  return at;
}

template <class Number>
bool parse_whole(std::string_view text, Number& value) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc{} && end == text.data() + text.size();
}

}  // namespace

void JsonReader::skip_space() {
  while (at_ != end_ && is_space(*at_)) ++at_;
}

JsonReader::Kind JsonReader::kind() {
  skip_space();
  switch (*at_) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kString;
    case 't':
    case 'f':
      return Kind::kBool;
    case 'n':
      return Kind::kNull;
    default:
      return Kind::kNumber;
  }
}

std::string_view JsonReader::first_key() {
  if (kind() != Kind::kObject) return {};
  const char* begin = at_++;
  skip_space();
  bool escaped = false;
  const auto key = *at_ == '"' ? take_string(escaped) : std::string_view();
  at_ = begin;
  return key;
}

bool JsonReader::take_null() {
  if (kind() != Kind::kNull) return false;
  at_ += 4;
  return true;
}

bool JsonReader::read_bool(bool& value) {
  if (kind() != Kind::kBool) return fail_type("true or false");
  value = *at_ == 't';
  at_ += value ? 4 : 5;
  return true;
}

std::string_view JsonReader::take_number() {
  const char* begin = at_;
  while (at_ != end_ && is_number(*at_)) ++at_;
  return {begin, at_};
}

bool JsonReader::read_integer(std::int64_t& value) {
  if (kind() != Kind::kNumber) return fail_type("a whole number");
  const char* begin = at_;
  if (parse_whole(take_number(), value)) return true;
  at_ = begin;
  return fail_type("a whole number");
}

bool JsonReader::read_integer(std::uint64_t& value) {
  if (kind() != Kind::kNumber) return fail_type("a whole number, 0 or more");
  const char* begin = at_;
  if (parse_whole(take_number(), value)) return true;
  at_ = begin;
  return fail_type("a whole number, 0 or more");
}

bool JsonReader::read_double(double& value) {
  if (kind() != Kind::kNumber) return fail_type("a number");
  const char* begin = at_;
  if (parse_whole(take_number(), value)) return true;
  at_ = begin;
  return fail_type("a number of a size that can be computed with");
}

std::string_view JsonReader::take_string(bool& escaped) {
  const char* begin = ++at_;
  escaped = false;
  for (at_ = find_quote(at_, end_); *at_ != '"'; at_ = find_quote(at_ + 2, end_)) escaped = true;
  return {begin, at_++};
}

bool JsonReader::read_string(std::string& value) {
  if (kind() != Kind::kString) return fail_type("a string");
  bool escaped = false;
  const auto text = take_string(escaped);
  if (escaped) {
    unescape(text, value);
  } else {
    value.assign(text);
  }
  return true;
}

bool JsonReader::read_string(std::string_view& value) {
  if (kind() != Kind::kString) return fail_type("a string");
  bool escaped = false;
  value = take_string(escaped);
  if (escaped) {
    unescape(value, scratch_);
    value = scratch_;
  }
  return true;
}

std::optional<std::size_t> JsonReader::read_name(std::span<const std::string_view> names) {
  const bool is_string = kind() == Kind::kString;
  const char* begin = at_;
  std::string_view name;
  if (is_string && read_string(name)) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return i;
    }
  }
  at_ = begin;
  fail_name(names);
  return std::nullopt;
}

JsonReader::Skipped JsonReader::skip() {
  const Kind found = kind();
  const char* begin = at_;
  Skipped skipped;
  bool escaped = false;
  switch (found) {
    case Kind::kObject:
    case Kind::kArray:
      skip_container(skipped);
      break;
    case Kind::kString:
      take_string(escaped);
      break;
    case Kind::kNumber:
      take_number();
      break;
    case Kind::kNull:
      at_ += 4;
      break;
    case Kind::kBool:
      at_ += *at_ == 't' ? 4 : 5;
      break;
  }
  skipped.text = {begin, at_};
  return skipped;
}

void JsonReader::skip_container(Skipped& skipped) {
  int depth = 0;
  bool escaped = false;
  do {
    while (!kMarks[static_cast<unsigned char>(*at_)]) ++at_;
    switch (*at_) {
      case '"':
        take_string(escaped);
        continue;
      case '{':
      case '[':
        skipped.depth = std::max(skipped.depth, ++depth);
        break;
      case '}':
      case ']':
        --depth;
        break;
      default:
        skipped.spaced = true;
    }
    ++at_;
  } while (depth > 0);
}

bool JsonReader::read_raw(Json& value) {
  const Skipped skipped = skip();
  if (skipped.depth > kJsonDepth)
    return fail("nested too deeply: at most " + std::to_string(kJsonDepth) + " levels");
  value = Json(skipped.spaced ? json_detail::minified(skipped.text, scratch_) : skipped.text);
  return true;
}

bool JsonReader::enter(Kind wanted, std::string_view name) {
  if (kind() != wanted) return fail_type(name);
  ++at_;
  first_ = true;
  return true;
}

bool JsonReader::next(char close) {
  skip_space();
  if (*at_ == close) {
    ++at_;
    first_ = false;  // of the container around this one
    return false;
  }
  if (!std::exchange(first_, false)) ++at_;  // a comma
  return true;
}

bool JsonReader::next_key(std::string_view& key, std::string& held) {
  if (!next('}')) return false;
  skip_space();
  bool escaped = false;
  key = take_string(escaped);
  if (escaped) {
    unescape(key, held);
    key = held;
  }
  skip_space();
  ++at_;  // a colon
  return true;
}

bool read_json(JsonReader& in, int& value) {
  std::int64_t wide = 0;
  if (!in.read_integer(wide)) return false;
  value = static_cast<int>(wide);
  if (value == wide) return true;
  return in.fail("expected a whole number of 32 bits, got " + std::to_string(wide));
}

bool read_json(JsonReader& in, Text& value) {
  std::string_view text;
  if (!in.read_string(text)) return false;
  value = Text(text);
  return true;
}

bool read_json(JsonReader& in, TimePoint& value) {
  std::string_view text;
  if (!in.read_string(text)) return false;
  auto time = parse_time(text);
  if (!time) return in.fail(std::move(time.error()));
  value = *time;
  return true;
}

}  // namespace retsu
