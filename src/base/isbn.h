#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace retsu {

// The ISBN-13 of an ISBN-10 or ISBN-13. Hyphens and spaces may stand anywhere, x or X for ten at
// the end of an ISBN-10; check digits must be right, and an ISBN-13 begins with 978 or 979.
// Otherwise what is wrong, to be said behind the text: "has 12 digits, not 10 or 13".
tl::expected<std::uint64_t, std::string> read_isbn(std::string_view text);

// The same, for who need not know what is wrong.
std::optional<std::uint64_t> isbn13_from(std::string_view text);

// Its 13 digits, without hyphens.
std::string isbn13_text(std::uint64_t isbn13);

}  // namespace retsu
