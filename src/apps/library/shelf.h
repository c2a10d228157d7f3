// Books, editions and authors in their tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/database.h"
#include "apps/library/book.h"
#include "apps/library/operations.h"
#include "base/uuid.h"

namespace retsu::library {

// What the queue has to know of a book.
struct BookRow {
  std::int64_t number = 0;
  std::string id;
  bool has_id = false;  // of Hardcover
  MaybeNumber task;     // while it is in the queue
  MaybeNumber last_task;
};

// Failures stick to the database, see there: what is answered then means nothing. What changes
// something is called inside a transaction.
class Shelf {
 public:
  explicit Shelf(apps::Database& database) : database_(database) {}

  std::optional<BookRow> find(const std::string& id);
  std::optional<BookRow> find_by_isbn(std::int64_t isbn13);
  // The same book: of the same ISBN or, if it has none, another one without that has the same title
  // and authors.
  std::optional<BookRow> find_same(const BookFields& fields);
  Book read(const BookRow& row);
  MissingBook read_missing(const BookRow& row);
  BookPage list(const ListBooks& asked);  // isbn13 in its one form

  // Fields are normalized.
  BookRow add(const BookFields& fields, TimePoint now);
  // Refused: another book has the ISBN.
  Status change(const BookRow& row, const BookFields& fields, TimePoint now);
  Status add_edition(const BookRow& row, const BookFields& edition, TimePoint now);
  void remove(const BookRow& row);

  // What Hardcover calls it. Editions and authors that are none of the book's are passed over;
  // `check_ids` refuses them.
  struct Ids {
    MaybeNumber book;
    MaybeText slug;
    std::optional<HardcoverIds> edition;
    std::vector<HardcoverIds> authors;
  };
  Status check_ids(const BookRow& row, const Ids& ids);
  void set_ids(const BookRow& row, const Ids& ids, TimePoint now);

  std::vector<BookRow> queued_after(std::int64_t number, std::int64_t most);
  // Its task has ended without the library. With no reason, that of the last attempt stays.
  void leave_queue(const BookRow& row, const std::string& reason);
  void rejoin_queue(const BookRow& row);  // with the task that it had last

  // A search that ended without an id.
  void note_attempt(const BookRow& row, const std::string& reason, TimePoint now);

  struct Counts {
    std::int64_t books = 0;
    std::int64_t with_id = 0;
    std::int64_t not_queued = 0;  // of those without
  };
  Counts count();

 private:
  std::vector<Author> authors_of(std::int64_t number);
  std::vector<Edition> editions_of(std::int64_t number);
  void set_authors(std::int64_t number, const AuthorNames& authors, TimePoint now);
  void insert_edition(std::int64_t book, const BookFields& fields, TimePoint now);

  apps::Database& database_;
  UuidSource ids_;
};

}  // namespace retsu::library
