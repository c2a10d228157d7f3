#pragma once

#include <string>
#include <string_view>

namespace retsu {

// Text from outside with each byte that is not UTF-8 as a question mark.
std::string as_utf8(std::string_view bytes);

}  // namespace retsu
