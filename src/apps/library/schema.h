// The library's tables. Times are milliseconds since 1970 in UTC.
#pragma once

#include <string_view>

#include "apps/keyed_answers.h"

namespace retsu::library {

inline constexpr int kApplicationId = 0x72746c62;
inline constexpr const char* kFile = "/library.db";

// From each version to the next; steps are only ever added.
inline constexpr std::string_view kVersions[] = {
    R"sql(
CREATE TABLE books(
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  long_title TEXT,
  synopsis TEXT,
  open_library_id TEXT,
  good_reads_id TEXT,
  hardcover_id INTEGER,
  hardcover_slug TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  name_hash INTEGER,  -- of title and authors, if it came without an ISBN
  task INTEGER,       -- the row of the outbox that queued it; null: it is not in the queue
  last_task INTEGER,  -- the same, also when it has left
  attempts INTEGER NOT NULL DEFAULT 0,
  reason TEXT,        -- why there is no id after the last one
  checked_at INTEGER) STRICT;
CREATE INDEX books_by_name ON books(name_hash) WHERE name_hash IS NOT NULL;
CREATE INDEX books_not_queued ON books(number) WHERE hardcover_id IS NULL AND task IS NULL;
CREATE INDEX books_missing ON books(number) WHERE hardcover_id IS NULL;
CREATE INDEX books_queued ON books(number) WHERE task IS NOT NULL;
CREATE INDEX books_to_clean ON books(number) WHERE hardcover_id IS NOT NULL AND task IS NOT NULL;
CREATE INDEX books_with_id ON books(number) WHERE hardcover_id IS NOT NULL;

CREATE TABLE editions(
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  book INTEGER NOT NULL REFERENCES books(number) ON DELETE CASCADE,
  isbn13 INTEGER UNIQUE,
  publisher TEXT,
  publication_date TEXT,
  binding TEXT,
  hardcover_id INTEGER) STRICT;
CREATE INDEX editions_of_book ON editions(book);

CREATE TABLE authors(
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL UNIQUE,
  hardcover_id INTEGER,
  hardcover_slug TEXT,
  open_library_id TEXT,
  good_reads_id TEXT) STRICT;

CREATE TABLE book_authors(
  book INTEGER NOT NULL REFERENCES books(number) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  author INTEGER NOT NULL REFERENCES authors(number),
  PRIMARY KEY(book, place)) STRICT, WITHOUT ROWID;

-- What the queue is still to be told, in this order.
CREATE TABLE outbox(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  deed TEXT NOT NULL CHECK(deed IN ('push', 'cancel', 'drop')),
  subject TEXT NOT NULL,  -- the id of a book; to drop: of a claim
  target INTEGER          -- to cancel: the row that pushed it
) STRICT;
)sql",
    apps::kKeyedAnswersTable,
};

}  // namespace retsu::library
