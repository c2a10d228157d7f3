#include "apps/library/shelf.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <charconv>

#include "base/isbn.h"

namespace retsu::library {
namespace {

MaybeNumber number_of(const MaybeText& isbn13) {
  if (!isbn13) return std::nullopt;
  const auto read = isbn13_from(*isbn13);
  return read ? MaybeNumber(static_cast<std::int64_t>(*read)) : std::nullopt;
}

MaybeText text_of(const MaybeNumber& isbn13) {
  return isbn13 ? MaybeText(isbn13_text(static_cast<std::uint64_t>(*isbn13))) : std::nullopt;
}

Error taken(const std::string& isbn13, const std::string& by) {
  return {ErrorCode::kConflict, fmt::format("isbn13: {} is an edition of book {}", isbn13, by),
          fmt::format(R"({{"bookId":"{}"}})", by)};
}

std::int64_t name_hash(const BookFields& fields) {
  std::string text = fields.title;
  for (const std::string& author : fields.authors.names) text += '\n' + author;
  return static_cast<std::int64_t>(XXH3_64bits(text.data(), text.size()));
}

constexpr std::string_view kUnmatched =
    "(hardcover_id IS NULL AND task IS NULL AND reason IS NOT NULL)";

bool fits(const ListBooks& asked, const Book& book) {
  const bool is_missing = !book.fields.hardcover_id;
  const bool is_unmatched = is_missing && !book.search.queued && book.search.reason;
  return asked.missing.value_or(is_missing) == is_missing &&
         asked.unmatched.value_or(is_unmatched) == is_unmatched;
}

// One text for each of the nine ways to ask, so that an index serves those that name few books.
std::string_view list_sql(const ListBooks& asked) {
  static constexpr std::string_view kMissing[] = {"", " AND hardcover_id IS NOT NULL",
                                                  " AND hardcover_id IS NULL"};
  static const auto kTexts = [] {
    std::array<std::string, 9> texts;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      texts[i] = fmt::format("SELECT number, id FROM books WHERE number > ?{}", kMissing[i / 3]);
      if (i % 3 > 0) texts[i] += fmt::format(" AND {}{}", i % 3 == 1 ? "NOT " : "", kUnmatched);
      texts[i] += " ORDER BY number LIMIT ?";
    }
    return texts;
  }();
  const auto choice = [](const std::optional<bool>& flag) -> std::size_t {
    return flag ? (*flag ? 2 : 1) : 0;
  };
  return kTexts[choice(asked.missing) * 3 + choice(asked.unmatched)];
}

}  // namespace

std::optional<BookRow> Shelf::find(const std::string& id) {
  apps::Rows rows = database_.query(
      "SELECT number, id, hardcover_id IS NOT NULL, task, last_task FROM books WHERE id = ?", id);
  if (!rows.next()) return std::nullopt;
  return BookRow{rows.integer(0), rows.text(1), rows.integer(2) != 0, rows.maybe<std::int64_t>(3),
                 rows.maybe<std::int64_t>(4)};
}

std::optional<BookRow> Shelf::find_by_isbn(std::int64_t isbn13) {
  std::string id;
  {
    apps::Rows rows = database_.query(
        "SELECT books.id FROM editions JOIN books ON books.number = editions.book"
        " WHERE isbn13 = ?",
        isbn13);
    if (!rows.next()) return std::nullopt;
    id = rows.text(0);
  }
  return find(id);
}

std::optional<BookRow> Shelf::find_same(const BookFields& fields) {
  if (const auto isbn = number_of(fields.isbn13)) return find_by_isbn(*isbn);
  std::vector<std::string> ids;
  {
    apps::Rows rows =
        database_.query("SELECT id FROM books WHERE name_hash = ?", name_hash(fields));
    while (rows.next()) ids.push_back(rows.text(0));
  }
  for (const std::string& id : ids) {
    const auto row = find(id);
    const BookFields there = row ? read(*row).fields : BookFields();
    if (!there.isbn13 && there.title == fields.title && there.authors == fields.authors) return row;
  }
  return std::nullopt;
}

