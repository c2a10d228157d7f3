// Books, editions and authors, as they are said in JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "model/error.h"

namespace retsu::library {

using MaybeText = std::optional<std::string>;
using MaybeNumber = std::optional<std::int64_t>;

// In JSON an array of names, or one text with `;` between them, as a column has them.
struct AuthorNames {
  std::vector<std::string> names;
  bool operator==(const AuthorNames&) const = default;
};

// What people say of a book, and may change.
struct BookFields {
  std::string title;
  MaybeText isbn13;  // of its first edition; any spelling comes in, 13 digits go out
  AuthorNames authors;
  MaybeNumber hardcover_id;
  MaybeText hardcover_slug;
  MaybeText long_title;
  MaybeText synopsis;
  MaybeText open_library_id;
  MaybeText good_reads_id;
  MaybeText publisher;
  MaybeText publication_date;
  MaybeText binding;
  bool operator==(const BookFields&) const = default;
};

struct Author {
  std::string id;
  std::string name;
  MaybeNumber hardcover_id;
  MaybeText hardcover_slug;
  MaybeText open_library_id;
  MaybeText good_reads_id;
};

struct Edition {
  std::string id;
  MaybeText isbn13;
  MaybeText publisher;
  MaybeText publication_date;
  MaybeText binding;
  MaybeNumber hardcover_id;
};

// How the search for its Hardcover id goes.
struct Search {
  bool queued = false;        // waits, or is with a client
  std::int64_t attempts = 0;  // that ended in some way
  MaybeText reason;           // why there is no id after the last one
  std::optional<TimePoint> checked_at;
};

struct Book {
  std::string id;
  BookFields fields;  // in JSON they stand beside the others
  TimePoint created_at;
  TimePoint updated_at;
  std::vector<Author> author_details;
  std::vector<Edition> editions;
  Search search;
};

// A book as a client gets it to look it up.
struct MissingBook {
  std::string edition_id;
  std::string book_id;
  std::string title;
  MaybeText isbn13;
  std::vector<Author> authors;
  MaybeNumber book_hardcover_id;
  MaybeText book_hardcover_slug;
  MaybeText book_open_library_id;
  MaybeText book_good_reads_id;
};

constexpr auto fields_of(std::type_identity<BookFields>) {
  return List{Field{"title", &BookFields::title, kRequired},
              Field{"isbn13", &BookFields::isbn13},
              Field{"authors", &BookFields::authors, kAlwaysShown},
              Field{"hardcoverId", &BookFields::hardcover_id, kAlwaysShown},
              Field{"hardcoverSlug", &BookFields::hardcover_slug},
              Field{"longTitle", &BookFields::long_title},
              Field{"synopsis", &BookFields::synopsis},
              Field{"openLibraryId", &BookFields::open_library_id},
              Field{"goodReadsId", &BookFields::good_reads_id},
              Field{"publisher", &BookFields::publisher},
              Field{"publicationDate", &BookFields::publication_date},
              Field{"binding", &BookFields::binding}};
}
constexpr auto fields_of(std::type_identity<Author>) {
  return List{Field{"id", &Author::id},
              Field{"name", &Author::name},
              Field{"hardcoverId", &Author::hardcover_id, kAlwaysShown},
              Field{"hardcoverSlug", &Author::hardcover_slug, kAlwaysShown},
              Field{"openLibraryId", &Author::open_library_id, kAlwaysShown},
              Field{"goodReadsId", &Author::good_reads_id, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<Edition>) {
  return List{Field{"id", &Edition::id},
              Field{"isbn13", &Edition::isbn13, kAlwaysShown},
              Field{"publisher", &Edition::publisher},
              Field{"publicationDate", &Edition::publication_date},
              Field{"binding", &Edition::binding},
              Field{"hardcoverId", &Edition::hardcover_id, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<Search>) {
  return List{Field{"queued", &Search::queued, kAlwaysShown}, Field{"attempts", &Search::attempts},
              Field{"reason", &Search::reason}, Field{"checkedAt", &Search::checked_at}};
}
constexpr auto fields_of(std::type_identity<Book>) {
  return List{Field{"id", &Book::id},
              Field{"", &Book::fields},
              Field{"createdAt", &Book::created_at},
              Field{"updatedAt", &Book::updated_at},
              Field{"authorDetails", &Book::author_details, kAlwaysShown},
              Field{"editions", &Book::editions, kAlwaysShown},
              Field{"search", &Book::search}};
}
constexpr auto fields_of(std::type_identity<MissingBook>) {
  return List{Field{"editionId", &MissingBook::edition_id},
              Field{"bookId", &MissingBook::book_id},
              Field{"title", &MissingBook::title},
              Field{"isbn13", &MissingBook::isbn13, kAlwaysShown},
              Field{"authors", &MissingBook::authors, kAlwaysShown},
              Field{"bookHardcoverId", &MissingBook::book_hardcover_id, kAlwaysShown},
              Field{"bookHardcoverSlug", &MissingBook::book_hardcover_slug, kAlwaysShown},
              Field{"bookOpenLibraryId", &MissingBook::book_open_library_id, kAlwaysShown},
              Field{"bookGoodReadsId", &MissingBook::book_good_reads_id, kAlwaysShown}};
}

// `a; b` as names, without white space around them and without empty ones.
AuthorNames split_authors(std::string_view text);

// What is wrong is told by field: `isbn13: has a wrong check digit`. Puts the ISBN into its one
// form, and drops what is said twice.
Status normalize(BookFields& book);

// Of anything that Hardcover has an id for. `field` stands before what is wrong.
Status check_hardcover(std::string_view field, const MaybeNumber& id, const MaybeText& slug);

}  // namespace retsu::library

namespace retsu {
bool read_json(JsonReader& in, library::AuthorNames& value);
void write_json(JsonWriter& to, const library::AuthorNames& value);
}  // namespace retsu
