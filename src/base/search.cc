#include "base/search.h"

#include <algorithm>
#include <string>

#include "base/json.h"
#include "base/json_escapes.h"

namespace retsu {
namespace {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

}  // namespace

bool has_part(std::string_view text, std::string_view part) {
  return !std::ranges::search(text, part, {}, lower, lower).empty() || part.empty();
}

bool json_has_part(std::string_view json, std::string_view part) {
  if (has_part(json, part)) return true;
  // It may come from a damaged file.
  if (json.find('\\') == json.npos || !is_json(json)) return false;
  std::string plain;
  unescape(json, plain);
  return has_part(plain, part);
}

}  // namespace retsu