std::vector<Author> Shelf::authors_of(std::int64_t number) {
  std::vector<Author> authors;
  apps::Rows rows = database_.query(
      "SELECT id, name, hardcover_id, hardcover_slug, open_library_id, good_reads_id"
      " FROM book_authors JOIN authors ON authors.number = author WHERE book = ? ORDER BY place",
      number);
  while (rows.next()) {
    authors.push_back({rows.text(0), rows.text(1), rows.maybe<std::int64_t>(2),
                       rows.maybe<std::string>(3), rows.maybe<std::string>(4),
                       rows.maybe<std::string>(5)});
  }
  return authors;
}

std::vector<Edition> Shelf::editions_of(std::int64_t number) {
  std::vector<Edition> editions;
  apps::Rows rows = database_.query(
      "SELECT id, isbn13, publisher, publication_date, binding, hardcover_id FROM editions"
      " WHERE book = ? ORDER BY number",
      number);
  while (rows.next()) {
    editions.push_back({rows.text(0), text_of(rows.maybe<std::int64_t>(1)),
                        rows.maybe<std::string>(2), rows.maybe<std::string>(3),
                        rows.maybe<std::string>(4), rows.maybe<std::int64_t>(5)});
  }
  return editions;
}

Book Shelf::read(const BookRow& row) {
  Book book;
  book.id = row.id;
  book.author_details = authors_of(row.number);
  book.editions = editions_of(row.number);
  apps::Rows rows = database_.query(
      "SELECT title, long_title, synopsis, open_library_id, good_reads_id, hardcover_id,"
      " hardcover_slug, created_at, updated_at, task, attempts, reason, checked_at"
      " FROM books WHERE number = ?",
      row.number);
  if (!rows.next()) return book;
  BookFields& fields = book.fields;
  fields.title = rows.text(0);
  fields.long_title = rows.maybe<std::string>(1);
  fields.synopsis = rows.maybe<std::string>(2);
  fields.open_library_id = rows.maybe<std::string>(3);
  fields.good_reads_id = rows.maybe<std::string>(4);
  fields.hardcover_id = rows.maybe<std::int64_t>(5);
  fields.hardcover_slug = rows.maybe<std::string>(6);
  book.created_at = rows.time(7);
  book.updated_at = rows.time(8);
  book.search = {!rows.is_null(9), rows.integer(10), rows.maybe<std::string>(11),
                 rows.maybe<TimePoint>(12)};
  if (!book.editions.empty()) {
    const Edition& first = book.editions.front();
    fields.isbn13 = first.isbn13;
    fields.publisher = first.publisher;
    fields.publication_date = first.publication_date;
    fields.binding = first.binding;
  }
  for (const Author& author : book.author_details) fields.authors.names.push_back(author.name);
  return book;
}

MissingBook Shelf::read_missing(const BookRow& row) {
  MissingBook missing{.book_id = row.id, .authors = authors_of(row.number)};
  // An edition with an ISBN can be looked up by it.
  apps::Rows rows = database_.query(
      "SELECT title, books.hardcover_id, hardcover_slug, open_library_id, good_reads_id,"
      " editions.id, isbn13 FROM books LEFT JOIN editions ON book = books.number"
      " WHERE books.number = ? ORDER BY isbn13 IS NULL, editions.number LIMIT 1",
      row.number);
  if (!rows.next()) return missing;
  missing.title = rows.text(0);
  missing.book_hardcover_id = rows.maybe<std::int64_t>(1);
  missing.book_hardcover_slug = rows.maybe<std::string>(2);
  missing.book_open_library_id = rows.maybe<std::string>(3);
  missing.book_good_reads_id = rows.maybe<std::string>(4);
  missing.edition_id = rows.text(5);
  missing.isbn13 = text_of(rows.maybe<std::int64_t>(6));
  return missing;
}

