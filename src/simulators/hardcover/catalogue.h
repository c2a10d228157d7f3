// The books that the Hardcover stand-in knows. There is no list of them: whether a book is there,
// and what is known of it, follows from its ISBN, or from its title and author, so that a test can
// say what the answer must be.
//
// chance(text) below is the number that the first 8 digits of the text's SHA-256 are, read as
// hexadecimal: easy to compute in any language.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retsu::simulators::hardcover {

struct Author {
  std::int32_t id = 0;  // follows from the name
  std::string name;
  std::string slug;

  bool operator==(const Author&) const = default;
};

// One book has one edition here. Ids are positive, and fit into the Int of GraphQL.
struct Edition {
  std::int32_t id = 0;
  std::optional<std::string> isbn_13;
  std::int32_t book_id = 0;
  std::string title;
  std::string slug;
  std::vector<Author> authors;  // one, or two

  [[nodiscard]] bool is_by(std::string_view name) const;
  bool operator==(const Edition&) const = default;
};

// 13 digits from 978 or 979 on, the last one right. No hyphens.
bool is_isbn_13(std::string_view text);

// There if chance("isbn:" + isbn) % 100 < 80. 9784873113944 always is. The id is one more than the
// nine digits after 978 (979: and 1,000,000,000), so that no two have the same; the title ends with
// these digits.
std::optional<Edition> edition_by_isbn(std::string_view isbn);

// The edition that edition_by_isbn gives, if it has this title and author. Any other title is there
// if chance("title:" + title + "\n" + author) % 100 < 50: an edition without an ISBN, by this
// author, with an id over 2,000,000,000. An empty author means any, and finds only editions that
// have an ISBN; an empty title finds nothing.
std::optional<Edition> edition_by_title(std::string_view title, std::string_view author);

}  // namespace retsu::simulators::hardcover
