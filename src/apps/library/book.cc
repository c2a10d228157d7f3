#include "apps/library/book.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/isbn.h"

namespace retsu::library {
namespace {

constexpr std::size_t kMostAuthors = 50;
constexpr std::size_t kAuthorBytes = 300;
constexpr std::size_t kSlugBytes = 300;
constexpr std::int64_t kMostId = (std::int64_t{1} << 53) - 1;  // what all readers of JSON can hold

Status invalid(std::string_view field, std::string_view what) {
  return refuse(ErrorCode::kInvalid, fmt::format("{}: {}", field, what));
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto from = text.find_first_not_of(kSpace);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kSpace) - from + 1);
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(
      text, [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; });
}

struct TextRule {
  std::string_view name;
  MaybeText BookFields::*member;
  std::size_t most;
};
constexpr TextRule kTexts[] = {
    {"longTitle", &BookFields::long_title, 2'000},
    {"synopsis", &BookFields::synopsis, 32 << 10},
    {"openLibraryId", &BookFields::open_library_id, 100},
    {"goodReadsId", &BookFields::good_reads_id, 100},
    {"publisher", &BookFields::publisher, 500},
    {"publicationDate", &BookFields::publication_date, 50},
    {"binding", &BookFields::binding, 100},
};

Status check_text(std::string_view field, std::string_view text, std::size_t most) {
  if (text.size() > most) {
    return invalid(field, fmt::format("{} bytes, but at most {} are allowed", text.size(), most));
  }
  if (has_control(text)) return invalid(field, "has a control character");
  return {};
}

}  // namespace

AuthorNames split_authors(std::string_view text) {
  AuthorNames authors;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), name.size() + 1));
    if (const auto bare = trimmed(name); !bare.empty()) authors.names.emplace_back(bare);
  }
  return authors;
}

Status check_hardcover(std::string_view field, const MaybeNumber& id, const MaybeText& slug) {
  if (id && (*id < 1 || *id > kMostId)) {
    return invalid(fmt::format("{}hardcoverId", field),
                   fmt::format("must be a whole number from 1 to {}", kMostId));
  }
  return slug ? check_text(fmt::format("{}hardcoverSlug", field), *slug, kSlugBytes) : Status();
}

Status normalize(BookFields& book) {
  book.title = trimmed(book.title);
  if (book.title.empty()) return invalid("title", "must not be empty");
  if (auto fine = check_text("title", book.title, 1'000); !fine) return fine;
  if (book.hardcover_slug && book.hardcover_slug->empty()) book.hardcover_slug.reset();
  for (const TextRule& rule : kTexts) {
    MaybeText& text = book.*rule.member;
    if (text && trimmed(*text).empty()) text.reset();
    if (!text) continue;
    if (auto fine = check_text(rule.name, *text, rule.most); !fine) return fine;
  }
  if (book.isbn13 && trimmed(*book.isbn13).empty()) book.isbn13.reset();
  if (book.isbn13) {
    const auto isbn = read_isbn(*book.isbn13);
    if (!isbn) return invalid("isbn13", isbn.error());
    book.isbn13 = isbn13_text(*isbn);
  }
  if (auto fine = check_hardcover("", book.hardcover_id, book.hardcover_slug); !fine) return fine;
  std::vector<std::string> names;
  for (const std::string& each : book.authors.names) {
    const auto name = trimmed(each);
    if (name.empty()) return invalid("authors", "a name is empty");
    if (auto fine = check_text("authors", name, kAuthorBytes); !fine) return fine;
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  }
  if (names.size() > kMostAuthors) {
    return invalid("authors", fmt::format("at most {} are allowed", kMostAuthors));
  }
  book.authors.names = std::move(names);
  return {};
}

}  // namespace retsu::library

namespace retsu {

bool read_json(JsonReader& in, library::AuthorNames& value) {
  if (in.kind() == JsonReader::Kind::kString) {
    std::string text;
    if (!in.read_string(text)) return false;
    value = library::split_authors(text);
    return true;
  }
  return read_json(in, value.names);
}

void write_json(JsonWriter& to, const library::AuthorNames& value) { write_json(to, value.names); }

}  // namespace retsu