BookPage Shelf::list(const ListBooks& asked) {
  std::int64_t after = 0;
  std::from_chars(asked.cursor.data(), asked.cursor.data() + asked.cursor.size(), after);
  std::vector<BookRow> found;
  if (const auto isbn = number_of(asked.isbn13.empty() ? MaybeText() : asked.isbn13)) {
    const auto row = find_by_isbn(*isbn);
    if (row && row->number > after && fits(asked, read(*row))) found.push_back(*row);
  } else {
    apps::Rows rows = database_.query(list_sql(asked), after, asked.limit + 1);
    while (rows.next()) found.push_back({.number = rows.integer(0), .id = rows.text(1)});
  }
  BookPage page;
  if (std::ssize(found) > asked.limit) {
    found.pop_back();
    page.next_cursor = std::to_string(found.back().number);
  }
  for (const BookRow& row : found) page.books.push_back(read(row));
  return page;
}

BookRow Shelf::add(const BookFields& fields, TimePoint now) {
  const std::string id = ids_.next(now);
  database_.run(
      "INSERT INTO books(id, title, long_title, synopsis, open_library_id, good_reads_id,"
      " hardcover_id, hardcover_slug, created_at, updated_at, name_hash)"
      " VALUES(?,?,?,?,?,?,?,?,?,?,?)",
      id, fields.title, fields.long_title, fields.synopsis, fields.open_library_id,
      fields.good_reads_id, fields.hardcover_id, fields.hardcover_slug, now, now,
      fields.isbn13 ? MaybeNumber() : MaybeNumber(name_hash(fields)));
  const BookRow row{
      .number = database_.last_number(), .id = id, .has_id = fields.hardcover_id.has_value()};
  insert_edition(row.number, fields, now);
  set_authors(row.number, fields.authors, now);
  return row;
}

void Shelf::insert_edition(std::int64_t book, const BookFields& fields, TimePoint now) {
  database_.run(
      "INSERT INTO editions(id, book, isbn13, publisher, publication_date, binding)"
      " VALUES(?,?,?,?,?,?)",
      ids_.next(now), book, number_of(fields.isbn13), fields.publisher, fields.publication_date,
      fields.binding);
}

void Shelf::set_authors(std::int64_t number, const AuthorNames& authors, TimePoint now) {
  std::int64_t place = 0;
  for (const std::string& name : authors.names) {
    database_.run("INSERT INTO authors(id, name) VALUES(?,?) ON CONFLICT(name) DO NOTHING",
                  ids_.next(now), name);
    database_.run(
        "INSERT INTO book_authors(book, place, author)"
        " VALUES(?, ?, (SELECT number FROM authors WHERE name = ?))",
        number, ++place, name);
  }
}

Status Shelf::change(const BookRow& row, const BookFields& fields, TimePoint now) {
  const MaybeNumber isbn = number_of(fields.isbn13);
  if (isbn) {
    const auto holder = find_by_isbn(*isbn);
    if (holder && holder->number != row.number) {
      return tl::unexpected(taken(*fields.isbn13, holder->id));
    }
  }
  database_.run(
      "UPDATE books SET title = ?, long_title = ?, synopsis = ?, open_library_id = ?,"
      " good_reads_id = ?, hardcover_id = ?, hardcover_slug = ?, updated_at = ?, name_hash = ?"
      " WHERE number = ?",
      fields.title, fields.long_title, fields.synopsis, fields.open_library_id,
      fields.good_reads_id, fields.hardcover_id, fields.hardcover_slug, now,
      isbn ? MaybeNumber() : MaybeNumber(name_hash(fields)), row.number);
  // Another edition of the same book may have had it.
  database_.run(
      "UPDATE editions SET isbn13 = NULL WHERE book = ?1 AND isbn13 = ?2 AND number <>"
      " (SELECT min(number) FROM editions WHERE book = ?1)",
      row.number, isbn);
  database_.run(
      "UPDATE editions SET isbn13 = ?2, publisher = ?3, publication_date = ?4, binding = ?5"
      " WHERE number = (SELECT min(number) FROM editions WHERE book = ?1)",
      row.number, isbn, fields.publisher, fields.publication_date, fields.binding);
  database_.run("DELETE FROM book_authors WHERE book = ?", row.number);
  set_authors(row.number, fields.authors, now);
  return {};
}

