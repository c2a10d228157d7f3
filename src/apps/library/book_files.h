// Lists of books in files: a JSON array, NDJSON, or CSV with a line of column names.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/library/book.h"
#include "base/csv.h"
#include "base/json_items.h"
#include "model/error.h"

namespace retsu::library {

enum class BookFormat : std::uint8_t { kJson, kCsv };
constexpr auto names_of(std::type_identity<BookFormat>) {
  return std::to_array<Named<BookFormat>>({{"json", BookFormat::kJson}, {"csv", BookFormat::kCsv}});
}
BookFormat format_of(std::string_view file_name);  // by its end; json unless it is .csv

// Reads such a file piece by piece. What is wrong with one row does not keep the others out.
class BookReader {
 public:
  // `place`: "line 7". Books are normalized.
  using OnBook = std::function<void(const std::string& place, Result<BookFields> book)>;

  BookReader(BookFormat format, OnBook on_book);

  // Refused: nothing can be made of the file, such as columns that books do not have.
  Status take(std::string_view bytes);
  Status end();

 private:
  void on_row(tl::expected<CsvRow, CsvError> row);
  void on_item(const tl::expected<JsonItem, JsonItemError>& item);
  void read_columns(const CsvRow& row);
  void give(const std::string& place, BookFields book);

  const BookFormat format_;
  const OnBook on_book_;
  CsvReader csv_;
  JsonItemReader json_;
  std::vector<std::string> columns_;
  Status status_;
};

// The names of the columns, which are those of the fields in JSON.
std::vector<std::string> book_columns();
std::vector<std::string> book_row(const BookFields& book);

}  // namespace retsu::library
