// What is asked of Hardcover's GraphQL API, and what it answers. See https://docs.hardcover.app.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/fields.h"
#include "model/error.h"

namespace retsu::library {

// A book to look for: by its ISBN if there is one, else by its title and one of its authors, both
// exactly as they are written. Without an author nothing is found: many books share a title.
struct LookupQuery {
  std::string isbn13;
  std::string title;
  std::string author;

  bool operator==(const LookupQuery&) const = default;
};
constexpr auto fields_of(std::type_identity<LookupQuery>) {
  return List{Field{"isbn13", &LookupQuery::isbn13}, Field{"title", &LookupQuery::title},
              Field{"author", &LookupQuery::author}};
}

// The JSON to post. Its values, valid UTF-8, stand in the variables, so none can change the query.
std::string request_body(const LookupQuery& query);

struct FoundAuthor {
  std::int64_t id = 0;
  std::string name;
  std::string slug;  // empty: not said

  bool operator==(const FoundAuthor&) const = default;
};
constexpr auto fields_of(std::type_identity<FoundAuthor>) {
  return List{Field{"id", &FoundAuthor::id, kRequired}, Field{"name", &FoundAuthor::name},
              Field{"slug", &FoundAuthor::slug}};
}

struct Found {
  std::int64_t edition_id = 0;
  std::int64_t book_id = 0;
  std::string book_slug;             // empty: not said
  std::string title;                 // of the book
  std::vector<FoundAuthor> authors;  // each once, in the order of the answer

  bool operator==(const Found&) const = default;
};
constexpr auto fields_of(std::type_identity<Found>) {
  return List{Field{"editionId", &Found::edition_id, kRequired},
              Field{"bookId", &Found::book_id, kRequired}, Field{"bookSlug", &Found::book_slug},
              Field{"title", &Found::title}, Field{"authors", &Found::authors}};
}

// The first edition of an answer that has an id, and a book that has one; none, if nothing was
// found. Null is nothing said, and an id below 1 is none; authors without an id or name are left
// out.
//
// Errors that the answer tells become one, with their messages: `invalid` or `unauthorized` if the
// same request will fail again, `overloaded` if it came too soon, else `unavailable`. What is not
// JSON is `unavailable` too, because it comes from something in between; JSON of another shape is
// `invalid`.
Result<std::optional<Found>> read_found(std::string_view body);

}  // namespace retsu::library