Status Shelf::add_edition(const BookRow& row, const BookFields& edition, TimePoint now) {
  if (const auto holder = find_by_isbn(number_of(edition.isbn13).value_or(0))) {
    return tl::unexpected(taken(*edition.isbn13, holder->id));
  }
  insert_edition(row.number, edition, now);
  return {};
}

void Shelf::remove(const BookRow& row) {
  database_.run("DELETE FROM books WHERE number = ?", row.number);
}

Status Shelf::check_ids(const BookRow& row, const Ids& ids) {
  const auto none = [&](std::string_view what) {
    return refuse(ErrorCode::kNotFound, fmt::format("book {} has no such {}", row.id, what));
  };
  if (ids.edition) {
    apps::Rows rows = database_.query("SELECT 1 FROM editions WHERE id = ? AND book = ?",
                                      ids.edition->id, row.number);
    if (!rows.next()) return none("edition");
  }
  for (const HardcoverIds& author : ids.authors) {
    apps::Rows rows = database_.query(
        "SELECT 1 FROM authors JOIN book_authors ON author = number WHERE id = ? AND book = ?",
        author.id, row.number);
    if (!rows.next()) return none("author");
  }
  return {};
}

void Shelf::set_ids(const BookRow& row, const Ids& ids, TimePoint now) {
  if (ids.book) {
    database_.run(
        "UPDATE books SET hardcover_id = ?, hardcover_slug = ?, updated_at = ?, reason = NULL"
        " WHERE number = ?",
        ids.book, ids.slug, now, row.number);
  }
  if (ids.edition) {
    database_.run("UPDATE editions SET hardcover_id = ? WHERE id = ? AND book = ?",
                  ids.edition->hardcover_id, ids.edition->id, row.number);
  }
  for (const HardcoverIds& author : ids.authors) {
    database_.run(
        "UPDATE authors SET hardcover_id = ?, hardcover_slug = ? WHERE id = ?"
        " AND number IN (SELECT author FROM book_authors WHERE book = ?)",
        author.hardcover_id, author.hardcover_slug, author.id, row.number);
  }
}

std::vector<BookRow> Shelf::queued_after(std::int64_t number, std::int64_t most) {
  std::vector<BookRow> found;
  apps::Rows rows = database_.query(
      "SELECT number, id, task FROM books INDEXED BY books_queued"
      " WHERE task IS NOT NULL AND number > ? ORDER BY number LIMIT ?",
      number, most);
  while (rows.next()) {
    found.push_back({.number = rows.integer(0), .id = rows.text(1), .task = rows.integer(2)});
  }
  return found;
}

void Shelf::leave_queue(const BookRow& row, const std::string& reason) {
  database_.run("UPDATE books SET task = NULL, reason = iif(?1 = '', reason, ?1) WHERE number = ?2",
                reason, row.number);
}

void Shelf::rejoin_queue(const BookRow& row) {
  database_.run("UPDATE books SET task = last_task WHERE number = ?", row.number);
}

void Shelf::note_attempt(const BookRow& row, const std::string& reason, TimePoint now) {
  database_.run(
      "UPDATE books SET attempts = attempts + 1, reason = ?, checked_at = ? WHERE number = ?",
      reason, now, row.number);
}

Shelf::Counts Shelf::count() {
  const auto one = [&](std::string_view sql) {
    apps::Rows rows = database_.query(sql);
    return rows.next() ? rows.integer(0) : 0;
  };
  return {one("SELECT count(*) FROM books"),
          one("SELECT count(*) FROM books INDEXED BY books_with_id WHERE hardcover_id IS NOT NULL"),
          one("SELECT count(*) FROM books INDEXED BY books_not_queued"
              " WHERE hardcover_id IS NULL AND task IS NULL")};
}

}  // namespace retsu::library
