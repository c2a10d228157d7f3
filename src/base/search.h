// Texts that people look for in others: A to Z and a to z are the same to them.
#pragma once

#include <string_view>

namespace retsu {

bool has_part(std::string_view text, std::string_view part);

// As the JSON is written, or as its strings read: `"a\u00e9\/"` has `a\u00e9`, `é/` and `"A`.
bool json_has_part(std::string_view json, std::string_view part);

}  // namespace retsu
