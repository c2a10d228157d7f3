#include "base/isbn.h"

#include <fmt/format.h>

#include <array>
#include <span>

namespace retsu {
namespace {

constexpr std::size_t kShort = 10;
constexpr std::size_t kLong = 13;
constexpr unsigned kTen = 10;  // written as X
constexpr std::uint64_t kPrefix = 978;
constexpr std::uint64_t kLaterPrefix = 979;  // which no ISBN-10 has

constexpr bool is_separator(char c) { return c == '-' || c == ' '; }

constexpr std::optional<unsigned> digit_of(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c == 'x' || c == 'X') return kTen;
  return std::nullopt;
}

std::uint64_t number_of(std::span<const unsigned> digits) {
  std::uint64_t number = 0;
  for (const unsigned digit : digits) number = number * 10 + digit;
  return number;
}

bool checks_short(std::span<const unsigned> digits) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < kShort; ++i) sum += digits[i] * static_cast<unsigned>(kShort - i);
  return sum % 11 == 0;
}

// The last digit for a number that ends with 0.
unsigned check_digit(std::uint64_t isbn13) {
  unsigned sum = 0;
  for (unsigned weight = 1; isbn13 > 0; isbn13 /= 10, weight = 4 - weight) {
    sum += static_cast<unsigned>(isbn13 % 10) * weight;
  }
  return (10 - sum % 10) % 10;
}

tl::unexpected<std::string> wrong(std::string what) { return tl::unexpected(std::move(what)); }

}  // namespace

tl::expected<std::uint64_t, std::string> read_isbn(std::string_view text) {
  std::array<unsigned, kLong> digits{};
  std::size_t count = 0;
  std::size_t tens = 0;
  for (const char c : text) {
    if (is_separator(c)) continue;
    const auto digit = digit_of(c);
    if (!digit) return wrong("has a character that is no digit, hyphen or space");
    if (count < kLong) digits[count] = *digit;
    if (*digit == kTen) ++tens;
    ++count;
  }
  if (count == 0) return wrong("is empty");
  if (count != kShort && count != kLong) {
    return wrong(fmt::format("has {} digit{}, not 10 or 13", count, count == 1 ? "" : "s"));
  }
  const bool may_end_with_ten = count == kShort && digits[kShort - 1] == kTen;
  if (tens > (may_end_with_ten ? 1 : 0)) {
    return wrong("has an X that is not the last digit of an ISBN-10");
  }
  if (count == kShort) {
    if (!checks_short(digits)) return wrong("has a wrong check digit");
    const auto body = number_of(std::span(digits).first<kShort - 1>());
    const std::uint64_t base = (kPrefix * 1'000'000'000 + body) * 10;
    return base + check_digit(base);
  }
  const std::uint64_t isbn13 = number_of(digits);
  if (check_digit(isbn13 - isbn13 % 10) != isbn13 % 10) return wrong("has a wrong check digit");
  const std::uint64_t prefix = number_of(std::span(digits).first<3>());
  if (prefix != kPrefix && prefix != kLaterPrefix) {
    return wrong("is no book: it does not begin with 978 or 979");
  }
  return isbn13;
}

std::optional<std::uint64_t> isbn13_from(std::string_view text) {
  const auto isbn13 = read_isbn(text);
  return isbn13 ? std::optional(*isbn13) : std::nullopt;
}

std::string isbn13_text(std::uint64_t isbn13) { return fmt::format("{:013}", isbn13); }

}  // namespace retsu
