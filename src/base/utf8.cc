#include "base/utf8.h"

#include <algorithm>

#include "base/json.h"

namespace retsu {
namespace {

constexpr std::size_t kLongestCharacter = 4;

}  // namespace

std::string as_utf8(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string text;
  while (!bytes.empty()) {
    std::size_t size = 1;
    while (size <= std::min(bytes.size(), kLongestCharacter) && !is_utf8(bytes.substr(0, size))) {
      ++size;
    }
    const bool is_character = size <= std::min(bytes.size(), kLongestCharacter);
    if (!is_character) size = 1;
    text += is_character ? bytes.substr(0, size) : "?";
    bytes.remove_prefix(size);
  }
  return text;
}

std::string clipped(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return std::string(text.substr(0, bytes)) + "…";
}

}  // namespace retsu
