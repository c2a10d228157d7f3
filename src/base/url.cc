#include "base/url.h"

#include <charconv>

namespace retsu {
namespace {

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

std::optional<std::string> percent_decoded(std::string_view text, UrlPart part) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && part == UrlPart::kQuery) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      const std::string_view digits = text.substr(i + 1, 2);
      unsigned byte = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
      if (digits.size() < 2 || error != std::errc() || end != digits.data() + 2) {
        return std::nullopt;
      }
      decoded += static_cast<char>(byte);
      i += 2;
    }
  }
  return decoded;
}

std::optional<std::vector<std::pair<std::string, std::string>>> query_parameters(
    std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parameters;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const auto equals = std::min(pair.find('='), pair.size());
    auto name = percent_decoded(pair.substr(0, equals), UrlPart::kQuery);
    auto value = percent_decoded(pair.substr(std::min(equals + 1, pair.size())), UrlPart::kQuery);
    if (!name || !value) return std::nullopt;
    parameters.emplace_back(*std::move(name), *std::move(value));
  }
  return parameters;
}

}  // namespace retsu
