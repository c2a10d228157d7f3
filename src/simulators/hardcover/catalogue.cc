#include "simulators/hardcover/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/sha256.h"

namespace retsu::simulators::hardcover {
namespace {

constexpr std::uint32_t kWithIsbn = 80;   // in a hundred
constexpr std::uint32_t kWithTitle = 50;  // in a hundred
constexpr std::uint32_t kTwoAuthors = 8;  // one in so many
constexpr std::int32_t kPerPrefix = 1'000'000'000;
constexpr std::int32_t kFirstWithoutIsbn = 2 * kPerPrefix + 1;
constexpr std::uint32_t kLargest = std::numeric_limits<std::int32_t>::max();

struct Known {
  std::string_view isbn;
  std::string_view title;
  std::string_view author;
};
constexpr Known kKnown[] = {
    {"9784873113944", "Small Machines, Patiently Explained", "Haruka Minami"},
};

constexpr std::array<std::string_view, 16> kFirstWords = {
    "Quiet", "Paper",  "Winter",  "Copper", "Distant", "Borrowed", "Northern", "Salt",
    "Glass", "Hidden", "Crooked", "Amber",  "Hollow",  "Patient",  "Scarlet",  "Unwritten"};
constexpr std::array<std::string_view, 16> kSecondWords = {
    "Harbour", "Gardens", "Engines", "Letters",  "Rivers", "Lanterns", "Orchards", "Bridges",
    "Maps",    "Windows", "Stairs",  "Kitchens", "Clocks", "Islands",  "Sparrows", "Libraries"};
constexpr std::array<std::string_view, 16> kGivenNames = {
    "Aiko", "Bruno", "Clara", "Daisuke", "Elif",  "Farid", "Greta", "Hana",
    "Ivo",  "Jun",   "Kirsi", "Lucia",   "Mateo", "Noor",  "Olga",  "Pia"};
constexpr std::array<std::string_view, 16> kFamilyNames = {
    "Albrecht", "Brandt",  "Castell", "Dorne",  "Endo",   "Falk",   "Grimaldi", "Hayashi",
    "Ibsen",    "Jansson", "Kimura",  "Lindow", "Moreau", "Nakata", "Okafor",   "Petrov"};

std::uint32_t chance(std::string_view text) {
  const std::string digits = sha256_hex(text);
  std::uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + 8, number, 16);
  return number;
}

// Small letters and digits with hyphens in between; what is left out is told apart by the id.
std::string slug_of(std::string_view text, std::int32_t id) {
  std::string slug;
  bool whole = true;
  for (const char c : text) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter || (c >= '0' && c <= '9')) {
      slug += is_letter ? static_cast<char>(c | 0x20) : c;
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
    whole &= c >= 0;
  }
  while (slug.ends_with('-')) slug.pop_back();
  if (!whole || slug.empty()) slug += (slug.empty() ? "" : "-") + std::to_string(id);
  return slug;
}

Author author_of(std::string_view name) {
  const auto id = static_cast<std::int32_t>(1 + chance(fmt::format("author:{}", name)) % kLargest);
  return {id, std::string(name), slug_of(name, id)};
}

std::string name_by(std::uint32_t chance) {
  return fmt::format("{} {}", kGivenNames[chance % 16], kFamilyNames[chance / 16 % 16]);
}

Edition edition_of(std::int32_t id, std::string title, std::string_view author) {
  // An odd factor keeps ids apart, modulo a power of two; and nobody mistakes one kind for another.
  constexpr std::uint32_t kFactor = 40'503;
  const auto book = static_cast<std::int32_t>(static_cast<std::uint32_t>(id) * kFactor & kLargest);
  std::string slug = slug_of(title, book);
  return {.id = id,
          .isbn_13 = std::nullopt,
          .book_id = book,
          .title = std::move(title),
          .slug = std::move(slug),
          .authors = {author_of(author)}};
}

std::int32_t number_of(std::string_view digits) {
  std::int32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

int weighted_sum(std::string_view digits) {
  int sum = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) sum += (digits[i] - '0') * (i % 2 == 0 ? 1 : 3);
  return sum;
}

// The ISBN that a title of this catalogue names: there are two with the same nine digits.
std::optional<Edition> edition_named_in(std::string_view title, std::string_view author) {
  const auto fits = [&](const std::optional<Edition>& edition) {
    return edition && edition->title == title && (author.empty() || edition->is_by(author));
  };
  for (const Known& known : kKnown) {
    if (auto edition = edition_by_isbn(known.isbn); fits(edition)) return edition;
  }
  constexpr std::size_t kDigits = 9;
  if (title.size() < kDigits) return std::nullopt;
  for (const std::string_view prefix : {"978", "979"}) {
    std::string isbn = fmt::format("{}{}", prefix, title.substr(title.size() - kDigits));
    if (!std::ranges::all_of(isbn, [](char c) { return c >= '0' && c <= '9'; })) continue;
    isbn += static_cast<char>('0' + (10 - weighted_sum(isbn) % 10) % 10);
    if (auto edition = edition_by_isbn(isbn); fits(edition)) return edition;
  }
  return std::nullopt;
}

}  // namespace

bool Edition::is_by(std::string_view name) const {
  return std::ranges::find(authors, name, &Author::name) != authors.end();
}

bool is_isbn_13(std::string_view text) {
  return text.size() == 13 && (text.starts_with("978") || text.starts_with("979")) &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }) &&
         weighted_sum(text) % 10 == 0;
}

std::optional<Edition> edition_by_isbn(std::string_view isbn) {
  if (!is_isbn_13(isbn)) return std::nullopt;
  const std::string_view digits = isbn.substr(3, 9);
  const std::int32_t id = number_of(digits) + (isbn.starts_with("979") ? kPerPrefix : 0) + 1;
  const auto known = std::ranges::find(kKnown, isbn, &Known::isbn);
  const std::uint32_t dice = chance(fmt::format("isbn:{}", isbn));
  if (known == std::end(kKnown) && dice % 100 >= kWithIsbn) return std::nullopt;
  Edition edition;
  if (known != std::end(kKnown)) {
    edition = edition_of(id, std::string(known->title), known->author);
  } else {
    // Other chances than the one that decided whether it is there.
    const std::uint32_t words = chance(fmt::format("words:{}", isbn));
    edition = edition_of(
        id, fmt::format("{} {} {}", kFirstWords[words % 16], kSecondWords[words / 16 % 16], digits),
        name_by(words >> 8));
    if (words % kTwoAuthors == 0) {
      const Author second = author_of(name_by(words >> 16));
      if (second != edition.authors.front()) edition.authors.push_back(second);
    }
  }
  edition.isbn_13 = std::string(isbn);
  return edition;
}

std::optional<Edition> edition_by_title(std::string_view title, std::string_view author) {
  if (auto edition = edition_named_in(title, author)) return edition;
  if (title.empty() || author.empty()) return std::nullopt;
  const std::uint32_t dice = chance(fmt::format("title:{}\n{}", title, author));
  if (dice % 100 >= kWithTitle) return std::nullopt;
  const std::uint32_t room = kLargest - static_cast<std::uint32_t>(kFirstWithoutIsbn);
  const std::uint32_t place = chance(fmt::format("id:{}\n{}", title, author)) % room;
  return edition_of(kFirstWithoutIsbn + static_cast<std::int32_t>(place), std::string(title),
                    author);
}

}  // namespace retsu::simulators::hardcover
