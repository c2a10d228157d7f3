#include "base/json_escapes.h"

#include <charconv>

namespace retsu {
namespace {

unsigned read_hex4(const char* at) {
  unsigned value = 0;
  std::from_chars(at, at + 4, value, 16);
  return value;
}

char* write_utf8(char* out, unsigned point) {
  const auto put = [&](unsigned byte) { *out++ = static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xc0 | point >> 6);
    put(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    put(0xe0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3f));
    put(0x80 | (point & 0x3f));
  } else {
    put(0xf0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3f));
    put(0x80 | (point >> 6 & 0x3f));
    put(0x80 | (point & 0x3f));
  }
  return out;
}

char unescaped(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;
  }
}

}  // namespace

void unescape(std::string_view text, std::string& value) {
  value.resize(text.size());
  char* out = value.data();
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    if (*at != '\\') {
      *out++ = *at++;
    } else if (at[1] != 'u') {
      *out++ = unescaped(at[1]);
      at += 2;
    } else {
      unsigned point = read_hex4(at + 2);
      at += 6;
      if (point >= 0xd800 && point < 0xdc00) {  // half of a pair
        point = 0x10000 + ((point - 0xd800) << 10) + (read_hex4(at + 2) - 0xdc00);
        at += 6;
      }
      out = write_utf8(out, point);
    }
  }
  value.resize(static_cast<std::size_t>(out - value.data()));
}

}  // namespace retsu
