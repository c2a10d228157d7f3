#include "base/json_writer.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace retsu {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101;

// Marks the bytes of a word that are zero. Only the lowest mark is sure to be right.
constexpr std::uint64_t zeros(std::uint64_t word) { return (word - kOnes) & ~word & (kOnes << 7); }

constexpr bool needs_escape(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
}

const char* find_escape(const char* at, const char* end) {
  static_assert(std::endian::native == std::endian::little);
  for (; end - at >= 8; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    const std::uint64_t controls = (word - kOnes * 0x20) & ~word & (kOnes << 7);
    if (const auto marks = controls | zeros(word ^ kOnes * '"') | zeros(word ^ kOnes * '\\');
        marks != 0)
      return at + std::countr_zero(marks) / 8;
  }
  while (at != end && !needs_escape(*at)) ++at;
  return at;
}

void append_escaped(std::string& out, char c) {
  constexpr std::string_view kPlain = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '\\';
  if (const auto i = kPlain.find(c); i != std::string_view::npos) {
    out += kLetters[i];
  } else {
    out += "u00";
    out += kHex[static_cast<unsigned char>(c) >> 4];
    out += kHex[static_cast<unsigned char>(c) & 15];
  }
}

}  // namespace

void JsonWriter::number(double value) {
  if (!std::isfinite(value)) return null();
  char digits[32];
  char* const last = digits + sizeof digits;
  // The shortest text of a large one may be a whole number, and those must fit into 64 bits.
  const auto end = std::abs(value) < 1e18
                       ? std::to_chars(digits, last, value).ptr
                       : std::to_chars(digits, last, value, std::chars_format::scientific).ptr;
  out_.append(digits, static_cast<std::size_t>(end - digits));
}

void JsonWriter::string(std::string_view value) {
  out_ += '"';
  const char* at = value.data();
  const char* end = at + value.size();
  for (;;) {
    const char* special = find_escape(at, end);
    out_.append(at, special);
    if (special == end) break;
    append_escaped(out_, *special);
    at = special + 1;
  }
  out_ += '"';
}

void JsonWriter::key(std::string_view name) {
  if (out_.back() != '{') out_ += ',';
  string(name);
  out_ += ':';
}

void write_json(JsonWriter& to, const TimePoint& value) { to.string(format_time(value)); }

}  // namespace retsu
