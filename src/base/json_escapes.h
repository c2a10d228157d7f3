#pragma once

#include <string>
#include <string_view>

namespace retsu {

// The characters that JSON text stands for, of a string or of any part that splits no escape; it
// comes from a text that passed check_json. Never longer than that.
void unescape(std::string_view text, std::string& value);

}  // namespace retsu
