#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace retsu {

// Text from outside with each byte that is not UTF-8 as a question mark.
std::string as_utf8(std::string_view bytes);

// The text, or its first characters and a `…` if it has more bytes than these.
std::string clipped(std::string_view text, std::size_t bytes);

}  // namespace retsu
