#include "simulators/graphql_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace retsu::simulators {
namespace {

using Kind = GraphqlToken::Kind;

constexpr std::string_view kSigns = "!$():=@[]{|}&";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct Escape {
  char written;
  char meant;
};
constexpr Escape kEscapes[] = {{'"', '"'},  {'\\', '\\'}, {'/', '/'},  {'b', '\b'},
                               {'f', '\f'}, {'n', '\n'},  {'r', '\r'}, {'t', '\t'}};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool continues_name(char c) { return begins_name(c) || is_digit(c); }

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

void append_character(std::string& out, std::uint32_t code) {
  const auto part = [&](std::uint32_t bits) { out += static_cast<char>(bits); };
  if (code < 0x80) return part(code);
  if (code < 0x800) {
    part(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    part(0xE0 | code >> 12);
    part(0x80 | (code >> 6 & 0x3F));
  } else {
    part(0xF0 | code >> 18);
    part(0x80 | (code >> 12 & 0x3F));
    part(0x80 | (code >> 6 & 0x3F));
  }
  part(0x80 | (code & 0x3F));
}

}  // namespace

std::string GraphqlToken::shown() const {
  if (kind == Kind::kEnd) return "the end";
  if (kind == Kind::kString) return "a string";
  return fmt::format("\"{}\"", text);
}

GraphqlLexer::GraphqlLexer(std::string_view text) : rest_(text) {
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

void GraphqlLexer::advance(std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    const char c = rest_[i];
    const bool ends_line = c == '\n' || (c == '\r' && !rest_.substr(i + 1).starts_with('\n'));
    if (ends_line) {
      ++place_.line;
      place_.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
      ++place_.column;
    }
  }
  rest_.remove_prefix(bytes);
}

void GraphqlLexer::skip_blanks() {
  for (;;) {
    advance(std::min(rest_.find_first_not_of(" \t\r\n,"), rest_.size()));
    if (!rest_.starts_with('#')) return;
    advance(std::min(rest_.find_first_of("\r\n"), rest_.size()));
  }
}

GraphqlToken GraphqlLexer::take(Kind kind, std::size_t bytes) {
  GraphqlToken token{kind, std::string(rest_.substr(0, bytes)), place_};
  advance(bytes);
  return token;
}

GraphqlToken GraphqlLexer::bad(std::string message) {
  return {Kind::kBad, std::move(message), place_};
}

GraphqlToken GraphqlLexer::next() {
  skip_blanks();
  if (rest_.empty()) return {Kind::kEnd, "", place_};
  const char first = rest_.front();
  if (rest_.starts_with("...")) return take(Kind::kSign, 3);
  if (kSigns.find(first) != std::string_view::npos) return take(Kind::kSign, 1);
  if (first == '"') return string();
  if (first == '-' || is_digit(first)) return number();
  if (!begins_name(first)) return bad("a character that has no meaning here");
  const auto end = std::ranges::find_if_not(rest_, continues_name);
  return take(Kind::kName, static_cast<std::size_t>(end - rest_.begin()));
}

GraphqlToken GraphqlLexer::number() {
  std::size_t size = rest_.front() == '-' ? 1 : 0;
  const std::size_t whole = digits_at(rest_, size);
  if (whole == 0) return bad("a number without digits");
  if (whole > 1 && rest_[size] == '0') return bad("a number that begins with 0");
  size += whole;
  Kind kind = Kind::kInteger;
  if (rest_.substr(size).starts_with('.')) {
    const std::size_t digits = digits_at(rest_, size + 1);
    if (digits == 0) return bad("a number without digits after its point");
    size += 1 + digits;
    kind = Kind::kNumber;
  }
  if (size < rest_.size() && (rest_[size] == 'e' || rest_[size] == 'E')) {
    const std::string_view after = rest_.substr(size + 1);
    const std::size_t sign = after.starts_with('+') || after.starts_with('-') ? 1 : 0;
    const std::size_t digits = digits_at(after, sign);
    if (digits == 0) return bad("a number without digits in its exponent");
    size += 1 + sign + digits;
    kind = Kind::kNumber;
  }
  const bool goes_on = size < rest_.size() && (continues_name(rest_[size]) || rest_[size] == '.');
  return goes_on ? bad("a number that runs into something else") : take(kind, size);
}

GraphqlToken GraphqlLexer::string() {
  if (rest_.starts_with("\"\"\"")) return bad("block strings (\"\"\") are not known here");
  GraphqlToken token{Kind::kString, "", place_};
  for (advance(1);;) {
    const std::size_t plain = std::min(rest_.find_first_of("\"\\\r\n"), rest_.size());
    const std::string_view piece = rest_.substr(0, plain);
    if (std::ranges::any_of(piece, [](char c) { return c >= 0 && c < ' ' && c != '\t'; })) {
      return bad("a control character in a string");
    }
    token.text += piece;
    advance(plain);
    if (rest_.empty() || rest_.front() == '\r' || rest_.front() == '\n') {
      return bad("a string that does not end on its line");
    }
    if (rest_.front() == '"') {
      advance(1);
      return token;
    }
    if (!escape(token.text)) return bad("an escape that does not exist");
  }
}

bool GraphqlLexer::escape(std::string& content) {
  if (rest_.size() < 2) return false;
  for (const Escape& row : kEscapes) {
    if (row.written != rest_[1]) continue;
    content += row.meant;
    advance(2);
    return true;
  }
  constexpr std::size_t kSize = std::string_view("\\u0000").size();
  const auto is_half = [](std::uint32_t code, std::uint32_t first) {
    return code >= first && code < first + 0x400;
  };
  std::optional<std::uint32_t> code = hexadecimal();
  if (!code || is_half(*code, 0xDC00)) return false;
  if (is_half(*code, 0xD800)) {
    advance(kSize);
    const auto low = hexadecimal();
    if (!low || !is_half(*low, 0xDC00)) return false;
    code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
  }
  append_character(content, *code);
  advance(kSize);
  return true;
}

std::optional<std::uint32_t> GraphqlLexer::hexadecimal() const {
  if (!rest_.starts_with("\\u") || rest_.size() < 6) return std::nullopt;
  std::uint32_t code = 0;
  const char* const end = rest_.data() + 6;
  const auto read = std::from_chars(rest_.data() + 2, end, code, 16);
  return read.ec == std::errc() && read.ptr == end ? std::optional(code) : std::nullopt;
}

}  // namespace retsu::simulators
