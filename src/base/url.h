// The parts of a URL that are text in other clothes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retsu {

// Everything but letters, digits and -._~ as %XX: fit for a segment of a path, or a value in a
// query.
std::string percent_encoded(std::string_view text);

// None: a % that two hexadecimal digits do not follow. In a query, + is a space.
enum class UrlPart : bool { kPath, kQuery };
std::optional<std::string> percent_decoded(std::string_view text, UrlPart part);

// `a=1&b=x%20y` as names and values, in their order. A name without = has the value "".
std::optional<std::vector<std::pair<std::string, std::string>>> query_parameters(
    std::string_view query);

}  // namespace retsu
